#include "client/cli/output/scenes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace glint::cli {
namespace {

// A file up to this size goes to the browser as it is; other pictures become JPEG, and at most so wide.
constexpr size_t kMaxFile = 2 << 20;
constexpr int kMaxWidth = 1920;
constexpr int kJpegQuality = 80;
constexpr size_t kMetadata = 64 << 10;

double Milliseconds(int64_t ns) { return static_cast<double>(ns) * 1e-6; }

// Browsers turn such pictures by what their metadata say; the server does not.
bool MayBeTurned(const std::string& file) {
  const absl::string_view head = absl::string_view(file).substr(0, kMetadata);
  return head.find("Exif") != absl::string_view::npos || head.find("eXIf") != absl::string_view::npos;
}

view::EncodedPicture Encode(const cv::Mat& canvas) {
  view::EncodedPicture encoded;
  if (canvas.empty()) return encoded;
  encoded.width = canvas.cols;
  encoded.height = canvas.rows;
  cv::Mat shown = canvas;
  if (canvas.cols > kMaxWidth) {
    const double scale = static_cast<double>(kMaxWidth) / canvas.cols;
    cv::resize(canvas, shown, {}, scale, scale, cv::INTER_AREA);
    encoded.scale = static_cast<double>(shown.cols) / canvas.cols;
  }
  std::vector<uchar> bytes;
  cv::imencode(".jpg", shown, bytes, {cv::IMWRITE_JPEG_QUALITY, kJpegQuality});
  encoded.file.assign(bytes.begin(), bytes.end());
  return encoded;
}

view::EncodedPicture EncodeWhole(const Picture& picture) {
  const bool as_it_is = !picture.raw.has_value() && !picture.file.empty() && picture.file.size() <= kMaxFile;
  if (as_it_is && !MayBeTurned(picture.file)) return {picture.file};
  return Encode(picture.Canvas());
}

// The left image.
view::EncodedPicture EncodeLeft(const PicturePair& pair) {
  if (pair.second != nullptr) return EncodeWhole(*pair.first);
  const cv::Mat both = pair.first->Canvas();
  return both.empty() ? view::EncodedPicture() : Encode(both.colRange(0, both.cols / 2));
}

view::EncodedPicture EncodeSideBySide(const std::vector<Picture>& pictures) {
  if (pictures.size() == 1) return EncodeWhole(pictures[0]);
  std::vector<cv::Mat> drawn;
  cv::Size size;
  for (const Picture& picture : pictures) {
    drawn.push_back(picture.Canvas());
    size.width += drawn.back().cols;
    size.height = std::max(size.height, drawn.back().rows);
  }
  cv::Mat all(size, CV_8UC3, cv::Scalar(32, 32, 32));
  int x = 0;
  for (const cv::Mat& canvas : drawn) {
    canvas.copyTo(all(cv::Rect(x, 0, canvas.cols, canvas.rows)));
    x += canvas.cols;
  }
  return Encode(all);
}

int WidthOf(const Picture& picture) {
  if (picture.raw.has_value()) return picture.raw->shape.width;
  return picture.file.empty() ? picture.pixels.cols : picture.Canvas().cols;
}

uint8_t Ramp(float value, float low, float high) {
  const float share = high > low ? (value - low) / (high - low) : 0;
  return static_cast<uint8_t>(std::lround(255 * std::clamp(share, 0.0f, 1.0f)));
}

}  // namespace

view::Scene KeypointScene(const SharedPicture& picture, const client::Detection& detection) {
  view::Scene scene;
  const Features& f = detection.features;
  const client::Timings& t = detection.timings;
  scene.name = picture->name;
  scene.text = absl::StrFormat("%d keypoints%s, %.3f ms on %s", f.count(), f.truncated ? " (truncated)" : "",
                               Milliseconds(t.total_ns), t.device);
  scene.picture = [picture] { return EncodeWhole(*picture); };
  scene.marks.reserve(f.count());
  for (size_t i = 0; i < f.count(); ++i) {
    scene.marks.push_back({{f.x[i], f.y[i]}, f.size[i], f.angle[i], static_cast<uint8_t>(f.octave[i])});
  }
  scene.stages = client::StagesOf(t, detection.round_trip, {});
  return scene;
}

