#include "server/lane/lane.h"

#include "absl/strings/str_cat.h"

namespace glint {

absl::Status Lane::RunStereo(const DetectorOptions&, const StereoOptions&, const Pixels&, const Pixels&, StereoFound*,
                             StageTimes*) {
  return absl::UnimplementedError(absl::StrCat("stereo pairs: not of lanes on ", device()));
}

absl::Status Lane::Match(const MatchInput&, const MatchOptions&, MatchResult*) {
  return absl::UnimplementedError(absl::StrCat("matching: not of lanes on ", device()));
}

absl::StatusOr<std::unique_ptr<TrackFrames>> Lane::MakeTrackFrames(Shape, const TrackOptions&, int, int) {
  return absl::UnimplementedError(absl::StrCat("tracking: not of lanes on ", device()));
}

absl::StatusOr<ImageView> Lane::SetTrackFrame(TrackFrames*, int, const Pixels&) {
  return absl::UnimplementedError(absl::StrCat("tracking: not of lanes on ", device()));
}

absl::Status Lane::StartFollow(TrackFrames*, int, const TrackInput&, absl::Span<const TrackSegment>,
                               const TrackOptions&, TrackResult*) {
  return absl::UnimplementedError(absl::StrCat("tracking: not of lanes on ", device()));
}

absl::Status Lane::FinishFollow(TrackFrames*, TrackResult*) {
  return absl::UnimplementedError(absl::StrCat("tracking: not of lanes on ", device()));
}

}  // namespace glint
