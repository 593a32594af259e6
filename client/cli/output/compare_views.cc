#include "client/cli/output/compare_views.h"

#include <algorithm>
#include <cmath>
#include <opencv2/calib3d.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/source/text_file.h"
#include "features/status_macros.h"

namespace glint::cli {

absl::StatusOr<Homography> ReadHomography(const std::string& path) {
  GLINT_ASSIGN_OR_RETURN(const auto text, ReadText(path));
  const std::vector<absl::string_view> words = absl::StrSplit(text, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
  Homography h;
  bool good = words.size() == h.size();
  for (size_t i = 0; good && i < h.size(); ++i) good = absl::SimpleAtod(words[i], &h[i]);
  if (!good) return absl::InvalidArgumentError(absl::StrCat(path, ": not a file of nine numbers"));
  return h;
}

absl::StatusOr<Homography> EstimateHomography(const Features& first, const Features& second) {
  std::vector<cv::Point2f> from;
  std::vector<cv::Point2f> to;
  for (const auto& [i, j] : MutualMatches(first, second)) {
    from.emplace_back(first.x[i], first.y[i]);
    to.emplace_back(second.x[j], second.y[j]);
  }
  constexpr size_t kFewest = 12;
  const cv::Mat h = from.size() < kFewest ? cv::Mat() : cv::findHomography(from, to, cv::RANSAC, 3);
  if (h.empty()) return absl::NotFoundError("no homography fits the matches of orb");
  Homography out;
  std::copy(h.begin<double>(), h.end<double>(), out.begin());
  return out;
}

Turned Turn(const cv::Mat& image, double degrees) {
  const double radians = degrees * CV_PI / 180;
  const int width = static_cast<int>(
      std::ceil(std::abs(image.cols * std::cos(radians)) + std::abs(image.rows * std::sin(radians)) - 1e-9));
  const int height = static_cast<int>(
      std::ceil(std::abs(image.cols * std::sin(radians)) + std::abs(image.rows * std::cos(radians)) - 1e-9));
  cv::Mat map = cv::getRotationMatrix2D({(image.cols - 1) / 2.0f, (image.rows - 1) / 2.0f}, -degrees, 1);
  map.at<double>(0, 2) += (width - image.cols) / 2.0;
  map.at<double>(1, 2) += (height - image.rows) / 2.0;
  Turned turned;
  cv::warpAffine(image, turned.image, map, {width, height}, cv::INTER_LINEAR, cv::BORDER_REFLECT_101);
  cv::warpAffine(cv::Mat(image.size(), CV_8U, cv::Scalar(255)), turned.mask, map, {width, height}, cv::INTER_NEAREST,
                 cv::BORDER_CONSTANT, 0);
  turned.from = {map.at<double>(0, 0),
                 map.at<double>(0, 1),
                 map.at<double>(0, 2),
                 map.at<double>(1, 0),
                 map.at<double>(1, 1),
                 map.at<double>(1, 2),
                 0,
                 0,
                 1};
  return turned;
}

}  // namespace glint::cli
