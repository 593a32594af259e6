#include "client/video/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "client/video/frame_times.h"
#include "features/status_macros.h"
#include "features/steady_time.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX has it in no header

namespace glint::video {
namespace {

constexpr int kPollMs = 50;
constexpr int kThird = 3;  // the descriptor after the standard ones
constexpr absl::Duration kExitPatience = absl::Seconds(2), kEndPatience = absl::Milliseconds(500),
                         kExitPoll = absl::Milliseconds(5);

absl::Status ErrnoError(absl::string_view what, int error) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(error)));
}

void Close(int* descriptor) {
  if (*descriptor >= 0) close(*descriptor);
  *descriptor = -1;
}

// Waits until `descriptors` have something, or a poll's time is over.
absl::Status Poll(Descriptors* descriptors, const Patience& patience, absl::Time begun) {
  if (poll(descriptors->data(), descriptors->size(), kPollMs) < 0 && errno != EINTR) return ErrnoError("poll", errno);
  if (patience.stop()) return absl::CancelledError("interrupted");
  if ((*descriptors)[0].revents == 0 && SteadyNow() - begun > patience.timeout) {
    return absl::DeadlineExceededError(
        absl::StrCat("no bytes for ", absl::FormatDuration(patience.timeout), ", and given up"));
  }
  return absl::OkStatus();
}

// FFmpeg's warning about a packet with fewer bytes than the file says it has.
constexpr absl::string_view kCorruptPacket = "corrupt input packet";

// Whether an error that FFmpeg goes on after is one of the file or its frames: of a demuxer or decoder, and not of the
// hardware that it tries first, of a camera's notes in a JPEG, or of what is written.
bool IsAboutTheVideo(absl::string_view line) {
  if (absl::StartsWith(line, "Error while decoding")) return true;
  if (!absl::StartsWith(line, "[")) return false;
  for (const absl::string_view other :
       {"AVHWDeviceContext", "hwaccel", "APP fields", "yuv4mpegpipe", "wrapped_avframe"}) {
    if (absl::StrContains(line, other)) return false;
  }
  return true;
}

// What FFmpeg says of a video that is not to be shown as it is stored: "displaymatrix: rotation of -90.00 degrees".
constexpr absl::string_view kDisplayMatrix = "displaymatrix: ";

// Lines from GStreamer's "ERROR: from element ..." to its reason: "Additional debug info:", and a place in its source.
constexpr int kGstreamersReason = 3;

// GStreamer: "... DEBUG   pipeline gstpipeline.c:494:...: start_time=..., now=..., base_time 16:53:19.030415930".
constexpr absl::string_view kPipelineDebug = "gstpipeline.c:", kBaseTime = ", base_time ";

bool IsNoTurn(absl::string_view line) {
  return absl::EndsWith(line, " 0.00 degrees") || absl::EndsWith(line, " -0.00 degrees");
}

// Removes the first `part` of `*line`. False: it is not there.
bool TakeOut(absl::string_view part, std::string* line) {
  const size_t at = absl::string_view(*line).find(part);
  if (at != std::string::npos) line->erase(at, part.size());
  return at != std::string::npos;
}

// A pipe's two ends, closed when other programs are started.
class Pipe {
 public:
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (int& end : ends_) Close(&end);
  }
  // Its descriptors are none that a started program is given.
  absl::Status Open() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) return ErrnoError("pipe", errno);
    for (int& end : ends_) {
      const int moved = fcntl(end, F_DUPFD_CLOEXEC, kThird + 1);
      if (moved < 0) return ErrnoError("pipe", errno);
      close(std::exchange(end, moved));
    }
    return absl::OkStatus();
  }
  int write_end() const { return ends_[1]; }
  int TakeReadEnd() { return std::exchange(ends_[0], -1); }

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

// Hands what there is of a pipe that does not block to `take`. False at its end.
bool Drain(int descriptor, const std::function<void(absl::string_view)>& take) {
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    take({buffer.data(), static_cast<size_t>(count)});
  }
}

