// Recordings for tests: messages with the times that they have, and commands that are run on them.
#ifndef GLINT_TESTS_CLIENT_BAG_WRITER_H_
#define GLINT_TESTS_CLIENT_BAG_WRITER_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bag/mcap_writer.h"
#include "ros/cdr.h"

namespace glint::cli {

inline constexpr int64_t kBegin = 1'403'636'579'763'555'584, kStep = 50'000'000;  // of pictures, ns

inline int64_t TimeOf(int picture) { return kBegin + kStep * picture; }

// Writes messages, each with its type.
class BagWriter {
 public:
  explicit BagWriter(const std::string& path)
      : writer_(bag::McapWriter::Create(path, "ros2", bag::McapWriter::Compression::kNone).value()) {}

  template <typename Message>
  void Write(const std::string& topic, int64_t recorded_ns, const Message& message) {
    ros::WriteCdr(message, &bytes_);
    WriteBytes(topic, Message::kName, recorded_ns, bytes_);
  }
  void WriteBytes(const std::string& topic, const std::string& type, int64_t recorded_ns,
                  const std::vector<uint8_t>& bytes) {
    auto at = channels_.find(topic);
    if (at == channels_.end()) {
      const uint16_t channel = writer_->AddChannel({topic, "cdr", type, "ros2msg", "", {}}).value();
      at = channels_.emplace(topic, channel).first;
    }
    EXPECT_TRUE(writer_->Write(at->second, recorded_ns, recorded_ns, bytes).ok());
  }
  void Close() { EXPECT_TRUE(writer_->Close().ok()); }

 private:
  std::unique_ptr<bag::McapWriter> writer_;
  std::map<std::string, uint16_t> channels_;
  std::vector<uint8_t> bytes_;
};

inline ros::Image ImageOf(const cv::Mat& pixels, const char* encoding, int64_t time_ns) {
  ros::Image image;
  image.header = {ros::TimeOf(time_ns), "cam"};
  image.height = static_cast<uint32_t>(pixels.rows);
  image.width = static_cast<uint32_t>(pixels.cols);
  image.encoding = encoding;
  image.step = static_cast<uint32_t>(pixels.step);
  image.data = {pixels.data, pixels.step * static_cast<size_t>(pixels.rows)};
  return image;
}

inline ros::Imu ImuOf(int i) {
  ros::Imu imu;
  imu.header.stamp = ros::TimeOf(kBegin + int64_t{5'000'000} * i);
  imu.angular_velocity = {0.001 * i, 0.25, -0.5};
  imu.linear_acceleration = {0.125, -9.81, 0.001 * i};
  return imu;
}

struct Outcome {
  int status = 0;
  std::string said, printed;
};

inline Outcome RunCommand(int (*command)(const std::vector<std::string>&), const std::vector<std::string>& arguments) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  Outcome outcome;
  outcome.status = command(arguments);
  outcome.printed = ::testing::internal::GetCapturedStdout();
  outcome.said = ::testing::internal::GetCapturedStderr();
  return outcome;
}

// Has a folder that is empty before and gone after.
class BagTest : public ::testing::Test {
 protected:
  BagTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~BagTest() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  const std::string folder_ = absl::StrCat(::testing::TempDir(), "glint-bag-", getpid());
};

}  // namespace glint::cli

#endif  // GLINT_TESTS_CLIENT_BAG_WRITER_H_
