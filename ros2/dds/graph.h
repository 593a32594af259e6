// Ends of topics that other participants have.
#ifndef GLINT_ROS2_DDS_GRAPH_H_
#define GLINT_ROS2_DDS_GRAPH_H_

#include <fastdds/rtps/common/Guid.h>

#include <cstddef>
#include <fastdds/dds/domain/DomainParticipantListener.hpp>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace glint::ros2 {

struct RemoteEnd {
  bool is_writer = false;
  bool reliable = false;
  bool transient_local = false;
  std::string topic, type;  // as DDS has them
  std::string hash;         // "RIHS01_...", or empty
};

// Thread-safe. What is more than kMost ends is not kept.
class Graph : public eprosima::fastdds::dds::DomainParticipantListener {
 public:
  using DomainParticipantListener::on_publisher_discovery;  // later versions have more of them
  using DomainParticipantListener::on_subscriber_discovery;

  static constexpr size_t kMost = 10'000;

  std::vector<RemoteEnd> EndsOf(const std::string& dds_topic) const;

  void on_publisher_discovery(eprosima::fastdds::dds::DomainParticipant* self,
                              eprosima::fastrtps::rtps::WriterDiscoveryInfo&& info) override;
  void on_subscriber_discovery(eprosima::fastdds::dds::DomainParticipant* self,
                               eprosima::fastrtps::rtps::ReaderDiscoveryInfo&& info) override;

 private:
  void Set(const eprosima::fastrtps::rtps::GUID_t& guid, RemoteEnd end);
  void Erase(const eprosima::fastrtps::rtps::GUID_t& guid);

  mutable absl::Mutex mutex_;
  std::map<eprosima::fastrtps::rtps::GUID_t, RemoteEnd> ends_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_DDS_GRAPH_H_
