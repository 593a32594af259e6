// One side of glint compare: a detector with its options and what runs it.
#ifndef GLINT_CLIENT_CLI_COMPARE_COMPARE_CONTENDER_H_
#define GLINT_CLIENT_CLI_COMPARE_COMPARE_CONTENDER_H_

#include <memory>
#include <opencv2/core.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::cli {

// What a detector finds in an image, and the time that it took.
struct Found {
  Features features;
  double microseconds = 0;
};

class Contender {
 public:
  virtual ~Contender() = default;

  // Both 8-bit grey; `mask` is empty or of the image's size, keypoints lie where it is not 0. Features come in Glint's
  // order (features/options.h).
  virtual absl::StatusOr<Found> Detect(const cv::Mat& image, const cv::Mat& mask) const = 0;
};

// DETECTOR[:OPTION=VALUE,...][@SERVER]. SERVER is "cpu" (the default) or "cuda", for a server inside this process,
// "opencv", for cv::ORB in this process, or an address. INVALID_ARGUMENT begins with `spec` in quotes.
absl::StatusOr<std::unique_ptr<Contender>> OpenContender(const std::string& spec);

// cv::ORB of the OpenCV that this program runs with, on one thread. INVALID_ARGUMENT names the first option that
// cv::ORB does not have.
absl::StatusOr<std::unique_ptr<Contender>> OpenOpenCv(const DetectorOptions& options);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_COMPARE_COMPARE_CONTENDER_H_
