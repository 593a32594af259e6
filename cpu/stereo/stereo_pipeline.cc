#include "cpu/stereo/stereo_pipeline.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "features/error.h"

namespace glint::cpu {
namespace {

using Clock = std::chrono::steady_clock;

int64_t Nanoseconds(Clock::duration d) { return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count(); }

absl::Status CheckPair(const DetectorOptions& detector, const ImageView& left, const ImageView& right) {
  if (detector.descriptor == Descriptor::kNone) {
    return ContradictionError("descriptor", "stereo matching needs descriptors");
  }
  if (left.shape() == right.shape()) return absl::OkStatus();
  return ContradictionError(
      "right", absl::StrCat(right.width, "x", right.height, ", but the left image has ", left.width, "x", left.height));
}

}  // namespace

StereoPipeline::StereoPipeline(int threads)
    : eyes_(std::min(threads, 2)),
      left_(std::max((threads + 1) / 2, 1)),
      right_(std::max(threads / 2, 1)),
      matcher_(threads) {}

absl::Status StereoPipeline::Detect(const DetectorOptions& detector, const ImageView& left, const ImageView& right,
                                    const StereoOptions& options, Features* left_features, Features* right_features,
                                    StereoResult* result, StereoTimes* times) {
  if (absl::Status s = CheckPair(detector, left, right); !s.ok()) {
    left_features->Clear();
    right_features->Clear();
    result->Reset(0);
    return s;
  }
  const Clock::time_point start = Clock::now();
  absl::Status status[2];
  eyes_.ForEach(2, [&](int eye, int) {
    status[eye] = eye == 0 ? left_.Detect(detector, left, {}, left_features, nullptr)
                           : right_.Detect(detector, right, {}, right_features, nullptr);
  });
  for (const absl::Status& s : status) {
    if (!s.ok()) return s;
  }
  const Clock::time_point detected = Clock::now();
  std::array<ImageView, kMaxLevels> levels[2];
  for (int l = 0; l < detector.levels; ++l) {
    levels[0][static_cast<size_t>(l)] = left_.LevelImage(l);
    levels[1][static_cast<size_t>(l)] = right_.LevelImage(l);
  }
  const StereoInput input{
      {left_features, levels[0].data()}, {right_features, levels[1].data()}, PlanPyramid(detector, left.shape())};
  matcher_.Match(input, options, result);
  if (times != nullptr) {
    times->detect_ns = Nanoseconds(detected - start);
    times->match_ns = Nanoseconds(Clock::now() - detected);
  }
  return absl::OkStatus();
}

}  // namespace glint::cpu
