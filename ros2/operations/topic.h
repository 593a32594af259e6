// A topic that answers go out to.
#ifndef GLINT_ROS2_OPERATIONS_TOPIC_H_
#define GLINT_ROS2_OPERATIONS_TOPIC_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "features/status_macros.h"
#include "ros/cdr.h"
#include "ros2/operations/context.h"

namespace glint::ros2 {

// Of messages T. Thread-compatible; memory is used again.
template <class T>
class Topic {
 public:
  // `name` as in the configuration, which may rename it and set another QoS. Errors of Participant::Advertise().
  static absl::StatusOr<Topic> Advertise(const Context& context, const std::string& name, const Qos& by_default = {}) {
    Topic topic;
    GLINT_ASSIGN_OR_RETURN(topic.publisher_, context.participant->Advertise(context.config->Topic(name), TypeOf<T>(),
                                                                            context.config->QosOf(name, by_default)));
    return topic;
  }

  bool wanted() const { return publisher_->has_subscribers(); }
  // Failures are in the publisher's counts, and in the participant's warnings.
  void Publish() { Publish(message); }
  void Publish(const T& other) {
    ros::WriteCdr(other, &bytes_);
    publisher_->Publish(bytes_).IgnoreError();
  }
  const Publisher& publisher() const { return *publisher_; }

  T message;

 private:
  std::unique_ptr<Publisher> publisher_;
  std::vector<uint8_t> bytes_;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_TOPIC_H_