// What a started program gets: pipes, no input, default signals, a process group of its own.
class SpawnSetup {
 public:
  SpawnSetup() {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawnattr_init(&attributes_);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&files_);
  }
  // The program has `end` as its descriptor `as`.
  void Give(int end, int as) { posix_spawn_file_actions_adddup2(&files_, end, as); }
  int Spawn(std::vector<std::string> arguments, pid_t* id) const {
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    // What programs say is read, so it is not to be translated.
    std::string language = "LC_ALL=C";
    std::vector<char*> variables = {language.data()};
    for (char** one = environ; *one != nullptr; ++one) {
      if (!absl::StartsWith(*one, "LC_ALL=")) variables.push_back(*one);
    }
    variables.push_back(nullptr);
    return posix_spawn(id, argv[0], &files_, &attributes_, argv.data(), variables.data());
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

}  // namespace

DescriptorBytes::~DescriptorBytes() {
  if (descriptor_ != STDIN_FILENO) close(descriptor_);
}

absl::StatusOr<size_t> DescriptorBytes::Read(uint8_t* to, size_t size) {
  const absl::Time begun = SteadyNow();
  while (true) {
    Descriptors wait = {pollfd{descriptor_, POLLIN, 0}, pollfd{-1, 0, 0}, pollfd{-1, 0, 0}};
    GLINT_RETURN_IF_ERROR(Poll(&wait, patience_, begun));
    if (wait[0].revents == 0) continue;
    const ssize_t count = read(descriptor_, to, size);
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR && errno != EAGAIN) return ErrnoError("read", errno);
  }
}

void LastWords::Add(absl::string_view bytes) {
  for (const char byte : bytes) {
    if (byte == '\n' || byte == '\r') {
      EndLine();
    } else if (line_.size() < kMaxLine) {
      line_ += byte >= ' ' && byte <= '~' ? byte : '?';
    }
  }
}

void LastWords::EndLine() {
  if (line_.empty()) return;
  std::string line = std::exchange(line_, "");
  if (absl::StrContains(line, kPipelineDebug)) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, kBaseTime);
    if (const auto time = ParseGstTime(parts.second); time.has_value()) base_time_ = time;
    return;
  }
  if (TakeOut("[info] ", &line)) {
    const size_t at = absl::string_view(line).find(kDisplayMatrix);
    if (at != std::string::npos && !IsNoTurn(line)) turn_ = line.substr(at + kDisplayMatrix.size());
    return;
  }
  const bool is_warning = TakeOut("[warning] ", &line),
             is_error = TakeOut("[error] ", &line) | TakeOut("[fatal] ", &line);
  // Where FFmpeg's parts are in memory.
  if (const size_t at = line.find(" @ 0x"); at != std::string::npos) {
    line.erase(at, line.find_first_not_of("0123456789abcdef", at + 5) - at);
  }
  const bool is_packet = absl::StrContains(line, kCorruptPacket);
  if (is_warning && !is_packet) return;
  if (damage_.empty() && (is_packet || (is_error && IsAboutTheVideo(line)))) damage_ = line;
  const bool begins_error = absl::StartsWith(line, "ERROR");
  if (begins_error && !error_.empty()) after_error_ = kGstreamersReason;  // of another one
  if (!begins_error && !error_.empty() && ++after_error_ == kGstreamersReason) absl::StrAppend(&error_, " ", line);
  if (begins_error && error_.empty()) error_ = line;
  last_ = std::move(line);
}

std::string LastWords::text() const {
  if (!error_.empty()) return error_;
  return line_.empty() ? last_ : line_;
}

absl::StatusOr<std::unique_ptr<Process>> Process::Start(const std::vector<std::string>& arguments, Patience patience,
                                                        Channels channels) {
  Pipe output, errors, notes;
  absl::Status status = output.Open();
  status.Update(errors.Open());
  if (channels.notes >= 0) status.Update(notes.Open());
  if (!status.ok()) return status;
  SpawnSetup setup;
  setup.Give(output.write_end(), channels.output);
  setup.Give(errors.write_end(), STDERR_FILENO);
  if (channels.notes >= 0) setup.Give(notes.write_end(), channels.notes);
  pid_t id = 0;
  if (const int error = setup.Spawn(arguments, &id); error != 0) return ErrnoError(arguments[0], error);
  const Ends ends = {output.TakeReadEnd(), errors.TakeReadEnd(), notes.TakeReadEnd()};
  for (const int end : {ends.errors, ends.notes}) {
    if (end >= 0) fcntl(end, F_SETFL, O_NONBLOCK);
  }
  std::string name = arguments[0].substr(arguments[0].rfind('/') + 1);
  return std::unique_ptr<Process>(new Process(std::move(name), id, ends, std::move(patience), std::move(channels)));
}

