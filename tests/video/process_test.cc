// Other programs, as decoders are started: their output, their last words, their end, ours.
#include "client/video/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glint::video {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::unique_ptr<Process> Shell(const std::string& script, Patience patience = {}) {
  auto process = Process::Start({"/bin/sh", "-c", script}, std::move(patience));
  EXPECT_TRUE(process.ok()) << process.status();
  return *std::move(process);
}

absl::StatusOr<std::string> Output(ByteSource* bytes) {
  std::string all;
  std::array<uint8_t, 1000> buffer;
  while (true) {
    const auto count = bytes->Read(buffer.data(), buffer.size());
    if (!count.ok()) return count.status();
    if (*count == 0) return all;
    all.append(buffer.begin(), buffer.begin() + *count);
  }
}

// Whether there is such a process, waited for or not.
bool Lives(pid_t id) { return kill(id, 0) == 0; }

bool GoneSoon(pid_t id) {
  for (int i = 0; i < 500 && Lives(id); ++i) absl::SleepFor(absl::Milliseconds(10));
  return !Lives(id);
}

TEST(Process, ArgumentsArriveAsTheyAre) {
  const auto process =
      Process::Start({"/bin/sh", "-c", "printf '%s|' \"$@\"", "sh", "a b", "$(id)", "-x", ";", ""}, {});
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(*Output(process->get()), "a b|$(id)|-x|;||");
  EXPECT_TRUE((*process)->output_ended());
  EXPECT_TRUE((*process)->Finish().ok());
}

TEST(Process, InputIsEmptyAndSignalsAreTheDefault) {
  signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(*Output(Shell("cat; echo done").get()), "done\n");
  const auto pipe_gone = Shell("kill -PIPE $$; echo lives");  // an ignored signal would be inherited
  EXPECT_EQ(*Output(pipe_gone.get()), "");
  EXPECT_THAT(std::string(pipe_gone->Finish().message()), HasSubstr("signal 13"));
}

TEST(Process, MuchOnStandardErrorBlocksNothing) {
  const auto process = Shell("head -c 1000000 /dev/zero | tr '\\0' e >&2; head -c 1000000 /dev/zero; exit 3");
  EXPECT_THAT(*Output(process.get()), SizeIs(1000000));
  const absl::Status ended = process->Finish();
  EXPECT_TRUE(absl::IsInvalidArgument(ended));
  EXPECT_THAT(std::string(ended.message()), AllOf(HasSubstr("exit status 3 of sh: eee"), SizeIs(testing::Lt(400u))));
}

TEST(Process, FailuresHaveTheLastWords) {
  const auto last = Shell("echo first >&2; printf 'the \\033[1mlast\\n\\n' >&2; exit 1");
  EXPECT_EQ(*Output(last.get()), "");
  EXPECT_EQ(last->Finish().message(), "exit status 1 of sh: the ?[1mlast");
  const auto error = Shell("echo hm >&2; echo ERROR: cause >&2; echo ERROR: and so on >&2; exit 1");
  EXPECT_EQ(*Output(error.get()), "");
  EXPECT_EQ(error->Finish().message(), "exit status 1 of sh: ERROR: cause");
  const auto reason = Shell(
      "printf 'ERROR: from element /a: Internal error.\\nAdditional debug info:\\na.c(1): f (): /a:\\nreason x (-4)\\n"
      "ERROR: no.\\n' >&2; exit 1");
  EXPECT_EQ(*Output(reason.get()), "");
  EXPECT_EQ(reason->Finish().message(), "exit status 1 of sh: ERROR: from element /a: Internal error. reason x (-4)");
  const auto no_reason = Shell(
      "printf 'ERROR: a.\\nAdditional debug info:\\na.c(1):\\nERROR: b.\\nAdditional debug info:\\nb.c(2)\\n' >&2; "
      "exit 1");
  EXPECT_EQ(*Output(no_reason.get()), "");
  EXPECT_EQ(no_reason->Finish().message(), "exit status 1 of sh: ERROR: a.");
  const auto killed = Shell("kill -9 $$");
  EXPECT_EQ(*Output(killed.get()), "");
  EXPECT_EQ(killed->Finish().message(), "ended by signal 9 of sh");
}

