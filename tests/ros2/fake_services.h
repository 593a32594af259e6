// FakeParticipant, whose services a test calls and whose subscriptions it sends to.
#ifndef GLINT_TESTS_ROS2_FAKE_SERVICES_H_
#define GLINT_TESTS_ROS2_FAKE_SERVICES_H_

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ros/cdr.h"
#include "tests/ros2/fake_node.h"

namespace glint::ros2::testing {

class NodeWithServices : public FakeParticipant {
 public:
  absl::StatusOr<std::unique_ptr<Subscription>> Subscribe(const std::string& topic, const TypeInfo&, const Qos&,
                                                          MessageCallback callback) override {
    struct Fake : Subscription {
      explicit Fake(std::string name) : name(std::move(name)) {}
      const std::string& topic() const override { return name; }
      SubscriptionCounts counts() const override { return {}; }
      std::string name;
    };
    callbacks_[topic] = std::move(callback);
    return std::make_unique<Fake>(topic);
  }
  absl::StatusOr<std::unique_ptr<Service>> Serve(const std::string& name, const ServiceInfo& type,
                                                 RequestCallback callback) override {
    EXPECT_EQ(type.service.hash, "RIHS01_eeff2cd6fa5ad9d27cdf4dec64818317839b62f212a91e6b5304b634b2062c5f");
    services_[name] = std::move(callback);
    return std::make_unique<Service>();
  }
  ros::TriggerResponse Call(const std::string& name) {
    std::vector<uint8_t> request, bytes;
    ros::WriteCdr(ros::TriggerRequest(), &request);
    services_.at(name)(request, &bytes);
    ros::TriggerResponse response;
    EXPECT_TRUE(ros::ReadCdr(bytes, &response).ok());
    return response;
  }
  void Send(const std::string& topic, const std::string& text) {
    std::vector<uint8_t> bytes;
    ros::WriteCdr(ros::String{text}, &bytes);
    callbacks_.at(topic)(bytes, {});
  }

 private:
  std::map<std::string, MessageCallback> callbacks_;
  std::map<std::string, RequestCallback> services_;
};

}  // namespace glint::ros2::testing

#endif  // GLINT_TESTS_ROS2_FAKE_SERVICES_H_
