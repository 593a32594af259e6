// Lanes that tests hold, break and count. What they find is one keypoint: x the image's width, y its first pixel,
// response the mask's first pixel or -1.
#ifndef GLINT_TESTS_SERVER_FAKE_LANE_H_
#define GLINT_TESTS_SERVER_FAKE_LANE_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lane/lane.h"

namespace glint::testing {

// Shared by the lanes of one server and by the test. Thread-safe.
class LaneControl {
 public:
  // While held, Run() does not return.
  void Hold(bool hold) {
    std::lock_guard<std::mutex> lock(mutex_);
    hold_ = hold;
    changed_.notify_all();
  }
  // What Run() returns from now on, and what fatal() returns afterwards.
  void Fail(const absl::Status& result, const absl::Status& fatal = absl::OkStatus()) {
    std::lock_guard<std::mutex> lock(mutex_);
    result_ = result;
    fatal_ = fatal;
  }
  // Blocks until `count` frames are inside Run().
  void WaitUntilRunning(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return running_ >= count; });
  }
  int runs() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return runs_;
  }

  absl::Status Enter() {
    std::unique_lock<std::mutex> lock(mutex_);
    ++running_;
    ++runs_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !hold_; });
    --running_;
    return result_;
  }
  absl::Status fatal() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return fatal_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool hold_ = false;
  int running_ = 0;
  int runs_ = 0;
  absl::Status result_;
  absl::Status fatal_;
};

class FakeLane final : public Lane {
 public:
  explicit FakeLane(LaneControl* control, std::string device = "fake:0")
      : control_(control), device_(std::move(device)) {}

  absl::Status Run(const DetectorOptions&, const Pixels& image_pixels, const Pixels& mask_pixels, Features* features,
                   StageTimes* times) override {
    const ImageView image = ViewOf(image_pixels, &image_);
    const ImageView mask = ViewOf(mask_pixels, &mask_);
    absl::Status status = control_->Enter();
    if (!status.ok()) {
      features->Clear();
      return status;
    }
    features->Resize(1, 0);
    features->x[0] = static_cast<float>(image.width);
    features->y[0] = image.at(0, 0);
    features->size[0] = 31;
    features->angle[0] = -1;
    features->response[0] = mask.empty() ? -1 : mask.at(0, 0);
    features->octave[0] = 0;
    features->truncated = false;
    times->upload_ns = 1;
    times->detect_ns = 2;
    return absl::OkStatus();
  }
  absl::Status fatal() const override { return control_->fatal(); }
  const std::string& device() const override { return device_; }

 private:
  LaneControl* const control_;
  Image image_, mask_;
  const std::string device_;
};

// For ServerOptions::create_lanes. `control` must outlive the server.
inline std::function<absl::StatusOr<LaneSet>(const LaneOptions&)> FakeLanes(LaneControl* control) {
  return [control](const LaneOptions& options) -> absl::StatusOr<LaneSet> {
    LaneSet set;
    for (int i = 0; i < std::max(1, options.lanes); ++i) set.lanes.push_back(std::make_unique<FakeLane>(control));
    set.device = "a fake";
    set.simd = "NONE";
    return set;
  };
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_FAKE_LANE_H_
