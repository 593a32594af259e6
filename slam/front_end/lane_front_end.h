// A lane as the front end: features, stereo and matching, on whatever device the lane has.
#ifndef GLINT_SLAM_FRONT_END_LANE_FRONT_END_H_
#define GLINT_SLAM_FRONT_END_LANE_FRONT_END_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "features/options.h"
#include "features/tracker.h"
#include "lane/lane.h"
#include "slam/front_end/front_end.h"
#include "slam/front_end/pair_rules.h"

namespace glint::slam {

// The results are the same on every lane. Not thread-safe: one caller at a time.
class LaneFrontEnd final : public FrontEnd {
 public:
  // `detector` must be valid (ValidateOptions) and have descriptors. Before the first image Begin() names a lane.
  explicit LaneFrontEnd(const DetectorOptions& detector);
  // The same with a lane of its own, on the CPU: `threads`, 1..kMaxThreadsPerLane, share a pair. No Begin() is needed.
  LaneFrontEnd(const DetectorOptions& detector, int threads);

  // `lane` does the work from now on. It may be another one than before, of the same LaneSet. Clears the three below.
  void Begin(Lane* lane);
  // Since Begin(): what Find() and FindOne() took of the lane, in nanoseconds; and what Follow() and Match(), which
  // cannot say so, failed by. Then points were lost, or not matched. A lane on the CPU does not fail.
  const StageTimes& stages() const { return stages_; }
  int64_t match_ns() const { return match_ns_; }
  const absl::Status& status() const { return status_; }

  const FeatureKind& kind() const override { return kind_; }
  // INVALID_ARGUMENT: images or masks that ValidatePixels refuses, or whose rows overlap. Errors of Lane::RunStereo(),
  // of its frames for tracking, and of following.
  absl::Status Find(const PixelPair& pair, StereoFrame* frame) override;
  // The same of Lane::Run().
  absl::Status FindOne(const Pixels& image, const ImageView& mask, StereoFrame* frame) override;
  void SetReferenceFrame() override;
  void Follow(const std::vector<float>& x, const std::vector<float>& y, std::vector<float>* to_x,
              std::vector<float>* to_y, std::vector<uint8_t>* is_followed) override;
  void Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) override;

 private:
  LaneFrontEnd(const DetectorOptions& detector, std::unique_ptr<Lane> own_lane);

  // What Find() and FindOne() have in common: `work` is one of the two below.
  template <typename Work>
  absl::Status Timed(Work work);
  absl::Status FindOnLane(const PixelPair& pair, StereoFrame* frame, StageTimes* times);
  absl::Status FindOneOnLane(const Pixels& image, const ImageView& mask, StereoFrame* frame, StageTimes* times);
  absl::Status MakeFrames(Shape shape);
  absl::Status FollowOnLane(int from, int to, const TrackInput& points);

  const DetectorOptions detector_;
  const FeatureKind kind_;
  const StereoOptions stereo_;
  const TrackOptions track_;
  const std::unique_ptr<Lane> own_lane_;  // null: only lanes of Begin()
  Lane* lane_;
  StageTimes stages_;
  int64_t match_ns_ = 0;
  absl::Status status_;

  // Left, right and reference image, on the device of the lane that made them; null after an error.
  std::unique_ptr<TrackFrames> frames_;
  Shape shape_;  // theirs
  int left_ = 0, reference_ = 2;
  bool has_reference_ = false;

  StereoPairResult found_;
  DisparityPatches patches_;
  TrackResult followed_, part_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_FRONT_END_LANE_FRONT_END_H_
