// Bytes of messages, by hand and beside another implementation's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/sha.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "ros/cdr.h"
#include "tests/ros/every_message.h"

namespace glint::ros {
namespace {

std::string Hex(const std::string& digits) {
  std::string joined;
  for (char c : digits) {
    if (c != ' ') joined += c;
  }
  return absl::HexStringToBytes(joined);
}

template <class T>
std::string Written(const T& message) {
  std::vector<uint8_t> bytes = {1, 2, 3};  // which are replaced
  WriteCdr(message, &bytes);
  return std::string(bytes.begin(), bytes.end());
}

template <class T>
T Read(const std::string& bytes, Form form = Form::kLittleCdr) {
  T message;
  const absl::Status status =
      form == Form::kRos1 ? ReadRos1(BytesOf(bytes), &message) : ReadCdr(BytesOf(bytes), &message);
  EXPECT_TRUE(status.ok()) << status;
  return message;
}

const char kImage[] =
    "00010000"
    "0a000000 0b000000"         // stamp
    "05000000 6c65667400"       // "left", at 8
    "000000"                    // to 20
    "02000000 03000000"         // height, width
    "06000000 6d6f6e6f3800 00"  // "mono8", at 28; is_bigendian at 38
    "00"                        // to 40
    "04000000"                  // step
    "08000000 0102030405060708";

Image ImageByHand(absl::Span<const uint8_t> data) {
  Image image;
  image.header.stamp = {10, 11};
  image.header.frame_id = "left";
  image.height = 2;
  image.width = 3;
  image.encoding = "mono8";
  image.step = 4;
  image.data = data;
  return image;
}

TEST(Wire, AnImageByHand) {
  const std::vector<uint8_t> data = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(absl::BytesToHexString(Written(ImageByHand(data))), absl::BytesToHexString(Hex(kImage)));
  const std::string bytes = Hex(kImage) + "what follows does not matter";
  const auto image = Read<Image>(bytes);
  EXPECT_EQ(Printer::Text(image), Printer::Text(ImageByHand(data)));
  EXPECT_EQ(image.data.data(), BytesOf(bytes).data() + 52);  // not copied
}

TEST(Wire, BigEndianByHand) {
  const auto info =
      Read<Pose>(Hex("00000000"
                     "3ff0000000000000 4000000000000000 c008000000000000"
                     "0000000000000000 0000000000000000 0000000000000000 3ff0000000000000"));
  EXPECT_EQ(info.position.x, 1);
  EXPECT_EQ(info.position.y, 2);
  EXPECT_EQ(info.position.z, -3);
  EXPECT_EQ(info.orientation.w, 1);
  EXPECT_EQ(Read<Header>(Hex("0000ffff 0000000a 0000000b 00000002 6100")).frame_id, "a");
}

TEST(Wire, Ros1ByHand) {
  const std::string bytes =
      Hex("07000000 0a000000 0b000000"  // seq, stamp
          "04000000 6c656674"
          "02000000 03000000"
          "05000000 6d6f6e6f38 00"
          "04000000"
          "08000000 0102030405060708");
  const auto image = Read<Image>(bytes, Form::kRos1);
  EXPECT_EQ(Printer::Text(image), Printer::Text(ImageByHand(BytesOf("\1\2\3\4\5\6\7\10"))));
  Time time;
  EXPECT_TRUE(ReadRos1(BytesOf(Hex("ffffff7f 01000000")), &time).ok());
  EXPECT_EQ(time.sec, 2147483647);
  EXPECT_EQ(ReadRos1(BytesOf(Hex("00000080 01000000")), &time).message(),
            "builtin_interfaces/msg/Time: 2147483648 s are after 2038");
  EXPECT_EQ(Read<Duration>(Hex("ffffffff 01000000"), Form::kRos1).sec, -1);
}

TEST(Wire, DoublesAreAlignedToTheBody) {
  CameraInfo info;
  info.d = {1};
  // The body: 12 of the header and 3 to align, 8 for the size, "" in 5 at 24 and 3 to align; the count at 32.
  const std::string bytes = Written(info);
  EXPECT_EQ(bytes.substr(4 + 24, 8), std::string("\1\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(4 + 32, 16), std::string("\1\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\x3f", 16));
  // No elements, so nothing to align before k, at 40, which is.
  info.d.clear();
  EXPECT_EQ(Written(info).size(), bytes.size() - 8);
}

TEST(Wire, EmptyMessages) {
  EXPECT_EQ(Written(TriggerRequest()), std::string("\0\1\0\0\0", 5));
  Read<TriggerRequest>(std::string("\0\1\0\0", 4));
  Read<EmptyResponse>("", Form::kRos1);
}

TEST(Wire, TextsWithoutAnEndAreRefusedButEmptyOnes) {
  EXPECT_EQ(Read<String>(Hex("00010000 00000000")).data, "");
  EXPECT_EQ(Read<String>(Hex("00010000 01000000 00")).data, "");
  EXPECT_EQ(Read<String>(Hex("00010000 03000000 610000")).data, std::string("a\0", 2));
  String text;
  EXPECT_EQ(ReadCdr(BytesOf(Hex("00010000 02000000 6162")), &text).message(),
            "std_msgs/msg/String.data: does not end with a zero byte");
}

TEST(Wire, MemoryIsUsedAgain) {
  const auto full = Filler::Filled<DiagnosticArray>();
  const std::string bytes = Written(full);
  DiagnosticArray message;
  ASSERT_TRUE(ReadCdr(BytesOf(bytes), &message).ok());
  const DiagnosticStatus* const status = message.status.data();
  const KeyValue* const values = status->values.data();
  ASSERT_TRUE(ReadCdr(BytesOf(bytes), &message).ok());
  EXPECT_EQ(message.status.data(), status);
  EXPECT_EQ(message.status[0].values.data(), values);
  std::vector<uint8_t> written;
  WriteCdr(full, &written);
  const uint8_t* const before = written.data();
  WriteCdr(full, &written);
  EXPECT_EQ(written.data(), before);
}

TEST(Wire, Times) {
  for (const int64_t ns : {int64_t{0}, int64_t{1403636579763555584}, int64_t{-1}, int64_t{-1'000'000'000},
                           int64_t{-2147483648'000'000'000}, int64_t{2147483647'999'999'999}}) {
    EXPECT_EQ(NanosecondsOf(TimeOf(ns)), ns);
    EXPECT_LT(TimeOf(ns).nanosec, 1'000'000'000u);
  }
  EXPECT_EQ(TimeOf(-1).sec, -1);
  EXPECT_EQ(TimeOf(1'500'000'000).nanosec, 500'000'000u);
}

struct Known {
  const char* name;
  size_t bytes;  // of the first
  const char *little_cdr, *big_cdr, *ros1;
};
// The first half of SHA-256 of what rosbags 0.11.9 writes of messages as Filler makes them; "": ROS 1 has no such one.
const Known kKnown[] = {
    {"builtin_interfaces/msg/Time", 12, "0d1e88fa201633a6", "9b8ddf1ef739bf7b", "34fb5c825de7ca4a"},
    {"builtin_interfaces/msg/Duration", 12, "0d1e88fa201633a6", "9b8ddf1ef739bf7b", "34fb5c825de7ca4a"},
    {"std_msgs/msg/Header", 19, "e66c2a95dd52a7ff", "269543619c0bc7cb", "2e169a826b08580b"},
    {"std_msgs/msg/String", 11, "26e1d9fcbc13efbf", "9bff3548b937e217", "4d219445d33dd3f6"},
    {"rosgraph_msgs/msg/Clock", 12, "0d1e88fa201633a6", "9b8ddf1ef739bf7b", "34fb5c825de7ca4a"},
    {"diagnostic_msgs/msg/KeyValue", 19, "1b11cfd6e1604517", "be5b35ed72deb5b7", "387fb3d6798e3af1"},
    {"diagnostic_msgs/msg/DiagnosticStatus", 67, "a168620842ba3add", "aba2eac4ce527669", "f4d1a5528d177951"},
    {"diagnostic_msgs/msg/DiagnosticArray", 152, "15c3ee1779f72a77", "e4d5ec23ec4e5d6d", "d1ccc983282ebdc3"},
    {"std_srvs/srv/Empty_Request", 5, "86f9649499b00806", "8855508aade16ec5", "e3b0c44298fc1c14"},
    {"std_srvs/srv/Empty_Response", 5, "86f9649499b00806", "8855508aade16ec5", "e3b0c44298fc1c14"},
    {"std_srvs/srv/Trigger_Request", 5, "86f9649499b00806", "8855508aade16ec5", "e3b0c44298fc1c14"},
    {"std_srvs/srv/Trigger_Response", 15, "ef54b497e669326c", "2f91e26f86eb8e12", "25f93c0c6ca48818"},
    {"std_srvs/srv/SetBool_Request", 5, "cc6cd9b042500b2a", "15f2f1a4339f5f2a", "4bf5122f344554c5"},
    {"std_srvs/srv/SetBool_Response", 15, "ef54b497e669326c", "2f91e26f86eb8e12", "25f93c0c6ca48818"},
    {"geometry_msgs/msg/Point", 28, "724877b27da51ecc", "8d5b9014c4902e7a", "783bdbfda75746af"},
    {"geometry_msgs/msg/Vector3", 28, "724877b27da51ecc", "8d5b9014c4902e7a", "783bdbfda75746af"},
    {"geometry_msgs/msg/Quaternion", 36, "b1c7920bcd5c68fb", "6929adc0728e1663", "01e905190667a31f"},
    {"geometry_msgs/msg/Pose", 60, "0055411054089fc1", "7960c3c2fd929240", "f9d6e8a4bfa6acd0"},
    {"geometry_msgs/msg/PoseStamped", 76, "c722b2a773f4e131", "4c739b79e84d43c9", "211816edbd31b399"},
    {"geometry_msgs/msg/PoseWithCovariance", 348, "872a5153ada8bbf7", "4e6bb20cdb6d44f6", "676d6af12c9ab3e5"},
    {"geometry_msgs/msg/PoseWithCovarianceStamped", 364, "1103bb8d2a0571d0", "17859d015dd37961", "f4c34a4e53c2c554"},
    {"geometry_msgs/msg/Twist", 52, "b81f2ffc5bf0cce3", "6d78d5efa753d6a8", "6ebb0339e9d68183"},
    {"geometry_msgs/msg/TwistWithCovariance", 340, "2ddd0d0031083fff", "9a2dcab3536373a7", "6d218acb15ce61d3"},
    {"geometry_msgs/msg/Transform", 60, "0055411054089fc1", "7960c3c2fd929240", "f9d6e8a4bfa6acd0"},
    {"geometry_msgs/msg/TransformStamped", 84, "87c8857404e76e62", "7e32e1c0c23d0220", "1a40c030bd589f2f"},
    {"tf2_msgs/msg/TFMessage", 172, "a048eb4c9fda7e8a", "5d4d17a6c6bb4f93", "157a923b3520e679"},
    {"nav_msgs/msg/Odometry", 708, "5e467cf44d91b3d1", "268a284db0f4c116", "95a664c52f23c743"},
    {"nav_msgs/msg/Path", 172, "ebfd8c8c7f9ec878", "ec497d6c1de1a394", "1bd7f6a19a9c06b0"},
    {"sensor_msgs/msg/Image", 47, "fab64a9d78f45bcb", "9c694879bf9d14d4", "907a3bf5775576db"},
    {"sensor_msgs/msg/CompressedImage", 35, "a7f982bd579545cf", "b287f3d83f31a06e", "0f511163d6001d44"},
    {"sensor_msgs/msg/RegionOfInterest", 21, "35844fff1799a9e9", "667c15a76be3ca01", "4d138286fb8d708f"},
    {"sensor_msgs/msg/CameraInfo", 325, "5c3b38795dcae9ce", "b0be9745a972d4e0", "9ab36614bfd575f4"},
    {"sensor_msgs/msg/Imu", 316, "84bd37f72498afb3", "d68f03ee2337c964", "104067f8bf4af62b"},
    {"sensor_msgs/msg/PointField", 24, "9c95880c12e1fec1", "caad4826a1615306", "6fd95bc69816f83c"},
    {"sensor_msgs/msg/PointCloud2", 92, "874ea16d22b67cda", "49f820f2ebb07fc2", "97dc45c7301bc426"},
    {"stereo_msgs/msg/DisparityImage", 104, "db595c4b2c416ce1", "f7860611d1a8f249", "761d8340b259dd24"},
    {"rmw_dds_common/msg/Gid", 20, "f51c9f18f67caf43", "5fec7a35ade448e0", ""},
    {"rmw_dds_common/msg/NodeEntitiesInfo", 92, "0e290d21f0d36cce", "330000db2b729214", ""},
    {"rmw_dds_common/msg/ParticipantEntitiesInfo", 200, "4639a4eb249779eb", "8991f6d828ff7f51", ""},
};

std::string Digest(const std::string& bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return absl::BytesToHexString(std::string(digest.begin(), digest.begin() + 8));
}

TEST(Wire, AllMessagesAsRosbagsWritesThem) {
  std::map<std::string, Known> known;
  for (const Known& row : kKnown) known[row.name] = row;
  size_t seen = 0;
  ForEveryMessage([&](const auto& empty) {
    using T = std::decay_t<decltype(empty)>;
    SCOPED_TRACE(T::kName);
    ASSERT_EQ(known.count(T::kName), 1u);
    const Known& row = known[T::kName];
    ++seen;
    const auto message = Filler::Filled<T>();
    const std::string bytes = Written(message);
    EXPECT_EQ(bytes.size(), row.bytes);
    EXPECT_EQ(Digest(bytes), row.little_cdr);
    EXPECT_EQ(Printer::Text(Read<T>(bytes)), Printer::Text(message));
    const std::string big = ReferenceWriter::Bytes(message, Form::kBigCdr);
    EXPECT_EQ(Digest(big), row.big_cdr);
    EXPECT_EQ(Printer::Text(Read<T>(big)), Printer::Text(message));
    if (*row.ros1 == '\0') return;
    const std::string ros1 = ReferenceWriter::Bytes(message, Form::kRos1);
    EXPECT_EQ(Digest(ros1), row.ros1);
    EXPECT_EQ(Printer::Text(Read<T>(ros1, Form::kRos1)), Printer::Text(message));
  });
  EXPECT_EQ(seen, known.size());
}

}  // namespace
}  // namespace glint::ros
