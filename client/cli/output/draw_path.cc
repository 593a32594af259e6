#include "client/cli/output/draw_path.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "absl/strings/str_format.h"

namespace glint::cli {
namespace {

constexpr int kSmallest = 160;  // side of the map, pixels
constexpr int kMargin = 12;
constexpr double kLeastExtent = 1;  // metres that the map shows

cv::Scalar ColourOf(client::LocationStatus status) {
  if (client::IsLocated(status)) return {80, 220, 80};
  if (status == client::LocationStatus::kCoasting) return {0, 165, 255};
  return {60, 60, 255};
}

}  // namespace

double RoundLength(double length) {
  const double power = std::pow(10, std::floor(std::log10(length)));
  for (const double factor : {5, 2}) {
    if (factor * power <= length) return factor * power;
  }
  return power;
}

void PathPicture::Add(const client::Location& found) {
  const client::PlaceFromAbove at = client::FromAbove(found);
  if (!steps_.empty() && steps_.back().at.level != at.level) steps_.clear();
  steps_.push_back({at, found.status, found.is_keyframe});
}

cv::Mat PathPicture::Draw(const cv::Mat& picture) const {
  const int side = std::max(picture.rows, kSmallest);
  cv::Mat all(side, picture.cols + side, CV_8UC3, cv::Scalar(32, 32, 32));
  picture.copyTo(all(cv::Rect(0, 0, picture.cols, picture.rows)));
  if (steps_.empty()) return all;
  double low_x = steps_[0].at.right, high_x = low_x, low_z = steps_[0].at.ahead, high_z = low_z;
  for (const Step& step : steps_) {
    low_x = std::min(low_x, step.at.right);
    high_x = std::max(high_x, step.at.right);
    low_z = std::min(low_z, step.at.ahead);
    high_z = std::max(high_z, step.at.ahead);
  }
  const double extent = std::max({high_x - low_x, high_z - low_z, kLeastExtent});
  const double scale = (side - 2 * kMargin) / extent;
  cv::Mat map = all(cv::Rect(picture.cols, 0, side, side));
  const auto at = [&](const Step& step) {
    return cv::Point(cvRound(side / 2.0 + (step.at.right - (low_x + high_x) / 2) * scale),
                     cvRound(side / 2.0 - (step.at.ahead - (low_z + high_z) / 2) * scale));
  };
  for (size_t i = 0; i < steps_.size(); ++i) {
    const cv::Scalar colour = ColourOf(steps_[i].status);
    if (i > 0) cv::line(map, at(steps_[i - 1]), at(steps_[i]), colour, 1, cv::LINE_AA);
    if (steps_[i].keyframe) cv::circle(map, at(steps_[i]), 2, colour, cv::FILLED);
  }
  cv::circle(map, at(steps_.back()), 5, {255, 255, 255}, 1, cv::LINE_AA);
  const double bar = RoundLength(extent / 2);
  const cv::Point corner(kMargin, side - kMargin);
  cv::line(map, corner, corner + cv::Point(cvRound(bar * scale), 0), {200, 200, 200}, 2);
  cv::putText(map, absl::StrFormat("%g m", bar), corner - cv::Point(0, 5), cv::FONT_HERSHEY_SIMPLEX, 0.4,
              {200, 200, 200}, 1, cv::LINE_AA);
  return all;
}

}  // namespace glint::cli
