#include "cpu/pipeline.h"

#include <chrono>

#include "features/reference/reference.h"

namespace glint::cpu {

struct Pipeline::Impl {};

Pipeline::Pipeline(int /*threads*/) : impl_(std::make_unique<Impl>()) {}
Pipeline::~Pipeline() = default;

absl::Status Pipeline::Detect(const DetectorOptions& options, const ImageView& image, const ImageView& mask,
                              Features* features, StageTimes* times) {
  const auto start = std::chrono::steady_clock::now();
  *features = reference::Detect(options, image, mask);
  if (times != nullptr) {
    *times = {};
    times->detect_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  }
  return absl::OkStatus();
}

std::string SimdTarget() { return "SCALAR"; }
absl::Status ValidateSimdTarget() { return absl::OkStatus(); }

}  // namespace glint::cpu
