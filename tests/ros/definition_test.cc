// Names, definitions and hashes of messages.
#include "ros/definition.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "ros/messages.h"
#include "tests/ros/every_message.h"

namespace glint::ros {
namespace {

TEST(Definition, TypeHashesAsRosHasThem) {
  // `type_hashes` of the packages of ROS 2 Jazzy and Kilted; tf2_msgs' from rosbags 0.11.9.
  const std::map<std::string, std::string> known = {
      {"sensor_msgs/msg/Image", "d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47"},
      {"sensor_msgs/msg/CompressedImage", "15640771531571185e2efc8a100baf923961a4d15d5569652e6cb6691e8e371a"},
      {"sensor_msgs/msg/CameraInfo", "b3dfd68ff46c9d56c80fd3bd4ed22c7a4ddce8c8348f2f59c299e73118e7e275"},
      {"sensor_msgs/msg/Imu", "7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b"},
      {"sensor_msgs/msg/PointCloud2", "9198cabf7da3796ae6fe19c4cb3bdd3525492988c70522628af5daa124bae2b5"},
      {"nav_msgs/msg/Odometry", "3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0"},
      {"nav_msgs/msg/Path", "1957a5bb3cee5da65c4e52e52b65a93df227efce4c20f8458b36e73066ca334b"},
      {"geometry_msgs/msg/PoseStamped", "10f3786d7d40fd2b54367835614bff85d4ad3b5dab62bf8bca0cc232d73b4cd8"},
      {"geometry_msgs/msg/PoseWithCovarianceStamped",
       "26432f9803e43727d3c8f668d1fdb3c630f548af631e2f4e31382371bfea3b6e"},
      {"geometry_msgs/msg/TransformStamped", "0a241f87d04668d94099cbb5ba11691d5ad32c2f29682e4eb5653424bd275206"},
      {"tf2_msgs/msg/TFMessage", "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"},
      {"std_msgs/msg/Header", "f49fb3ae2cf070f793645ff749683ac6b06203e41c891e17701b1cb597ce6a01"},
      {"std_msgs/msg/String", "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"},
      {"stereo_msgs/msg/DisparityImage", "1ec1ff6b5bace919e4544a37f2d96ead9f81783701b7b7a4d97a09325ecf2711"},
      {"diagnostic_msgs/msg/DiagnosticArray", "5a8a36efb05fb25070fa0fb3810290c0e6cd4862b54a8fb975a1ee8dc55a333e"},
      {"rosgraph_msgs/msg/Clock", "692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564"},
      {"rmw_dds_common/msg/ParticipantEntitiesInfo",
       "91a0593bacdcc50ea9bdcf849a938b128412cc1ea821245c663bcd26f83c295e"},
      {"std_srvs/srv/Trigger_Request", "d010825374ce8918e72bfd826c82603e60f45419e932ea976f807b74a863a199"},
  };
  std::map<std::string, std::string> computed;
  ForEveryMessage([&](const auto& message) {
    using T = std::decay_t<decltype(message)>;
    if (known.count(T::kName) != 0) computed[T::kName] = TypeHash<T>().substr(7);
    EXPECT_EQ(TypeHash<T>().substr(0, 7), "RIHS01_");
  });
  EXPECT_EQ(computed, known);
}

TEST(Definition, TypeHashesOfServices) {
  EXPECT_EQ(ServiceTypeHash<Trigger>(), "RIHS01_eeff2cd6fa5ad9d27cdf4dec64818317839b62f212a91e6b5304b634b2062c5f");
  EXPECT_EQ(ServiceTypeHash<Empty>(), "RIHS01_5888399dedec5ccc85ea6451949fd2c9f97bfdf963f9a588821639fcd31b5d19");
  EXPECT_EQ(ServiceTypeHash<SetBool>(), "RIHS01_abe9e4bb6b41b40e6789712c00ec8871923e089af3f667a79992a428cff2da0a");
}

TEST(Definition, Texts) {
  const std::string line(80, '=');
  EXPECT_EQ(DefinitionText<DiagnosticArray>(), absl::StrCat("std_msgs/Header header\n"
                                                            "diagnostic_msgs/DiagnosticStatus[] status\n",
                                                            line,
                                                            "\nMSG: std_msgs/Header\n"
                                                            "builtin_interfaces/Time stamp\n"
                                                            "string frame_id\n",
                                                            line,
                                                            "\nMSG: builtin_interfaces/Time\n"
                                                            "int32 sec\n"
                                                            "uint32 nanosec\n",
                                                            line,
                                                            "\nMSG: diagnostic_msgs/DiagnosticStatus\n"
                                                            "byte OK=0\n"
                                                            "byte WARN=1\n"
                                                            "byte ERROR=2\n"
                                                            "byte STALE=3\n"
                                                            "byte level\n"
                                                            "string name\n"
                                                            "string message\n"
                                                            "string hardware_id\n"
                                                            "diagnostic_msgs/KeyValue[] values\n",
                                                            line,
                                                            "\nMSG: diagnostic_msgs/KeyValue\n"
                                                            "string key\n"
                                                            "string value\n"));
  EXPECT_EQ(DefinitionText<EmptyRequest>(), "");
  EXPECT_EQ(DefinitionText<Gid>(), "uint8[16] data\n");
  EXPECT_EQ(DefinitionText<NodeEntitiesInfo>().substr(0, 53),
            "string<=256 node_namespace\nstring<=256 node_name\nrmw_");
  EXPECT_EQ(DefinitionText<SetBoolRequest>(), "bool data\n");
  const std::string info = DefinitionText<CameraInfo>();
  EXPECT_NE(info.find("\nfloat64[] d\nfloat64[9] k\nfloat64[9] r\nfloat64[12] p\nuint32 binning_x\n"), info.npos);
  EXPECT_NE(DefinitionText<DisparityImage>().find("\nfloat32 f\nfloat32 t\n"), std::string::npos);
}

// As that of PoseStamped in a path, whose header has been described.
TEST(Definition, EachTypeIsInATextOnce) {
  const std::string text = DefinitionText<Path>();
  for (const char* name : {"std_msgs/Header", "geometry_msgs/PoseStamped", "geometry_msgs/Quaternion"}) {
    const std::string title = absl::StrCat("MSG: ", name, "\n");
    const size_t at = text.find(title);
    ASSERT_NE(at, text.npos) << name;
    EXPECT_EQ(text.find(title, at + 1), text.npos) << name;
  }
}

}  // namespace
}  // namespace glint::ros
