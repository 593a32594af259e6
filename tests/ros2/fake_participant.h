// A participant without a network: what a test sends is handed to the subscription, on the thread that sends it.
#ifndef GLINT_TESTS_ROS2_FAKE_PARTICIPANT_H_
#define GLINT_TESTS_ROS2_FAKE_PARTICIPANT_H_

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "ros/cdr.h"
#include "ros2/dds/participant.h"

namespace glint::ros2::testing {

class FakeParticipant : public Participant {
 public:
  struct Topic {
    TypeInfo type;
    Qos qos;
    MessageCallback callback;
    SubscriptionCounts counts{0, 0, 0, 1};
  };

  absl::StatusOr<std::unique_ptr<Subscription>> Subscribe(const std::string& topic, const TypeInfo& type,
                                                          const Qos& qos, MessageCallback callback) override {
    topics[topic] = {type, qos, std::move(callback)};
    return std::make_unique<FakeSubscription>(this, topic);
  }
  absl::StatusOr<std::unique_ptr<Publisher>> Advertise(const std::string&, const TypeInfo&, const Qos&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::unique_ptr<Service>> Serve(const std::string&, const ServiceInfo&, RequestCallback) override {
    return absl::UnimplementedError("");
  }
  std::vector<std::string> OpenTopics() const override { return {}; }
  std::vector<std::string> TakeWarnings() override { return {}; }

  // False: nobody has subscribed.
  bool SendBytes(const std::string& topic, absl::Span<const uint8_t> cdr,
                 int64_t received_ns = absl::GetCurrentTimeNanos()) {
    const auto at = topics.find(topic);
    if (at == topics.end()) return false;
    at->second.callback(cdr, {received_ns, received_ns});
    return true;
  }
  // To a subscription that is there, and of that type.
  template <class Message>
  void Send(const std::string& topic, const Message& message, int64_t received_ns = absl::GetCurrentTimeNanos()) {
    std::vector<uint8_t> cdr;
    ros::WriteCdr(message, &cdr);
    if (topics.at(topic).type.name != Message::kName || !SendBytes(topic, cdr, received_ns)) std::abort();
  }

  std::map<std::string, Topic> topics;

 private:
  class FakeSubscription : public Subscription {
   public:
    FakeSubscription(FakeParticipant* of, std::string topic) : of_(of), topic_(std::move(topic)) {}
    ~FakeSubscription() override { of_->topics.erase(topic_); }
    const std::string& topic() const override { return topic_; }
    SubscriptionCounts counts() const override { return of_->topics.at(topic_).counts; }

   private:
    FakeParticipant* const of_;
    const std::string topic_;
  };
};

}  // namespace glint::ros2::testing

#endif  // GLINT_TESTS_ROS2_FAKE_PARTICIPANT_H_