// What FFmpeg says before it ends with status 0: all of it is of other things, but for the damage.
TEST(Process, DamageIsToldFromWhatElseAProgramSays) {
  const char* const others =
      "echo '[AVHWDeviceContext @ 0x5f] [error] Cannot load libcuda.so.1' >&2;"
      "echo '[error] Device creation failed: -1.' >&2;"
      "echo '[h264 @ 0x5f] [error] Failed setup for format vaapi: hwaccel initialisation returned error.' >&2;"
      "echo '[mjpeg @ 0x5f] [error] unable to decode APP fields: Invalid data found' >&2;"
      "echo '[yuv4mpegpipe @ 0x5f] [error] non monotonically increasing dts' >&2;"
      "echo '[swscaler @ 0x5f] [swscaler @ 0x60] [warning] deprecated pixel format used' >&2;";
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"echo '[mov,mp4 @ 0x5f2a] [error] stream 0, offset 0x18: partial file' >&2",
       "sh: [mov,mp4] stream 0, offset 0x18: partial file"},
      {"echo '[warning] file:a.avi: corrupt input packet in stream 0' >&2",
       "sh: file:a.avi: corrupt input packet in stream 0"},
      {"echo '[error] Error while decoding stream #0:0: Invalid data' >&2; echo '[h264 @ 0x5f] [error] more' >&2",
       "sh: Error while decoding stream #0:0: Invalid data"}};
  for (const auto& [script, damage] : cases) {
    const auto process = Shell(absl::StrCat(others, script));
    EXPECT_EQ(*Output(process.get()), "");
    EXPECT_TRUE(process->Finish().ok());
    EXPECT_EQ(process->ToldDamage(), damage);
  }
  // The last words are no warning's.
  const auto failed = Shell("echo '[error] x.mp4: no such thing' >&2; echo '[x @ 0x1] [warning] y' >&2; exit 1");
  EXPECT_EQ(*Output(failed.get()), "");
  EXPECT_EQ(failed->Finish().message(), "exit status 1 of sh: x.mp4: no such thing");
}

// As FFmpeg says it, of what it reads and of what it writes.
TEST(Process, TheTurnIsKeptOfWhatIsOnlyInformation) {
  const auto process = Shell(
      "echo '[info]     Side data:' >&2; echo '[info]       displaymatrix: rotation of -90.00 degrees' >&2; exit 1");
  EXPECT_EQ(*Output(process.get()), "");
  EXPECT_EQ(process->Finish().message(), "exit status 1 of sh");
  EXPECT_EQ(process->last_words().turn(), "rotation of -90.00 degrees");
  LastWords none;
  none.Add("[info] displaymatrix: rotation of -0.00 degrees\n[error] displaymatrix: rotation of 1.00 degrees\n");
  EXPECT_EQ(none.turn(), "");
}

TEST(Process, GStreamersBaseTimeIsNoLastWord) {
  LastWords words;
  words.Add(
      "ready\n0:00:00.1  4 0x5 DEBUG  pipeline gstpipeline.c:494:change:<p> start_time=0:00:00.000000000, "
      "now=0:00:01.000000000, base_time 16:53:19.030415930\n"
      "0:00:00.2  4 0x5 INFO   pipeline gstpipeline.c:533:change:<p> pipeline is live\n");
  EXPECT_EQ(words.text(), "ready");
  EXPECT_EQ(words.base_time(), absl::Hours(16) + absl::Minutes(53) + absl::Nanoseconds(19030415930));
}

TEST(Process, WordsAreNotTranslated) {
  setenv("LC_ALL", "de_DE.UTF-8", 1);
  const auto process = Shell("echo $LC_ALL");
  unsetenv("LC_ALL");
  EXPECT_EQ(*Output(process.get()), "C\n");
}

