// The peers of a build without OpenCV.
#include "bench/opencv_peer.h"

namespace glint::bench {

absl::StatusOr<std::unique_ptr<DetectorPeer>> MakeOpenCvPeer(const DetectorOptions&, const ImageView&, int) {
  return absl::FailedPreconditionError("--peer opencv: this glint-bench was built without OpenCV");
}

std::string OpenCvVersion() { return ""; }

}  // namespace glint::bench
