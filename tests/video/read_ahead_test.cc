// Pipes that are read ahead: nothing of them is lost, and one writer can fill two in any order.
#include "client/video/read_ahead.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "features/steady_time.h"
#include "gtest/gtest.h"

namespace glint::video {
namespace {

struct Ends {
  int read, write;
};

Ends MakePipe() {
  std::array<int, 2> ends;
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  return {ends[0], ends[1]};
}

bool WriteAll(int descriptor, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = write(descriptor, text.data() + done, text.size() - done);
    if (count < 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

std::string ReadToEnd(ByteSource* bytes) {
  std::string all;
  std::array<uint8_t, 5000> buffer;
  while (true) {
    const auto count = bytes->Read(buffer.data(), buffer.size());
    EXPECT_TRUE(count.ok()) << count.status();
    if (!count.ok() || *count == 0) return all;
    all.append(buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(*count));
  }
}

// More than a pipe holds; no two stretches are alike.
std::string Numbers(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(i) + ' ';
  return text;
}

TEST(ReadAhead, OneWriterFillsThePipeThatIsReadLast) {
  const Ends first = MakePipe(), second = MakePipe();
  const std::string text = Numbers(100000);
  std::thread writer([&] {
    EXPECT_TRUE(WriteAll(second.write, text));  // all of it before a byte of the other one
    EXPECT_TRUE(WriteAll(first.write, "x" + text));
    close(first.write);
    close(second.write);
  });
  auto one = ReadAhead::Start(first.read, {}), other = ReadAhead::Start(second.read, {});
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ(ReadToEnd(one->get()), "x" + text);
  EXPECT_EQ(ReadToEnd(other->get()), text);
  writer.join();
}

TEST(ReadAhead, MoreThanIsKeptWaits) {
  const Ends ends = MakePipe();
  const std::string text(ReadAhead::kLimit + (size_t{4} << 20), 'x');
  std::thread writer([&] {
    EXPECT_TRUE(WriteAll(ends.write, text));
    close(ends.write);
  });
  auto ahead = ReadAhead::Start(ends.read, {});
  ASSERT_TRUE(ahead.ok());
  EXPECT_EQ(ReadToEnd(ahead->get()).size(), text.size());
  writer.join();
}

TEST(ReadAhead, ErrorsComeAfterTheBytesBeforeThem) {
  const Ends ends = MakePipe();
  Patience little;
  little.timeout = absl::Milliseconds(100);
  ASSERT_TRUE(WriteAll(ends.write, "abc"));
  auto ahead = ReadAhead::Start(ends.read, little);
  ASSERT_TRUE(ahead.ok());
  std::array<uint8_t, 3> buffer;
  EXPECT_EQ(*(*ahead)->Read(buffer.data(), buffer.size()), 3u);
  EXPECT_TRUE(absl::IsDeadlineExceeded((*ahead)->Read(buffer.data(), buffer.size()).status()));
  close(ends.write);
}

// Whether the thread waits for bytes or for room.
TEST(ReadAhead, TheDestructorWaitsForNobody) {
  const Ends silent = MakePipe(), full = MakePipe();
  {
    const auto ahead = ReadAhead::Start(silent.read, {});
    ASSERT_TRUE(ahead.ok());
  }
  std::thread writer([&] {
    WriteAll(full.write, std::string(ReadAhead::kLimit, 'x'));
    close(full.write);
  });
  {
    const auto ahead = ReadAhead::Start(full.read, {});
    ASSERT_TRUE(ahead.ok());
    writer.join();
  }
  close(silent.write);
}

}  // namespace
}  // namespace glint::video
