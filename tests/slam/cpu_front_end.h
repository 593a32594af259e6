// A front end that calls the CPU's detector, matchers and tracker itself, without a lane: what LaneFrontEnd has to find
// on every lane, bit for bit.
#ifndef GLINT_TESTS_SLAM_CPU_FRONT_END_H_
#define GLINT_TESTS_SLAM_CPU_FRONT_END_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cpu/match/matcher.h"
#include "cpu/pipeline.h"
#include "cpu/stereo/stereo_pipeline.h"
#include "cpu/track/tracker.h"
#include "features/options.h"
#include "features/stereo.h"
#include "features/tracker.h"
#include "slam/front_end/front_end.h"
#include "slam/front_end/pair_rules.h"

namespace glint::slam {

// Of images that have a view.
class CpuFrontEnd final : public FrontEnd {
 public:
  // `detector` must be valid (ValidateOptions) and have descriptors. `threads` >= 1 share a pair.
  CpuFrontEnd(const DetectorOptions& detector, int threads)
      : detector_(detector),
        kind_(FeatureKindOf(detector)),
        single_(threads),
        pairs_(threads, &single_),
        matcher_(threads),
        tracker_(threads) {}

  const FeatureKind& kind() const override { return kind_; }

  absl::Status Find(const PixelPair& pair, StereoFrame* frame) override {
    const ImageView &left = pair.left.view, &right = pair.right.view;
    Features right_features;
    StereoResult matches;
    absl::Status status = pairs_.Detect(detector_, {left, right, pair.left_mask.view, pair.right_mask.view},
                                        PairMatching(), &frame->left, &right_features, &matches, nullptr);
    if (!status.ok()) return status;
    SetLevels(detector_, left.shape(), frame);
    left_.Set(left);
    PatchImage right_image;
    right_image.Set(right);
    DisparityPatches disparities;
    TrackInput patches = disparities.MakeInput(frame->left, matches);
    patches.from = left_.levels.view();
    patches.to = right_image.levels.view();
    tracker_.Track(patches, PatchFollowing(), &tracked_);
    disparities.Apply(tracked_, frame);
    return absl::OkStatus();
  }

  absl::Status FindOne(const Pixels& pixels, const ImageView& mask, StereoFrame* frame) override {
    const ImageView& image = pixels.view;
    absl::Status status = single_.Detect(detector_, image, mask, &frame->left, nullptr);
    SetLevels(detector_, image.shape(), frame);
    ClearStereo(frame);
    left_.Set(image);
    return status;
  }

  void SetReferenceFrame() override { std::swap(left_, reference_); }

  void Follow(const std::vector<float>& x, const std::vector<float>& y, std::vector<float>* to_x,
              std::vector<float>* to_y, std::vector<uint8_t>* is_followed) override {
    const auto count = static_cast<ptrdiff_t>(x.size());
    const TrackInput input{reference_.levels.view(),
                           left_.levels.view(),
                           static_cast<int>(count),
                           x.data(),
                           y.data(),
                           to_x->data(),
                           to_y->data()};
    tracker_.Track(input, PatchFollowing(), &tracked_);
    is_followed->assign(x.size(), 0);
    for (size_t i = 0; i < x.size(); ++i) (*is_followed)[i] = tracked_.status[i] == TrackStatus::kTracked ? 1 : 0;
    to_x->assign(tracked_.x.begin(), tracked_.x.begin() + count);
    to_y->assign(tracked_.y.begin(), tracked_.y.begin() + count);
  }

  void Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) override {
    matcher_.Match(input, options, result);
  }

 private:
  // A copy of an image and its pyramid.
  struct PatchImage {
    void Set(const ImageView& from) {
      image = Image::CopyOf(from);
      levels.Build(image, 1);
    }
    Image image;
    cpu::TrackLevels levels;
  };

  const DetectorOptions detector_;
  const FeatureKind kind_;
  cpu::Pipeline single_;  // with one thread, the pairs' as well
  cpu::StereoPipeline pairs_;
  cpu::Matcher matcher_;
  cpu::Tracker tracker_;
  PatchImage left_, reference_;
  TrackResult tracked_;
};

}  // namespace glint::slam

#endif  // GLINT_TESTS_SLAM_CPU_FRONT_END_H_
