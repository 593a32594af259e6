// A participant without DDS, whose topics a test reads, and an input whose cameras it sets.
#ifndef GLINT_TESTS_ROS2_FAKE_NODE_H_
#define GLINT_TESTS_ROS2_FAKE_NODE_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ros/cdr.h"
#include "ros2/dds/participant.h"
#include "ros2/input/input.h"

namespace glint::ros2::testing {

// What was published on a topic. Thread-safe.
struct FakeTopic {
  // As if there was a subscription.
  std::atomic<bool> wanted{true};
  TypeInfo type;
  Qos qos;

  void Add(absl::Span<const uint8_t> cdr) {
    const std::lock_guard<std::mutex> lock(mutex);
    messages.emplace_back(cdr.begin(), cdr.end());
  }
  std::vector<std::vector<uint8_t>> Messages() {
    const std::lock_guard<std::mutex> lock(mutex);
    return messages;
  }
  size_t count() { return Messages().size(); }

 private:
  std::mutex mutex;
  std::vector<std::vector<uint8_t>> messages;
};

class FakeParticipant : public Participant {
 public:
  // By its whole name; there from its first mention on.
  FakeTopic* topic(const std::string& name) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<FakeTopic>& topic = topics_[name];
    if (topic == nullptr) topic = std::make_unique<FakeTopic>();
    return topic.get();
  }

  absl::StatusOr<std::unique_ptr<Publisher>> Advertise(const std::string& name, const TypeInfo& type,
                                                       const Qos& qos) override {
    class Fake : public Publisher {
     public:
      Fake(std::string name, FakeTopic* topic) : name_(std::move(name)), topic_(topic) {}
      const std::string& topic() const override { return name_; }
      absl::Status Publish(absl::Span<const uint8_t> cdr) override {
        topic_->Add(cdr);
        return absl::OkStatus();
      }
      PublisherCounts counts() const override {
        PublisherCounts counts;
        counts.matched = topic_->wanted ? 1 : 0;
        return counts;
      }

     private:
      const std::string name_;
      FakeTopic* const topic_;
    };
    FakeTopic* const to = topic(name);
    to->type = type;
    to->qos = qos;
    return std::make_unique<Fake>(name, to);
  }
  absl::StatusOr<std::unique_ptr<Subscription>> Subscribe(const std::string&, const TypeInfo&, const Qos&,
                                                          MessageCallback) override {
    return absl::UnimplementedError("Subscribe");
  }
  absl::StatusOr<std::unique_ptr<Service>> Serve(const std::string&, const ServiceInfo&, RequestCallback) override {
    return absl::UnimplementedError("Serve");
  }
  std::vector<std::string> OpenTopics() const override { return {}; }
  std::vector<std::string> TakeWarnings() override { return {}; }

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<FakeTopic>> topics_;
};

class FakeInput : public Input {
 public:
  // With another version than before.
  void Set(std::optional<Cameras> cameras) {
    const std::lock_guard<std::mutex> lock(mutex_);
    cameras_ = std::move(cameras);
    if (cameras_.has_value()) cameras_->version = ++version_;
  }
  void set_image_bytes(size_t bytes) { image_bytes_ = bytes; }
  std::shared_ptr<client::SharedMemoryRing> ring() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return ring_;
  }

  void UseRing(std::shared_ptr<client::SharedMemoryRing> ring) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ring_ = std::move(ring);
  }
  size_t image_bytes() const override { return image_bytes_; }
  std::optional<Cameras> cameras(std::string* why) const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!cameras_.has_value()) *why = "CameraInfo on /left/camera_info";
    return cameras_;
  }
  std::optional<RigidTransform> Transform(const std::string&, const std::string&) const override {
    return std::nullopt;
  }
  ros::DiagnosticStatus Diagnose() override { return {}; }

 private:
  mutable std::mutex mutex_;
  std::optional<Cameras> cameras_;
  int version_ = 0;
  std::shared_ptr<client::SharedMemoryRing> ring_;
  std::atomic<size_t> image_bytes_{0};
};

}  // namespace glint::ros2::testing

#endif  // GLINT_TESTS_ROS2_FAKE_NODE_H_
