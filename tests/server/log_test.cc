// The log's queue: nobody who logs waits for whoever reads the log.
#include "server/base/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "server/base/log_writer.h"

namespace glint {
namespace {

using ::testing::HasSubstr;

class Pipe {
 public:
  explicit Pipe(int bytes = 4096) {
    EXPECT_EQ(pipe(fds_), 0);
    fcntl(fds_[1], F_SETPIPE_SZ, bytes);
  }
  ~Pipe() {
    CloseReader();
    close(fds_[1]);
  }
  int writer() const { return fds_[1]; }
  void CloseReader() {
    if (fds_[0] >= 0) close(fds_[0]);
    fds_[0] = -1;
  }
  // What comes until `text` has.
  std::string ReadUntil(const std::string& text) {
    std::string all;
    char buffer[1024];
    while (!absl::StrContains(all, text)) {
      const ssize_t n = read(fds_[0], buffer, sizeof(buffer));
      if (n <= 0) break;
      all.append(buffer, static_cast<size_t>(n));
    }
    return all;
  }

 private:
  int fds_[2] = {-1, -1};
};

TEST(LogWriterTest, WritesLinesInTheirOrder) {
  Pipe pipe(1 << 16);
  LogWriter writer(pipe.writer());
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    writer.Write(absl::StrCat("line ", i));
    absl::StrAppend(&expected, "line ", i, "\n");
  }
  EXPECT_TRUE(writer.Flush(absl::Seconds(10)));
  EXPECT_EQ(pipe.ReadUntil("line 99\n"), expected);
  EXPECT_EQ(writer.dropped(), 0);
}

TEST(LogWriterTest, DropsWhatFindsNoRoomAndEndsThoughNobodyReads) {
  Pipe pipe;
  const absl::Time begin = absl::Now();
  {
    LogWriter writer(pipe.writer(), 10'000);
    const std::string line(999, 'x');
    for (int i = 0; i < 1000; ++i) writer.Write(line);
    // Pipe, the thread's batch and the queue hold 4096 + 2 * 10000 bytes at most.
    EXPECT_GE(writer.dropped(), 975);
    EXPECT_LT(writer.dropped(), 1000);
    EXPECT_FALSE(writer.Flush(absl::Milliseconds(10)));
  }
  EXPECT_LT(absl::Now() - begin, absl::Seconds(60));  // a hang, not a measurement
}

TEST(LogWriterTest, AReaderThatIsGoneIsNoError) {
  Pipe pipe;
  pipe.CloseReader();
  LogWriter writer(pipe.writer());
  for (int i = 0; i < 100; ++i) writer.Write("nobody hears");
  EXPECT_TRUE(writer.Flush(absl::Seconds(10)));
}

// The sum of the counts in lines that have `event`.
int64_t Told(const std::string& log, const std::string& event) {
  int64_t told = 0;
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    int64_t count = 0;
    if (!absl::StrContains(line, event)) continue;
    EXPECT_TRUE(absl::SimpleAtoi(line.substr(line.rfind('=') + 1), &count)) << line;
    told += count;
  }
  return told;
}

// A disk that is full for a while: what it did not take is counted, and told once it takes lines again.
TEST(LogWriterTest, CountsWhatAFullDiskDoesNotTake) {
  Pipe pipe;
  const int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  {
    LogWriter writer(fd);
    const auto tell = [](int64_t count) { return absl::StrCat("dropped ", count); };
    for (int i = 0; i < 3; ++i) {
      writer.Write("lost", tell);
      EXPECT_TRUE(writer.Flush(absl::Seconds(10)));
    }
    // The second and third were lost with the lines that told of the first.
    EXPECT_GE(writer.dropped(), 3);
    ASSERT_EQ(dup2(pipe.writer(), fd), fd);  // there is room again
    writer.Write("kept", tell);
    const std::string log = pipe.ReadUntil("kept\n");
    int64_t told = 0;
    ASSERT_TRUE(absl::SimpleAtoi(absl::StripAsciiWhitespace(log.substr(8, log.find('\n') - 8)), &told)) << log;
    EXPECT_GE(told, 3);
    EXPECT_EQ(log, absl::StrCat("dropped ", told, "\nkept\n"));
    writer.Write("and on", tell);
    EXPECT_EQ(pipe.ReadUntil("on\n"), "and on\n");
  }
  close(fd);
}

TEST(LoggerTest, TellsHowManyLinesWereDropped) {
  Pipe pipe;
  LogWriter writer(pipe.writer(), 2'000);
  Logger logger(LogFormat::kText, &writer);
  const std::string text(100, 'x');
  for (int i = 0; i < 200; ++i) logger.Log(Severity::kInfo, "event", {{"number", absl::StrCat(i)}, {"text", text}});
  const int64_t dropped = logger.dropped_lines();
  EXPECT_GT(dropped, 150);
  std::string log;
  std::thread reader([&] { log = pipe.ReadUntil(" info last\n"); });
  EXPECT_TRUE(writer.Flush(absl::Seconds(10)));
  logger.Log(Severity::kInfo, "last");
  reader.join();
  EXPECT_THAT(log, HasSubstr("number=0 "));
  EXPECT_EQ(Told(log, " warning log lines dropped count="), dropped);
}

TEST(LoggerTest, LimitsEachReasonAndTellsHowManyLinesWereLeftOut) {
  Pipe pipe;
  LogWriter writer(pipe.writer());
  Logger logger(LogFormat::kText, &writer);
  constexpr int kLines = 1000;
  std::string log;
  std::thread reader([&] { log = pipe.ReadUntil(" info last\n"); });
  const absl::Time begin = absl::Now();
  for (int i = 0; i < kLines; ++i) logger.LogLimited("often", Severity::kWarning, "often", {{"n", absl::StrCat(i)}});
  const double refilled = absl::ToDoubleSeconds(absl::Now() - begin) * Logger::kLinesPerSecond;
  logger.LogLimited("seldom", Severity::kWarning, "seldom", {});
  const int64_t limited = logger.limited_lines();
  EXPECT_GE(limited, kLines - static_cast<int64_t>(Logger::kBurst + refilled) - 1);
  EXPECT_LE(limited, kLines - static_cast<int64_t>(Logger::kBurst));
  absl::SleepFor(absl::Seconds(2 / Logger::kLinesPerSecond));
  logger.LogLimited("often", Severity::kWarning, "often", {{"n", "again"}});
  logger.Log(Severity::kInfo, "last");
  reader.join();
  EXPECT_THAT(log, HasSubstr(" warning often n=0\n"));
  EXPECT_THAT(log, HasSubstr(" warning seldom\n"));
  EXPECT_THAT(log, HasSubstr(" warning often n=again\n"));
  // All that were left out are told of, whether before that line or before one that the clock let through.
  EXPECT_EQ(Told(log, " warning log lines left out reason=often count="), limited);
}

}  // namespace
}  // namespace glint
