// The lanes of fuzz targets, in place of server/lane/create_lanes.cc: the scalar reference.
#include <algorithm>
#include <memory>
#include <string>

#include "features/reference/reference.h"
#include "server/lane/lane.h"

namespace glint {
namespace {

class ReferenceLane final : public Lane {
 public:
  absl::Status Run(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                   StageTimes*) override {
    *features = reference::Detect(options, ViewOf(image, &image_), ViewOf(mask, &mask_));
    return absl::OkStatus();
  }
  absl::Status fatal() const override { return absl::OkStatus(); }
  const std::string& device() const override { return device_; }

 private:
  Image image_, mask_;
  const std::string device_ = "reference";
};

}  // namespace

absl::StatusOr<LaneSet> CreateLanes(const LaneOptions& options) {
  LaneSet set;
  for (int i = 0; i < std::max(1, options.lanes); ++i) set.lanes.push_back(std::make_unique<ReferenceLane>());
  set.device = "the scalar reference";
  set.simd = "NONE";
  return set;
}

}  // namespace glint