Process::~Process() {
  for (int* const end : {&ends_.output, &ends_.errors, &ends_.notes}) Close(end);
  if (WaitUntil(absl::InfinitePast())) return;
  Kill(SIGTERM);
  if (WaitUntil(SteadyNow() + kEndPatience)) return;
  Kill(SIGKILL);
  WaitUntil(absl::InfiniteFuture());
}

void Process::Kill(int signal) const { kill(-id_, signal); }

bool Process::WaitUntil(absl::Time end) {
  while (!exited_) {
    const pid_t waited = waitpid(id_, &status_, WNOHANG);
    exited_ = waited == id_ || (waited < 0 && errno != EINTR);
    if (exited_ || SteadyNow() >= end) break;
    absl::SleepFor(kExitPoll);
  }
  return exited_;
}

void Process::TakeWords(const Descriptors& wait) {
  const auto keep = [this](absl::string_view bytes) { last_words_.Add(bytes); };
  if (wait[1].revents != 0 && !Drain(ends_.errors, keep)) Close(&ends_.errors);
  if (wait[2].revents != 0 && !Drain(ends_.notes, take_notes_)) Close(&ends_.notes);
}

bool Process::WaitForNotes(absl::Time end) {
  while (ends_.notes >= 0 && SteadyNow() < end && !patience_.stop()) {
    Descriptors wait = {pollfd{-1, 0, 0}, pollfd{ends_.errors, POLLIN, 0}, pollfd{ends_.notes, POLLIN, 0}};
    if (poll(wait.data(), wait.size(), kPollMs) <= 0) continue;
    TakeWords(wait);
    if (wait[2].revents != 0) return true;
  }
  return false;
}

absl::StatusOr<size_t> Process::Read(uint8_t* to, size_t size) {
  const absl::Time begun = SteadyNow();
  while (true) {
    Descriptors wait = {pollfd{ends_.output, POLLIN, 0}, pollfd{ends_.errors, POLLIN, 0},
                        pollfd{ends_.notes, POLLIN, 0}};
    GLINT_RETURN_IF_ERROR(Poll(&wait, patience_, begun));
    TakeWords(wait);
    if (wait[0].revents == 0) continue;
    const ssize_t count = read(ends_.output, to, size);
    output_ended_ = count == 0;
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR) return ErrnoError("read", errno);
  }
}

absl::Status Process::Finish() {
  const absl::Time end = SteadyNow() + kExitPatience;
  while ((ends_.errors >= 0 || ends_.notes >= 0) && SteadyNow() < end && !patience_.stop()) {
    Descriptors wait = {pollfd{-1, 0, 0}, pollfd{ends_.errors, POLLIN, 0}, pollfd{ends_.notes, POLLIN, 0}};
    if (poll(wait.data(), wait.size(), kPollMs) > 0) TakeWords(wait);
  }
  if (!WaitUntil(end)) {
    Kill(SIGKILL);
    WaitUntil(absl::InfiniteFuture());
    return absl::InvalidArgumentError(absl::StrCat("did not end: ", Told()));
  }
  if (WIFEXITED(status_) && WEXITSTATUS(status_) == 0) return absl::OkStatus();
  const std::string how = WIFEXITED(status_) ? absl::StrCat("exit status ", WEXITSTATUS(status_))
                                             : absl::StrCat("ended by signal ", WTERMSIG(status_));
  return absl::InvalidArgumentError(absl::StrCat(how, " of ", Told()));
}

std::string Process::Told() const {
  const std::string words = last_words_.text();
  return words.empty() ? name_ : absl::StrCat(name_, ": ", words);
}

std::string Process::ToldDamage() const {
  return last_words_.damage().empty() ? "" : absl::StrCat(name_, ": ", last_words_.damage());
}

}  // namespace glint::video
