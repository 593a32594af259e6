// Messages that are cut off or lie about their lengths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "ros/cdr.h"
#include "tests/ros/every_message.h"

namespace glint::ros {
namespace {

template <class T>
absl::Status StatusOf(const std::string& bytes, Form form) {
  const std::vector<uint8_t> exactly(bytes.begin(), bytes.end());  // whose end sanitizers know
  T message;
  return form == Form::kRos1 ? ReadRos1(absl::MakeConstSpan(exactly), &message)
                             : ReadCdr(absl::MakeConstSpan(exactly), &message);
}

template <class T>
std::string ErrorOf(const std::string& bytes, Form form = Form::kLittleCdr) {
  return std::string(StatusOf<T>(bytes, form).message());
}

constexpr Form kForms[] = {Form::kLittleCdr, Form::kBigCdr, Form::kRos1};

TEST(Damaged, EveryMessageCutOffAnywhereSaysSo) {
  ForEveryMessage([](const auto& empty) {
    using T = std::decay_t<decltype(empty)>;
    for (const Form form : kForms) {
      const std::string bytes = ReferenceWriter::Bytes(Filler::Filled<T>(), form);
      const bool has_fields = !ReferenceWriter::Bytes(empty, Form::kRos1).empty();
      for (size_t size = 0; size < bytes.size(); ++size) {
        if (!has_fields && size >= 4) continue;  // all but a filling byte is there
        const absl::Status status = StatusOf<T>(bytes.substr(0, size), form);
        EXPECT_TRUE(absl::IsInvalidArgument(status)) << T::kName << ": " << size << ": " << status;
        EXPECT_TRUE(absl::StartsWith(status.message(), T::kName)) << status;
      }
    }
  });
}

// Of the numbers of 4 bytes that become 2^32 - 1, those that are lengths are errors.
TEST(Damaged, EveryLengthOfEveryMessageIsChecked) {
  ForEveryMessage([](const auto& empty) {
    using T = std::decay_t<decltype(empty)>;
    const auto message = Filler::Filled<T>();
    for (const Form form : kForms) {
      const std::string bytes = ReferenceWriter::Bytes(message, form);
      int announced = 0;
      const size_t step = form == Form::kRos1 ? 1 : 4;
      for (size_t at = form == Form::kRos1 ? 0 : 4; at + 4 <= bytes.size(); at += step) {
        std::string damaged = bytes;
        damaged.replace(at, 4, "\xff\xff\xff\xff");
        const std::string error = ErrorOf<T>(damaged, form);
        announced += absl::StrContains(error, " 4294967295 ") && absl::StrContains(error, " announced, ") ? 1 : 0;
      }
      EXPECT_EQ(announced, ReferenceWriter::Lengths(message)) << T::kName;
    }
  });
}

TEST(Damaged, ErrorsNameTheField) {
  Image image;
  image.encoding = "mono8";
  std::string bytes = ReferenceWriter::Bytes(image, Form::kLittleCdr);
  bytes.replace(bytes.size() - 4, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(ErrorOf<Image>(bytes + std::string(112, 'x')),
            "sensor_msgs/msg/Image.data: 4294967295 bytes announced, 112 are left");
  EXPECT_EQ(ErrorOf<Image>(bytes.substr(0, 6)), "sensor_msgs/msg/Image.header.stamp.sec: ends after 2 of 4 bytes");

  const std::string path = ReferenceWriter::Bytes(Filler::Filled<Path>(), Form::kLittleCdr);
  EXPECT_EQ(ErrorOf<Path>(path.substr(0, path.size() - 1)),
            "nav_msgs/msg/Path.poses[1].pose.orientation.w: ends after 7 of 8 bytes");
  std::string many = path;
  many[4 + 16] = 3;  // of poses: 72 bytes each at least
  EXPECT_EQ(ErrorOf<Path>(many), "nav_msgs/msg/Path.poses: 3 elements announced, 148 bytes are left");
}

TEST(Damaged, OtherEncapsulationsAreNamed) {
  EXPECT_EQ(ErrorOf<Time>("\1"), "builtin_interfaces/msg/Time: 1 bytes are less than the 4 of an encapsulation header");
  EXPECT_EQ(ErrorOf<Time>(std::string("\0\7\0\0\0\0\0\0\0\0\0\0", 12)),
            "builtin_interfaces/msg/Time: encapsulation 0x0007 is neither 0x0000 nor 0x0001 (XCDR version 1, big and "
            "little endian)");
}

TEST(Damaged, TextsThatAreBoundedAre) {
  NodeEntitiesInfo node;
  node.node_name = std::string(256, 'n');
  for (const Form form : kForms) {
    EXPECT_TRUE(StatusOf<NodeEntitiesInfo>(ReferenceWriter::Bytes(node, form), form).ok());
  }
  node.node_name += 'n';
  for (const Form form : kForms) {
    EXPECT_EQ(ErrorOf<NodeEntitiesInfo>(ReferenceWriter::Bytes(node, form), form),
              "rmw_dds_common/msg/NodeEntitiesInfo.node_name: 257 bytes are more than 256");
  }
}

}  // namespace
}  // namespace glint::ros
