// A node of ROS 2 on the network, over DDS: topics and services as rmw_fastrtps_cpp has them on the wire. The one place
// that knows Fast DDS; this header does not.
//
//   auto node = Participant::Create({"/", "glint"});
//   auto images = (*node)->Subscribe("/left/image_raw", TypeOf<ros::Image>(), kSensorData,
//                                    [](absl::Span<const uint8_t> cdr, const SampleInfo&) { ... });
//   auto poses = (*node)->Advertise("/odometry", TypeOf<ros::Odometry>(), {});
//   status = (*poses)->Publish(cdr);
#ifndef GLINT_ROS2_DDS_PARTICIPANT_H_
#define GLINT_ROS2_DDS_PARTICIPANT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ros/definition.h"
#include "ros2/qos.h"

namespace glint::ros2 {

// What a topic carries: "sensor_msgs/msg/Image" and its type hash, "RIHS01_...".
struct TypeInfo {
  std::string name, hash;
};
template <class T>
TypeInfo TypeOf() {
  return {T::kName, ros::TypeHash<T>()};
}
// Of a service: its own type, and those of the request and the response. `T`: ros::Trigger...
struct ServiceInfo {
  TypeInfo service, request, response;
};

struct SampleInfo {
  int64_t source_ns = 0;    // when it was published, by the publisher's clock, since the epoch
  int64_t received_ns = 0;  // when it was here, by ours
};
// Called on threads of DDS, one call at a time for each subscription. `cdr` is not trusted; up to 3 bytes may follow
// the message; valid until it returns.
using MessageCallback = std::function<void(absl::Span<const uint8_t> cdr, const SampleInfo& info)>;
// Fills the response, CDR with its 4 bytes of encapsulation, of a request. Called on a thread that serves only this
// service, one call at a time: it may take its time.
using RequestCallback = std::function<void(absl::Span<const uint8_t> request, std::vector<uint8_t>* response)>;

// Counts since the beginning, but for `matched`.
struct SubscriptionCounts {
  int64_t received = 0;
  int64_t lost = 0;          // missing between two of one publisher: not come whole, or more than `depth` waited here
  int64_t incompatible = 0;  // publishers that offer less than is asked for; DDS may count one twice
  int matched = 0;           // publishers now
};
struct PublisherCounts {
  int64_t published = 0;
  int64_t failed = 0;        // not taken by DDS: no room, readers too slow
  int64_t incompatible = 0;  // subscriptions that ask for more than is offered
  int matched = 0;           // subscriptions now
};

// When it is destroyed the callback has returned, and is not called again. Must not be destroyed by its callback.
class Subscription {
 public:
  virtual ~Subscription() = default;
  virtual const std::string& topic() const = 0;
  virtual SubscriptionCounts counts() const = 0;
};

class Publisher {
 public:
  virtual ~Publisher() = default;
  virtual const std::string& topic() const = 0;
  // CDR with its 4 bytes of encapsulation, as ros::WriteCdr() makes it: 4..2^26 bytes. A subscription that is too slow
  // misses older ones. RESOURCE_EXHAUSTED: DDS has no room (100 ms at most are waited).
  virtual absl::Status Publish(absl::Span<const uint8_t> cdr) = 0;
  virtual PublisherCounts counts() const = 0;
  bool has_subscribers() const { return counts().matched > 0; }
};

class Service {
 public:
  virtual ~Service() = default;
};

struct ParticipantOptions {
  std::string node_namespace = "/";
  std::string node_name = "glint";
  // Of the sockets that images come by, bytes, 2^16..2^30: what the system allows at most is taken (net.core.rmem_max).
  int receive_buffer_bytes = 8 << 20;
};

// Thread-safe. Subscriptions, publishers and services must be destroyed before it. From the environment, as ROS 2 has
// it: ROS_DOMAIN_ID (0..232), ROS_LOCALHOST_ONLY, ROS_AUTOMATIC_DISCOVERY_RANGE, ROS_STATIC_PEERS,
// FASTRTPS_DEFAULT_PROFILES_FILE. Topics are whole names with a leading '/'.
class Participant {
 public:
  // INVALID_ARGUMENT names the variable or the name. UNAVAILABLE: DDS cannot begin, as without a network.
  static absl::StatusOr<std::unique_ptr<Participant>> Create(const ParticipantOptions& options);
  virtual ~Participant() = default;

  virtual absl::StatusOr<std::unique_ptr<Subscription>> Subscribe(const std::string& topic, const TypeInfo& type,
                                                                  const Qos& qos, MessageCallback callback) = 0;
  virtual absl::StatusOr<std::unique_ptr<Publisher>> Advertise(const std::string& topic, const TypeInfo& type,
                                                               const Qos& qos) = 0;
  virtual absl::StatusOr<std::unique_ptr<Service>> Serve(const std::string& name, const ServiceInfo& type,
                                                         RequestCallback callback) = 0;

  // Those of the subscriptions and publishers that there are.
  virtual std::vector<std::string> OpenTopics() const = 0;

  // What went wrong since the last call, for people, each thing once: ends that do not match for their QoS or type and
  // what would mend it; losses with their figures, the socket's buffer, and what would mend them.
  virtual std::vector<std::string> TakeWarnings() = 0;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_DDS_PARTICIPANT_H_
