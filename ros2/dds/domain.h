// One participant of a domain of DDS, and its readers and writers of bytes.
#ifndef GLINT_ROS2_DDS_DOMAIN_H_
#define GLINT_ROS2_DDS_DOMAIN_H_

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "ros/messages.h"
#include "ros2/dds/environment.h"
#include "ros2/dds/graph.h"
#include "ros2/dds/participant.h"
#include "ros2/dds/warnings.h"
#include "ros2/qos.h"

namespace glint::ros2 {

// Of a topic's end, all as DDS has it but for the QoS.
struct End {
  std::string topic;
  std::string type;
  std::string hash;
  Qos qos;
};

// Bytes that sockets have for what arrives, and that were asked for.
struct ReceiveBuffer {
  int64_t bytes = 0, wanted = 0;
};

// Thread-safe. Readers and writers must be deleted before it.
class Domain {
 public:
  static absl::StatusOr<std::unique_ptr<Domain>> Join(const Environment& environment,
                                                      const ParticipantOptions& options);
  ~Domain();
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  // Announced on ros_discovery_info, but for that topic's own.
  absl::StatusOr<eprosima::fastdds::dds::DataReader*> NewReader(const End& end);
  // `listener`: of matches.
  absl::StatusOr<eprosima::fastdds::dds::DataWriter*> NewWriter(
      const End& end, eprosima::fastdds::dds::DataWriterListener* listener = nullptr);
  void Delete(eprosima::fastdds::dds::DataReader* reader);
  void Delete(eprosima::fastdds::dds::DataWriter* writer);

  const Graph& graph() const { return graph_; }
  Warnings& warnings() { return warnings_; }
  const ReceiveBuffer& receive_buffer() const { return receive_buffer_; }

 private:
  Domain() = default;
  absl::Status Start(const Environment& environment, const ParticipantOptions& options);
  absl::StatusOr<eprosima::fastdds::dds::Topic*> TopicOf(const End& end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Tells other nodes of the node and its ends.
  void Announce() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Graph graph_;
  Warnings warnings_;
  ReceiveBuffer receive_buffer_;
  eprosima::fastdds::dds::DomainParticipant* participant_ = nullptr;
  eprosima::fastdds::dds::Publisher* publisher_ = nullptr;
  eprosima::fastdds::dds::Subscriber* subscriber_ = nullptr;
  eprosima::fastdds::dds::DataWriter* announcer_ = nullptr;
  absl::Mutex mutex_;
  ros::NodeEntitiesInfo node_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_DDS_DOMAIN_H_
