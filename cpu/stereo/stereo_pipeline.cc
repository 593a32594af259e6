#include "cpu/stereo/stereo_pipeline.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "features/error.h"

namespace glint::cpu {
namespace {

using Clock = std::chrono::steady_clock;

int64_t Nanoseconds(Clock::duration d) { return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count(); }

absl::Status Ended() { return absl::CancelledError("stereo: ended at a checkpoint"); }

absl::Status CheckPair(const DetectorOptions& detector, const ImageView& left, const ImageView& right) {
  if (detector.descriptor == Descriptor::kNone) {
    return ContradictionError("descriptor", "stereo matching needs descriptors");
  }
  if (left.shape() == right.shape()) return absl::OkStatus();
  return ContradictionError(
      "right", absl::StrCat(right.width, "x", right.height, ", but the left image has ", left.width, "x", left.height));
}

}  // namespace

StereoPipeline::StereoPipeline(int threads, Pipeline* shared)
    : own_{threads > 1 || shared == nullptr ? std::make_unique<Pipeline>((threads + 1) / 2) : nullptr,
           threads > 1 ? std::make_unique<Pipeline>(threads / 2) : nullptr},
      first_(own_[0] != nullptr ? own_[0].get() : shared),
      workers_(std::min(threads, 2)),
      matcher_(threads) {}

absl::Status StereoPipeline::DetectSides(const DetectorOptions& detector, Side (&sides)[2],
                                         const Checkpoint& checkpoint) {
  Pipeline* const pipelines[2] = {first_, own_[1] != nullptr ? own_[1].get() : first_};
  const bool in_turn = pipelines[0] == pipelines[1];
  absl::Status status[2];
  const auto detect = [&](int e, int) {
    if (!GoesOn(checkpoint)) {
      status[e] = Ended();
      return;
    }
    Side& side = sides[e];
    Pipeline* const pipeline = pipelines[e];
    status[e] = pipeline->Detect(detector, side.image, side.mask, side.features, &side.times);
    for (int l = 0; l < detector.levels; ++l) side.levels[static_cast<size_t>(l)] = pipeline->LevelImage(l);
    // Back again after the second side. Both pyramids stay as they are until the next image.
    if (in_turn) pipeline->SwapPyramid();
  };
  workers_.ForEach(2, detect);
  return status[0].ok() ? status[1] : status[0];
}

absl::Status StereoPipeline::Detect(const DetectorOptions& detector, const ImagePair& pair,
                                    const StereoOptions& options, Features* left_features, Features* right_features,
                                    StereoResult* result, StereoTimes* times, const Checkpoint& checkpoint) {
  const Clock::time_point start = Clock::now();
  absl::Status status = CheckPair(detector, pair.left, pair.right);
  Side sides[2] = {{pair.left, pair.left_mask, left_features, {}, {}},
                   {pair.right, pair.right_mask, right_features, {}, {}}};
  if (status.ok()) status = DetectSides(detector, sides, checkpoint);
  const Clock::time_point detected = Clock::now();
  if (status.ok()) {
    const StereoInput input{{left_features, sides[0].levels.data()},
                            {right_features, sides[1].levels.data()},
                            PlanPyramid(detector, pair.left.shape())};
    if (!matcher_.Match(input, options, result, checkpoint)) status = Ended();
  }
  if (!status.ok()) {
    left_features->Clear();
    right_features->Clear();
    result->Reset(0);
    return status;
  }
  if (times != nullptr) {
    times->detect_ns = Nanoseconds(detected - start);
    times->match_ns = Nanoseconds(Clock::now() - detected);
    times->left = sides[0].times;
    times->right = sides[1].times;
  }
  return absl::OkStatus();
}

}  // namespace glint::cpu
