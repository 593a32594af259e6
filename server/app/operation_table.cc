#include "server/operations/detect/detect.h"
#include "server/operations/localize/localize.h"
#include "server/operations/match/match.h"
#include "server/operations/operation.h"
#include "server/operations/stereo/stereo.h"
#include "server/operations/track/track.h"

namespace glint {

absl::Span<const OperationMethod> OperationMethods() {
  static constexpr OperationMethod kMethods[] = {
      {"glint.v1.FeatureDetection", "Detect", "glint.v1.DetectRequest", true, MakeDetect},
      {"glint.v1.FeatureDetection", "DetectStream", "glint.v1.DetectStreamRequest", false, MakeDetectStream},
      {"glint.v1.FeatureMatching", "Match", "glint.v1.MatchRequest", true, MakeMatch},
      {"glint.v1.FeatureMatching", "MatchStream", "glint.v1.MatchStreamRequest", false, MakeMatchStream},
      {"glint.v1.FeatureMatching", "StereoStream", "glint.v1.StereoStreamRequest", false, MakeStereoStream},
      {"glint.v1.FeatureTracking", "TrackStream", "glint.v1.TrackStreamRequest", false, MakeTrackStream},
      {"glint.v1.Localization", "LocalizeStream", "glint.v1.LocalizeStreamRequest", false, MakeLocalizeStream},
  };
  return kMethods;
}

}  // namespace glint
