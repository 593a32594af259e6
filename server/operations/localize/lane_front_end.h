// A lane as the front end of slam/: features, stereo and matching, on whatever device the lane has.
#ifndef GLINT_SERVER_OPERATIONS_LOCALIZE_LANE_FRONT_END_H_
#define GLINT_SERVER_OPERATIONS_LOCALIZE_LANE_FRONT_END_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "features/options.h"
#include "features/tracker.h"
#include "lane/lane.h"
#include "slam/front_end/front_end.h"
#include "slam/front_end/pair_rules.h"

namespace glint {

// The results are those of slam::CpuFrontEnd, bit for bit. Not thread-safe: one caller at a time.
class LaneFrontEnd final : public slam::FrontEnd {
 public:
  // `detector` must be valid (ValidateOptions) and have descriptors.
  explicit LaneFrontEnd(const DetectorOptions& detector);

  // `lane` does the work from now on. It may be another one than before, of the same LaneSet. Clears the three below.
  void Begin(Lane* lane);
  // Since Begin(): what Find() and FindOne() took of the lane, in nanoseconds; and what Follow() and Match(), which
  // cannot say so, failed by. Then points were lost, or not matched.
  const StageTimes& stages() const { return stages_; }
  int64_t match_ns() const { return match_ns_; }
  const absl::Status& status() const { return status_; }

  const slam::FeatureKind& kind() const override { return kind_; }
  // Both eyes valid (ValidateImages). Errors of Lane::RunStereo(), of its frames for tracking, and of following.
  absl::Status Find(const ImageView& left, const ImageView& right, slam::StereoFrame* frame) override;
  // Errors of Lane::Run(), and as above.
  absl::Status FindOne(const ImageView& image, slam::StereoFrame* frame) override;
  void SetReferenceFrame() override;
  void Follow(const std::vector<float>& x, const std::vector<float>& y, std::vector<float>* to_x,
              std::vector<float>* to_y, std::vector<uint8_t>* is_followed) override;
  void Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) override;

 private:
  // What the two above have in common: `work` is one of the two below.
  template <typename Work>
  absl::Status Timed(Work work);
  absl::Status FindOnLane(const ImageView& left, const ImageView& right, slam::StereoFrame* frame, StageTimes* times);
  absl::Status FindOneOnLane(const ImageView& image, slam::StereoFrame* frame, StageTimes* times);
  absl::Status MakeFrames(Shape shape);
  absl::Status FollowOnLane(int from, int to, const TrackInput& points);

  const DetectorOptions detector_;
  const slam::FeatureKind kind_;
  const StereoOptions stereo_;
  const TrackOptions track_;
  Lane* lane_ = nullptr;
  StageTimes stages_;
  int64_t match_ns_ = 0;
  absl::Status status_;

  // Left, right and reference image, on the device of the lane that made them; null after an error.
  std::unique_ptr<TrackFrames> frames_;
  Shape shape_;  // theirs
  int left_ = 0, reference_ = 2;
  bool has_reference_ = false;

  StereoFound found_;
  slam::DisparityPatches patches_;
  TrackResult followed_, part_;
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_LOCALIZE_LANE_FRONT_END_H_