view::Scene TrackScene(const std::vector<Picture>& pictures, const client::TrackAnswer& answer, const Trails& trails,
                       const std::string& text) {
  view::Scene scene;
  scene.name = pictures[0].name;
  scene.text = text;
  scene.picture = [pictures] { return EncodeSideBySide(pictures); };
  scene.palette = view::Palette::kRamp;
  scene.scale_low = "new";
  scene.scale_high = absl::StrFormat("%d frames and more", Trails::kOldest);
  float left = 0;
  for (size_t camera = 0; camera < pictures.size(); ++camera) {
    for (const auto& [id, trail] : trails.of(static_cast<int>(camera))) {
      view::Trail shown;
      shown.color = Ramp(static_cast<float>(trail.age), 0, static_cast<float>(Trails::kOldest));
      for (const cv::Point2f& point : trail.points) shown.points.push_back({left + point.x, point.y});
      scene.trails.push_back(std::move(shown));
    }
    if (camera + 1 < pictures.size()) left += static_cast<float>(WidthOf(pictures[camera]));
  }
  scene.stages = client::StagesOf(answer.timings, answer.round_trip, {{"track", answer.timings.track_ns}});
  return scene;
}

view::Scene StereoScene(const PicturePair& pair, const client::StereoAnswer& answer) {
  view::Scene scene;
  scene.name = pair.first->name;
  scene.text = absl::StrFormat("%d and %d keypoints, %d matches, %.3f ms", answer.left.count(), answer.right_keypoints,
                               answer.disparity.size(), Milliseconds(answer.timings.total_ns));
  scene.picture = [pair] { return EncodeLeft(pair); };
  scene.palette = view::Palette::kRamp;
  if (!answer.disparity.empty()) {
    const auto [least, most] = std::minmax_element(answer.disparity.begin(), answer.disparity.end());
    scene.scale_low = absl::StrFormat("disparity %.1f px", *least);
    scene.scale_high = absl::StrFormat("%.1f px", *most);
    for (size_t i = 0; i < answer.disparity.size(); ++i) {
      const size_t at = answer.left_index[i];
      scene.marks.push_back({{answer.left.x[at], answer.left.y[at]}, 0, -1, Ramp(answer.disparity[i], *least, *most)});
    }
  }
  scene.stages = client::StagesOf(answer.timings, answer.round_trip, {{"match", answer.timings.match_ns}});
  return scene;
}

view::Scene PathScene(const PicturePair& pair, const client::LocalizeAnswer& answer, const client::PathTrace& path,
                      const std::string& text) {
  view::Scene scene;
  scene.name = pair.first->name;
  scene.text = text;
  scene.picture = [pair] { return EncodeLeft(pair); };
  scene.path = path.steps();
  const client::Location& found = answer.location;
  if (client::IsLocated(found.status)) scene.pose = {found.pose.rotation, found.pose.position};
  for (const Warning& warning : found.warnings) scene.warnings.push_back(warning.text);
  if (const auto& imu = found.inertial; imu.has_value()) {
    const bool is_ready = imu->status == client::InertialStatus::kReady;
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    const std::array<double, 3> none = {kNone, kNone, kNone};
    scene.strips = {{"gyroscope bias, rad/s", is_ready ? imu->gyroscope_bias : none},
                    {"accelerometer bias, m/s^2", is_ready ? imu->accelerometer_bias : none}};
  }
  scene.stages = client::StagesOf(answer.timings, answer.round_trip, {{"locate", answer.timings.locate_ns}});
  return scene;
}

}  // namespace glint::cli
