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

}  // namespace glint