TEST(Process, NotesComeBesideTheOutput) {
  for (const int third : {1, 3}) {  // the descriptor of the notes
    std::string notes;
    Channels channels;
    channels.output = 4 - third;
    channels.notes = third;
    channels.take_notes = [&notes](absl::string_view bytes) { notes.append(bytes.begin(), bytes.end()); };
    const std::string script = absl::StrCat("i=0; while [ $i -lt 3000 ]; do echo a line of some length, $i >&", third,
                                            "; i=$((i + 1)); done; echo frame >&", 4 - third,
                                            "; sleep 0.3; echo late >&", third, "; exec sleep 600");
    auto process = Process::Start({"/bin/sh", "-c", script}, {}, channels);
    ASSERT_TRUE(process.ok());
    std::array<uint8_t, 6> frame;
    ASSERT_EQ(*(*process)->Read(frame.data(), frame.size()), frame.size());  // it is written after a full pipe of notes
    while (!absl::EndsWith(notes, "late\n")) ASSERT_TRUE((*process)->WaitForNotes(absl::InfiniteFuture()));
    EXPECT_EQ(std::count(notes.begin(), notes.end(), '\n'), 3001);
    EXPECT_FALSE((*process)->WaitForNotes(absl::InfinitePast()));
  }
  const auto ended = Shell("exit 0");
  EXPECT_FALSE(ended->WaitForNotes(absl::InfiniteFuture()));  // it has none
}

TEST(Process, OneThatStaysAfterItsOutputIsEnded) {
  const auto process = Shell("exec >&- 2>&-; sleep 600");
  EXPECT_EQ(*Output(process.get()), "");
  EXPECT_THAT(std::string(process->Finish().message()), HasSubstr("did not end"));
}

TEST(Process, AMissingProgramIsAnError) {
  const auto process = Process::Start({"/no/such/program"}, {});
  EXPECT_TRUE(absl::IsUnavailable(process.status()));
  EXPECT_THAT(std::string(process.status().message()), HasSubstr("/no/such/program: No such file"));
}

TEST(Process, TheDestructorEndsOnesThatWriteSleepOrIgnoreIt) {
  for (const char* script :
       {"echo $$; yes", "echo $$; sleep 600", "trap '' TERM PIPE; echo $$; while :; do sleep 1; done"}) {
    auto process = Shell(script);
    std::array<uint8_t, 7> buffer;
    const auto count = process->Read(buffer.data(), buffer.size());
    ASSERT_TRUE(count.ok());
    const pid_t id = std::atoi(std::string(buffer.begin(), buffer.begin() + *count).c_str());
    ASSERT_GT(id, 1);
    EXPECT_TRUE(Lives(id));
    process.reset();
    EXPECT_FALSE(Lives(id)) << script;  // nor is it a zombie
  }
}

TEST(Process, WaitingEndsByTimeOrWhenStopped) {
  Patience little;
  little.timeout = absl::Milliseconds(200);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Output(Shell("sleep 600", little).get()).status()));
  // Bytes begin the wait anew: all of them take longer than it, each far less, on a busy machine, too.
  Patience more;
  more.timeout = absl::Seconds(3);
  EXPECT_TRUE(Output(Shell("for i in 1 2 3 4 5 6 7; do sleep 0.5; echo $i; done", more).get()).ok());
  Patience stopped;
  stopped.stop = [calls = 0]() mutable { return ++calls > 3; };
  EXPECT_TRUE(absl::IsCancelled(Output(Shell("sleep 600", stopped).get()).status()));
}

// A program that is killed leaves nobody behind: who writes to it ends.
TEST(Process, OneThatWritesEndsWithItsReader) {
  const std::string file = ::testing::TempDir() + "glint-process-" + std::to_string(getpid());
  const pid_t parent = fork();
  if (parent == 0) {
    const auto process = Process::Start({"/bin/sh", "-c", absl::StrCat("echo $$ > ", file, "; exec yes")}, {});
    std::array<uint8_t, 100> buffer;
    const bool read = process.ok() && (*process)->Read(buffer.data(), buffer.size()).ok();
    kill(getpid(), read ? SIGKILL : SIGTERM);
  }
  int status = 0;
  waitpid(parent, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  std::unique_ptr<FILE, int (*)(FILE*)> text(std::fopen(file.c_str(), "r"), std::fclose);
  int id = 0;
  ASSERT_TRUE(text != nullptr && std::fscanf(text.get(), "%d", &id) == 1);
  EXPECT_TRUE(GoneSoon(id));
  unlink(file.c_str());
}

TEST(DescriptorBytes, FilesAreReadToTheirEnd) {
  DescriptorBytes bytes(open("/proc/self/exe", O_RDONLY), {});
  const auto all = Output(&bytes);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->substr(1, 3), "ELF");
}

}  // namespace
}  // namespace glint::video
