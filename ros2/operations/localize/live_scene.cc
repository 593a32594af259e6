#include "ros2/operations/localize/live_scene.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "decode/decode.h"
#include "decode/jpeg_writer.h"
#include "features/types.h"

namespace glint::ros2 {
namespace {

constexpr int kJpegQuality = 80;

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

void LiveScene::Show(const client::LocalizeAnswer& answer, const Frame& frame) {
  if (view_ == nullptr) return;
  const client::Location& location = answer.location;
  path_.Add(location);
  if (!view_->wanted()) return;
  view::Scene scene;
  scene.name = frame.left.frame_id;
  const auto& p = location.pose.position;
  scene.text =
      absl::StrFormat("%slocated, at %.3f %.3f %.3f m, %d of %d matches agree, %d keyframes, %.1f ms",
                      client::IsLocated(location.status) ? "" : "not ", p[0], p[1], p[2], location.inliers,
                      location.matches, answer.map_keyframes, static_cast<double>(answer.timings.total_ns) * 1e-6);
  scene.path = path_.steps();
  if (client::IsLocated(location.status)) scene.pose = {location.pose.rotation, location.pose.position};
  for (const Warning& warning : location.warnings) scene.warnings.push_back(warning.text);
  scene.stages = client::StagesOf(answer.timings, answer.round_trip, {{"locate", answer.timings.locate_ns}});
  scene.map = std::exchange(map_, nullptr);
  // Now, since the server's memory that a picture lies in is scarce.
  scene.picture = [picture = EncodeForView(frame.left.image)] { return picture; };
  view_->Show(std::move(scene));
}

}  // namespace glint::ros2
