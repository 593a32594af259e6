#include "client/cli/output/draw_pairs.h"

#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <string>

#include "absl/strings/str_format.h"

namespace glint::cli {
namespace {

constexpr int kScaleWidth = 90;  // of the scale of disparities, with its numbers
constexpr int kBarWidth = 16;
const cv::Scalar kGood(80, 220, 60), kBad(60, 60, 255), kBackground(32, 32, 32), kText(230, 230, 230);

cv::Point At(float x, float y) { return {cvRound(x), cvRound(y)}; }

// The colours of 0..255, from blue to red.
cv::Mat Colors() {
  cv::Mat ramp(1, 256, CV_8U), colors;
  for (int i = 0; i < 256; ++i) ramp.at<uint8_t>(0, i) = static_cast<uint8_t>(i);
  cv::applyColorMap(ramp, colors, cv::COLORMAP_TURBO);
  return colors;
}

}  // namespace

cv::Mat DrawMatches(const cv::Mat& first, const cv::Mat& second, const client::MatchFound& found,
                    const std::vector<uint8_t>& good) {
  cv::Mat canvas(std::max(first.rows, second.rows), first.cols + second.cols, CV_8UC3, kBackground);
  first.copyTo(canvas(cv::Rect(0, 0, first.cols, first.rows)));
  second.copyTo(canvas(cv::Rect(first.cols, 0, second.cols, second.rows)));
  const MatchResult& m = found.matches;
  for (size_t q = 0; q < static_cast<size_t>(m.queries); ++q) {
    const int32_t train = m.index[q * static_cast<size_t>(m.k)];
    if (train == kNoMatch) continue;
    const size_t t = static_cast<size_t>(train);
    const cv::Scalar& color = good.empty() || good[q] != 0 ? kGood : kBad;
    const cv::Point from = At(found.query.x[q], found.query.y[q]);
    const cv::Point to = At(found.train.x[t] + static_cast<float>(first.cols), found.train.y[t]);
    cv::circle(canvas, from, 3, color, 1, cv::LINE_AA);
    cv::circle(canvas, to, 3, color, 1, cv::LINE_AA);
    cv::line(canvas, from, to, color, 1, cv::LINE_AA);
  }
  return canvas;
}

cv::Mat DrawDisparities(const cv::Mat& left, const client::StereoAnswer& answer) {
  cv::Mat canvas(left.rows, left.cols + kScaleWidth, CV_8UC3, kBackground);
  left.copyTo(canvas(cv::Rect(0, 0, left.cols, left.rows)));
  if (answer.disparity.empty()) return canvas;
  const auto ends = std::minmax_element(answer.disparity.begin(), answer.disparity.end());
  const float least = *ends.first, most = *ends.second;
  const float range = std::max(most - least, 1e-6f);
  const cv::Mat colors = Colors();
  const auto color_of = [&](float disparity) {
    return cv::Scalar(colors.at<cv::Vec3b>(0, std::clamp(cvRound(255 * (disparity - least) / range), 0, 255)));
  };
  for (size_t i = 0; i < answer.disparity.size(); ++i) {
    const size_t at = answer.left_index[i];
    cv::circle(canvas, At(answer.left.x[at], answer.left.y[at]), 3, color_of(answer.disparity[i]), cv::FILLED,
               cv::LINE_AA);
  }
  for (int y = 0; y < canvas.rows; ++y) {
    const float share = canvas.rows > 1 ? static_cast<float>(y) / static_cast<float>(canvas.rows - 1) : 0;
    cv::line(canvas, {left.cols + 4, y}, {left.cols + 4 + kBarWidth, y}, color_of(most - share * range));
  }
  const auto label = [&](float disparity, int y) {
    cv::putText(canvas, absl::StrFormat("%.1f px", disparity), {left.cols + kBarWidth + 8, y}, cv::FONT_HERSHEY_SIMPLEX,
                0.35, kText, 1, cv::LINE_AA);
  };
  label(most, 12);
  label((most + least) / 2, canvas.rows / 2);
  label(least, canvas.rows - 4);
  return canvas;
}

}  // namespace glint::cli
