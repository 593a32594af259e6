#include "client/cli/output/draw_tracks.h"

#include <algorithm>
#include <opencv2/imgproc.hpp>

namespace glint::cli {
namespace {

// Of ages 0..kOldest.
cv::Mat AgeColors() {
  cv::Mat ramp(1, static_cast<int>(Trails::kOldest) + 1, CV_8U), colors;
  for (int i = 0; i < ramp.cols; ++i) ramp.at<uint8_t>(0, i) = static_cast<uint8_t>(40 + 200 * i / (ramp.cols - 1));
  cv::applyColorMap(ramp, colors, cv::COLORMAP_TURBO);
  return colors;
}

cv::Point At(const cv::Point2f& point) { return {cvRound(point.x), cvRound(point.y)}; }

}  // namespace

void Trails::Add(const client::TrackArrays& tracks) {
  std::map<uint64_t, Trail>& trails = cameras_[tracks.camera];
  for (size_t i = 0; i < tracks.count(); ++i) {
    if (tracks.state[i] != client::TrackState::kTracked) {
      trails.erase(tracks.id[i]);
      continue;
    }
    Trail& trail = trails[tracks.id[i]];
    trail.age = tracks.age[i];
    trail.points.emplace_back(tracks.x[i], tracks.y[i]);
    if (trail.points.size() > kMaxLength) trail.points.pop_front();
  }
}

const std::map<uint64_t, Trails::Trail>& Trails::of(int camera) const {
  static const auto* const kNone = new std::map<uint64_t, Trail>;
  const auto found = cameras_.find(camera);
  return found == cameras_.end() ? *kNone : found->second;
}

void Trails::Draw(int camera, cv::Mat* canvas) const {
  const cv::Mat colors = AgeColors();
  const int line = std::max(1, canvas->cols / 1280);
  for (const auto& [id, trail] : of(camera)) {
    const cv::Scalar color(colors.at<cv::Vec3b>(0, static_cast<int>(std::min(trail.age, kOldest))));
    for (size_t i = 1; i < trail.points.size(); ++i) {
      cv::line(*canvas, At(trail.points[i - 1]), At(trail.points[i]), color, line, cv::LINE_AA);
    }
    cv::circle(*canvas, At(trail.points.back()), 2 * line, color, cv::FILLED, cv::LINE_AA);
  }
}

}  // namespace glint::cli
