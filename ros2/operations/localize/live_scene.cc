#include "ros2/operations/localize/live_scene.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "decode/decode.h"
#include "decode/jpeg_writer.h"
#include "features/types.h"

namespace glint::ros2 {
namespace {

constexpr size_t kMaxSteps = 4096;
constexpr int kJpegQuality = 80;

std::vector<std::pair<std::string, int64_t>> StagesOf(const client::Timings& t, absl::Duration round_trip) {
  return {{"receive", t.receive_ns},
          {"queue", t.queue_ns},
          {"decode", t.decode_ns},
          {"upload", t.upload_ns},
          {"detect", t.detect_ns},
          {"match", t.match_ns},
          {"locate", t.locate_ns},
          {"download", t.download_ns},
          {"serialize", t.serialize_ns},
          {"order", t.order_ns},
          {"network", std::max<int64_t>(0, absl::ToInt64Nanoseconds(round_trip) - t.total_ns)}};
}

}  // namespace

view::EncodedPicture EncodeForView(const client::ImageInput& image) {
  if (image.kind == client::ImageInput::Kind::kEncoded) return {std::string(image.file)};
  const uint8_t* const data = image.kind == client::ImageInput::Kind::kShared ? image.slot.data() : image.data;
  if (data == nullptr || image.width < 1 || image.height < 1) return {};
  Image gray(image.width, image.height);
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* const row = data + y * image.stride;
    if (image.format == PixelFormat::kBayerRggb8) {
      std::copy_n(row, image.width, gray.row(y));
    } else {
      decode::RowToGray(image.format, row, image.width, gray.row(y));
    }
  }
  return {decode::WriteJpeg(gray.view(), kJpegQuality).value_or("")};
}

void LiveScene::AddStep(const client::Location& location) {
  if (std::exchange(is_level_, location.level) != location.level) path_.clear();
  view::Step step;
  step.x = static_cast<float>(location.pose.position[0]);
  step.z = static_cast<float>(location.pose.position[2]);
  step.keyframe = location.is_keyframe;
  step.pose = {location.pose.rotation, location.pose.position};
  step.state = client::IsLocated(location.status)                     ? view::Step::kLocated
               : location.status == client::LocationStatus::kCoasting ? view::Step::kUncertain
                                                                      : view::Step::kLost;
  path_.push_back(step);
  if (path_.size() < kMaxSteps) return;
  for (size_t i = 0; i < kMaxSteps / 2; ++i) path_[i] = path_[2 * i + 1];
  path_.resize(kMaxSteps / 2);
}

void LiveScene::Show(const client::LocalizeAnswer& answer, const Frame& frame) {
  if (view_ == nullptr) return;
  const client::Location& location = answer.location;
  AddStep(location);
  if (!view_->wanted()) return;
  view::Scene scene;
  scene.name = frame.left.frame_id;
  const auto& p = location.pose.position;
  scene.text =
      absl::StrFormat("%slocated, at %.3f %.3f %.3f m, %d of %d matches agree, %d keyframes, %.1f ms",
                      client::IsLocated(location.status) ? "" : "not ", p[0], p[1], p[2], location.inliers,
                      location.matches, answer.map_keyframes, static_cast<double>(answer.timings.total_ns) * 1e-6);
  scene.path = path_;
  if (client::IsLocated(location.status)) scene.pose = {location.pose.rotation, location.pose.position};
  for (const Warning& warning : location.warnings) scene.warnings.push_back(warning.text);
  scene.stages = StagesOf(answer.timings, answer.round_trip);
  scene.map = std::exchange(map_, nullptr);
  // Now, since the server's memory that a picture lies in is scarce.
  scene.picture = [picture = EncodeForView(frame.left.image)] { return picture; };
  view_->Show(std::move(scene));
}

void LiveScene::SetMap(const view::MapPoints& points) {
  if (wants_map()) map_ = std::make_shared<const view::MapPoints>(points);
}

}  // namespace glint::ros2
