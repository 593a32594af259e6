// The peers of a build without OpenCV.
#include "bench/opencv_peer.h"

namespace glint::bench {
namespace {

absl::Status BuiltWithout() {
  return absl::FailedPreconditionError("--peer opencv: this glint-microbench was built without OpenCV");
}

}  // namespace

absl::StatusOr<std::unique_ptr<DetectorPeer>> MakeOpenCvPeer(const DetectorOptions&, const ImageView&, int) {
  return BuiltWithout();
}

absl::StatusOr<std::vector<StagePeer>> MakeOpenCvStagePeers(const ImageView&, int, Shape, const RemapTable&) {
  return BuiltWithout();
}

absl::StatusOr<std::unique_ptr<MatchPeer>> MakeOpenCvMatchPeer(const DescriptorView&, const DescriptorView&,
                                                               const MatchOptions&, int) {
  return BuiltWithout();
}

absl::StatusOr<std::unique_ptr<TrackPeer>> MakeOpenCvTrackPeer(const ImageView&, const ImageView&, const TrackInput&,
                                                               const TrackOptions&, int) {
  return BuiltWithout();
}

std::string OpenCvVersion() { return ""; }

}  // namespace glint::bench
