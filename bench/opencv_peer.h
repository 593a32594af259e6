// OpenCV's detectors and stages as peers in the same rounds. Without OpenCV the functions return FAILED_PRECONDITION.
#ifndef GLINT_BENCH_OPENCV_PEER_H_
#define GLINT_BENCH_OPENCV_PEER_H_

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/camera/remap_table.h"
#include "features/matcher.h"
#include "features/options.h"
#include "features/tracker.h"
#include "features/types.h"

namespace glint::bench {

// A keypoint for comparison as a set: octave, response, y, x.
using KeypointKey = std::tuple<int, float, float, float>;

// One detector of OpenCV on one image. Thread-compatible.
class DetectorPeer {
 public:
  virtual ~DetectorPeer() = default;
  virtual const std::string& name() const = 0;
  virtual absl::Status Run() = 0;

  // Results of the last Run().
  virtual size_t keypoints() const = 0;
  // The last Run()'s keypoints, if they should be Glint's; empty if this peer does other work.
  virtual std::vector<KeypointKey> comparable() const = 0;
};

// The peer of `options`, on `image`, which must live on; `threads` as cv::setNumThreads takes it.
//   score kMaxThreshold: cv::ORB, detect or detectAndCompute; for selection kQuadtree, which finds other keypoints,
//   with FAST's scores and the same border. corner_test kEveryPixel: cv::cornerHarris, without the threshold, the
//   suppression and the list that Glint goes on to. score kHarris otherwise: at each level (cv::resize) cv::FAST
//   without suppression, then cv::ORB's Harris measure in a plain loop over its corners; less than oriented_fast does,
//   which goes on to suppress, select and orient.
// FAILED_PRECONDITION without OpenCV.
absl::StatusOr<std::unique_ptr<DetectorPeer>> MakeOpenCvPeer(const DetectorOptions& options, const ImageView& image,
                                                             int threads);

// One stage of OpenCV's on one picture.
struct StagePeer {
  std::string stage;  // the name of the stage of Glint's that it stands beside
  std::string name;
  std::function<absl::Status()> run;
  std::function<size_t()> items;  // corners that the last run found or worked on; 0 for stages on pixels
};

// cv::FAST without and with suppression, cv::resize to `next_level`, the blur as cv::ORB calls it, its Harris measure
// in a plain loop over the suppressed corners, and cv::remap with the maps that `lens` is. `image` must live on.
// FAILED_PRECONDITION without OpenCV.
absl::StatusOr<std::vector<StagePeer>> MakeOpenCvStagePeers(const ImageView& image, int fast_threshold,
                                                            Shape next_level, const RemapTable& lens);

// cv::BFMatcher on two sets of descriptors. Thread-compatible.
class MatchPeer {
 public:
  virtual ~MatchPeer() = default;
  virtual const std::string& name() const = 0;
  virtual absl::Status Run() = 0;
  // Results of the last Run().
  virtual MatchResult result() const = 0;
};

// match() for k 1, knnMatch() otherwise, with crossCheck if the options say so. The sets must live on; `threads` as
// cv::setNumThreads takes it. FAILED_PRECONDITION without OpenCV.
absl::StatusOr<std::unique_ptr<MatchPeer>> MakeOpenCvMatchPeer(const DescriptorView& query, const DescriptorView& train,
                                                               const MatchOptions& options, int threads);

// cv::calcOpticalFlowPyrLK on one pair of images. Thread-compatible.
class TrackPeer {
 public:
  virtual ~TrackPeer() = default;
  virtual const std::string& name() const = 0;
  // Tracks from images and builds their pyramids.
  virtual absl::Status Run() = 0;
  // Tracks from prebuilt pyramids with derivatives.
  virtual absl::Status RunWithPyramids() = 0;
  // Points of the last run.
  virtual int tracked() const = 0;
};

// Tracker with the levels, patch_size (on all levels), iterations, epsilon and min_eigenvalue of `options`. The images
// must outlive it; `threads` as in cv::setNumThreads. FAILED_PRECONDITION without OpenCV.
absl::StatusOr<std::unique_ptr<TrackPeer>> MakeOpenCvTrackPeer(const ImageView& from, const ImageView& to,
                                                               const TrackInput& input, const TrackOptions& options,
                                                               int threads);

// "4.6.0"; empty without OpenCV.
std::string OpenCvVersion();

}  // namespace glint::bench

#endif  // GLINT_BENCH_OPENCV_PEER_H_
