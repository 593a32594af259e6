// Messages of ROS, as structs that list their fields once, in the order of the wire: Visit(message, v) calls
// v(name, field) for each, or v(name, text, most) where a text has at most so many bytes. Bytes (ros/cdr.h),
// definitions and type hashes (ros/definition.h) follow from that.
//
// Fields are arithmetic types, std::byte (ROS's byte), std::string, other messages, std::array and std::vector of all
// of these, and sequences of bytes as absl::Span<const uint8_t>, which own nothing: what was read points into the bytes
// that it was read from. Names and meanings are those of https://docs.ros2.org and
// https://github.com/ros2/common_interfaces.
#ifndef GLINT_ROS_MESSAGES_H_
#define GLINT_ROS_MESSAGES_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ros/basic_messages.h"     // IWYU pragma: export
#include "ros/geometry_messages.h"  // IWYU pragma: export
#include "ros/sensor_messages.h"    // IWYU pragma: export

namespace glint::ros {

// What nodes tell each other of themselves on ros_discovery_info. GUIDs of DDS; Humble's have 24 bytes.
struct Gid {
  static constexpr char kName[] = "rmw_dds_common/msg/Gid";
  std::array<uint8_t, 16> data = {};

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("data", self.data);
  }
};

struct NodeEntitiesInfo {
  static constexpr char kName[] = "rmw_dds_common/msg/NodeEntitiesInfo";
  std::string node_namespace;
  std::string node_name;
  std::vector<Gid> reader_gid_seq;
  std::vector<Gid> writer_gid_seq;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("node_namespace", self.node_namespace, 256);
    v("node_name", self.node_name, 256);
    v("reader_gid_seq", self.reader_gid_seq);
    v("writer_gid_seq", self.writer_gid_seq);
  }
};

struct ParticipantEntitiesInfo {
  static constexpr char kName[] = "rmw_dds_common/msg/ParticipantEntitiesInfo";
  Gid gid;
  std::vector<NodeEntitiesInfo> node_entities_info_seq;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("gid", self.gid);
    v("node_entities_info_seq", self.node_entities_info_seq);
  }
};

}  // namespace glint::ros

#endif  // GLINT_ROS_MESSAGES_H_
