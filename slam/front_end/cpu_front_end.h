// Features, stereo and matching on the CPU.
#ifndef GLINT_SLAM_FRONT_END_CPU_FRONT_END_H_
#define GLINT_SLAM_FRONT_END_CPU_FRONT_END_H_

#include <cstdint>
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

class CpuFrontEnd : public FrontEnd {
 public:
  // `detector` must be valid (ValidateOptions) and have descriptors. `threads` >= 1 share a pair; the results are the
  // same with any number.
  CpuFrontEnd(const DetectorOptions& detector, int threads);

  const FeatureKind& kind() const override { return kind_; }
  // INVALID_ARGUMENT: images that ValidateImages refuses, or of two shapes.
  absl::Status Find(const ImageView& left, const ImageView& right, StereoFrame* frame) override;
  // INVALID_ARGUMENT: an image that ValidateImages refuses.
  absl::Status FindOne(const ImageView& image, StereoFrame* frame) override;
  void SetReferenceFrame() override;
  void Follow(const std::vector<float>& x, const std::vector<float>& y, std::vector<float>* to_x,
              std::vector<float>* to_y, std::vector<uint8_t>* is_followed) override;
  void Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) override;

 private:
  const DetectorOptions detector_;
  const FeatureKind kind_;
  const StereoOptions stereo_;
  cpu::Pipeline single_;  // with one thread, the pairs' as well
  cpu::StereoPipeline pipeline_;
  cpu::Matcher matcher_;
  // A copy of an image and its pyramid.
  struct PatchImage {
    void Set(const ImageView& from);
    Image image;
    cpu::TrackLevels levels;
  };

  cpu::Tracker tracker_;
  const TrackOptions track_;
  PatchImage left_;
  PatchImage right_;
  PatchImage reference_;
  TrackResult tracked_;
  DisparityPatches patches_;
  Features right_features_;
  StereoResult result_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_FRONT_END_CPU_FRONT_END_H_
