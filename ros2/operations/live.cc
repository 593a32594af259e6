#include "ros2/operations/live.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "client/scenes/path_trace.h"
#include "decode/decode.h"
#include "decode/jpeg_writer.h"
#include "features/types.h"

namespace glint::ros2 {
namespace {

constexpr int kJpegQuality = 80;

std::vector<view::Mark> MarksOf(const Features& f) {
  std::vector<view::Mark> marks;
  marks.reserve(f.count());
  for (size_t i = 0; i < f.count(); ++i) {
    marks.push_back({{f.x[i], f.y[i]}, f.size[i], f.angle[i], static_cast<uint8_t>(f.octave[i])});
  }
  return marks;
}

}  // namespace

void Live::ShowPose(int64_t stamp_ns, view::Scene scene) {
  if (!has_keypoints_) return view_.Show(std::move(scene));
  const absl::MutexLock lock(&mutex_);
  if (marks_ns_ == stamp_ns) {
    scene.marks = std::move(marks_);
    marks_ns_ = scene_ns_ = 0;
    return view_.Show(std::move(scene));
  }
  if (scene_ns_ != 0) view_.Show(std::move(scene_));  // whose keypoints did not come
  scene_ = std::move(scene);
  scene_ns_ = stamp_ns;
}

void Live::ShowKeypoints(const client::Detection& found, const Frame& frame) {
  std::vector<view::Mark> marks = MarksOf(found.features);
  if (has_poses_) {
    const absl::MutexLock lock(&mutex_);
    if (scene_ns_ == frame.left.stamp_ns) {
      scene_.marks = std::move(marks);
      marks_ns_ = scene_ns_ = 0;
      view_.Show(std::move(scene_));
    } else {
      marks_ = std::move(marks);
      marks_ns_ = frame.left.stamp_ns;
    }
    return;
  }
  view::Scene scene;
  scene.name = frame.left.frame_id;
  scene.text =
      absl::StrFormat("%d keypoints, %.1f ms", marks.size(), static_cast<double>(found.timings.total_ns) * 1e-6);
  scene.marks = std::move(marks);
  scene.stages = client::StagesOf(found.timings, found.round_trip, {});
  scene.picture = PictureOf(frame.left.image);
  view_.Show(std::move(scene));
}

std::function<view::EncodedPicture()> PictureOf(const client::ImageInput& image) {
  if (image.kind == client::ImageInput::Kind::kEncoded) {
    return [file = std::string(image.file)] { return view::EncodedPicture{file}; };
  }
  const uint8_t* const data = image.kind == client::ImageInput::Kind::kShared ? image.slot.data() : image.data;
  if (data == nullptr || image.width < 1 || image.height < 1) return [] { return view::EncodedPicture(); };
  const auto gray = std::make_shared<Image>(image.width, image.height);
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* const row = data + y * image.stride;
    if (image.format == PixelFormat::kBayerRggb8) {
      std::copy_n(row, image.width, gray->row(y));
    } else {
      decode::RowToGray(image.format, row, image.width, gray->row(y));
    }
  }
  return [gray] { return view::EncodedPicture{decode::WriteJpeg(gray->view(), kJpegQuality).value_or("")}; };
}

}  // namespace glint::ros2
