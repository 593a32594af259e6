// Lanes for a whole glint-server, linked in place of lane/create_lanes.cc: a device that hangs, or is lost, when
// an image of a certain width comes.
#include "tests/server/hanging_lanes.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "lane/lane.h"

namespace glint {
namespace {

// Never returns; not inlined, so that it is on the stack by its name.
__attribute__((noinline)) void HangInTheDevice() {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::hours(1));
    asm volatile("");
  }
}

class BadLane final : public Lane {
 public:
  absl::Status Run(const DetectorOptions&, const Pixels& image, const Pixels&, Features* features,
                   StageTimes*) override {
    features->Clear();
    const int width = image.shape().width;
    if (width == testing::kHangingWidth) HangInTheDevice();
    if (width == testing::kLosingWidth) fatal_ = absl::InternalError("the context is gone");
    return fatal_;
  }
  absl::Status fatal() const override { return fatal_; }
  const std::string& device() const override { return device_; }

 private:
  absl::Status fatal_;
  const std::string device_ = "bad:0";
};

}  // namespace

absl::StatusOr<LaneSet> CreateLanes(const LaneOptions& options) {
  LaneSet set;
  for (int i = 0; i < options.lanes; ++i) set.lanes.push_back(std::make_unique<BadLane>());
  set.device = "a bad device";
  set.simd = "NONE";
  return set;
}

}  // namespace glint
