// The feature extractor of ORB-SLAM2 and ORB-SLAM3 by Glint, with that class's call signature: a SLAM system changes
// the line that names the class, and nothing else.
//
//   using ORBextractor = glint::client::OrbExtractor;   // was: #include "ORBextractor.h"
//
// Keypoints, responses, angles and descriptors are the original's (preset orbslam), but the same on every call: the
// original's quadtree depends on addresses in memory. Their order is Glint's: octave, response descending, y, x.
//
// Detection runs in the calling thread on the CPU backend, or on the Glint server at an address. Errors are thrown as
// cv::Exception, as OpenCV's own: options out of range, images that are not CV_8UC1 or too large, and what a server
// reports.
#ifndef GLINT_CLIENT_OPENCV_ORB_EXTRACTOR_H_
#define GLINT_CLIENT_OPENCV_ORB_EXTRACTOR_H_

#include <memory>
#include <string>
#include <vector>

#include "opencv2/core.hpp"

namespace glint::client {

// Thread-compatible: a system with two cameras has two of them, as with the original. Scratch memory is kept from call
// to call.
class OrbExtractor {
 public:
  // The ranges are those of features/options.h: 1..65536 features, a factor of 1.05..2, 1..12 levels, thresholds of
  // 1..254, the lowest at most the initial one. `server` is "host:port" or "unix:PATH"; empty: detection in process.
  OrbExtractor(int nfeatures, float scaleFactor, int nlevels, int iniThFAST, int minThFAST,
               const std::string& server = "");
  ~OrbExtractor();
  OrbExtractor(const OrbExtractor&) = delete;
  OrbExtractor& operator=(const OrbExtractor&) = delete;

  // ORB-SLAM3's. `image` is CV_8UC1; with an empty one nothing is changed and -1 returned. The original ignores `mask`;
  // here keypoints are kept where it is not 0, unless it is empty. `descriptors` becomes a CV_8U matrix with a row of
  // 32 bytes for each keypoint. Keypoints with vLappingArea[0] <= x <= vLappingArea[1] are put at the end, the first of
  // them last. Returns the number of the others.
  int operator()(cv::InputArray image, cv::InputArray mask, std::vector<cv::KeyPoint>& keypoints,
                 cv::OutputArray descriptors, std::vector<int>& vLappingArea);
  // ORB-SLAM2's: without a lapping area.
  void operator()(cv::InputArray image, cv::InputArray mask, std::vector<cv::KeyPoint>& keypoints,
                  cv::OutputArray descriptors);

  int GetLevels() const { return static_cast<int>(scale_.size()); }
  float GetScaleFactor() const { return scale_factor_; }
  std::vector<float> GetScaleFactors() const { return scale_; }                       // of each level
  std::vector<float> GetInverseScaleFactors() const { return inverse_scale_; }        // 1 / scale
  std::vector<float> GetScaleSigmaSquares() const { return sigma2_; }                 // scale^2
  std::vector<float> GetInverseScaleSigmaSquares() const { return inverse_sigma2_; }  // 1 / scale^2

  // The levels of the last image, which stereo matching in ORB-SLAM reads; without the original's margin of reflected
  // pixels around each. Levels that vanish are empty. Made by OpenCV in a pass of its own.
  std::vector<cv::Mat> mvImagePyramid;

 private:
  struct Impl;

  void Detect(const cv::Mat& image, const cv::Mat& mask);
  void FillPyramid(const cv::Mat& image);

  float scale_factor_;
  std::vector<float> scale_;
  std::vector<float> inverse_scale_;
  std::vector<float> sigma2_;
  std::vector<float> inverse_sigma2_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_OPENCV_ORB_EXTRACTOR_H_
