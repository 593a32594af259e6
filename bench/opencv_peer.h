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
#include "features/matcher.h"
#include "features/options.h"
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

  // Of the last Run().
  virtual size_t keypoints() const = 0;
  // The last Run()'s keypoints, if they must equal Glint's; empty for a peer with another algorithm.
  virtual std::vector<KeypointKey> comparable() const = 0;
};

// The peer of `options`, on `image`, which must outlive it; `threads` as cv::setNumThreads takes it.
//   score kMaxThreshold: cv::ORB, detect or detectAndCompute.
//   corner_test kEveryPixel: cv::cornerHarris, without Glint's threshold, suppression and list. score kHarris
//   otherwise: at each level (cv::resize) cv::FAST without suppression, then cv::ORB's Harris measure in a plain loop
//   over its corners; less work than oriented_fast, which also suppresses, selects and orients.
// FAILED_PRECONDITION without OpenCV.
absl::StatusOr<std::unique_ptr<DetectorPeer>> MakeOpenCvPeer(const DetectorOptions& options, const ImageView& image,
                                                             int threads);

// One stage of OpenCV's on one picture.
struct StagePeer {
  std::string stage;  // Glint's stage that it is compared with
  std::string name;
  std::function<absl::Status()> run;
  std::function<size_t()> items;  // corners that the last run found or worked on; 0 for stages on pixels
};

// cv::FAST without and with suppression, cv::resize to `next_level`, the blur as cv::ORB calls it, and its Harris
// measure in a plain loop over the suppressed corners. `image` must outlive the result. FAILED_PRECONDITION without
// OpenCV.
absl::StatusOr<std::vector<StagePeer>> MakeOpenCvStagePeers(const ImageView& image, int fast_threshold,
                                                            Shape next_level);

// cv::BFMatcher on two sets of descriptors. Thread-compatible.
class MatchPeer {
 public:
  virtual ~MatchPeer() = default;
  virtual const std::string& name() const = 0;
  virtual absl::Status Run() = 0;
  // Of the last Run().
  virtual MatchResult result() const = 0;
};

// match() for k 1, knnMatch() otherwise, with crossCheck if the options say so. The sets must outlive the peer;
// `threads` as cv::setNumThreads takes it. FAILED_PRECONDITION without OpenCV.
absl::StatusOr<std::unique_ptr<MatchPeer>> MakeOpenCvMatchPeer(const DescriptorView& query, const DescriptorView& train,
                                                               const MatchOptions& options, int threads);

// "4.6.0"; empty without OpenCV.
std::string OpenCvVersion();

}  // namespace glint::bench

#endif  // GLINT_BENCH_OPENCV_PEER_H_
