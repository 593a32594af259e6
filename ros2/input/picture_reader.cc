#include "ros2/input/picture_reader.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "decode/decode.h"
#include "features/error.h"
#include "features/limits.h"
#include "features/status_macros.h"
#include "ros/cdr.h"

namespace glint::ros2 {
namespace {

constexpr size_t kLongestFrameId = 1000;  // bytes
constexpr double kMetricUnit = 0.001;     // of what ros::PixelsOf() makes of metres

absl::string_view TextOf(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void CopyRows(const ros::ImagePixels& pixels, uint8_t* to) {
  const auto rows = static_cast<size_t>(pixels.shape.height);
  if (pixels.stride == pixels.row_bytes) {
    std::memcpy(to, pixels.data, rows * pixels.row_bytes);
    return;
  }
  for (size_t y = 0; y < rows; ++y) {
    std::memcpy(to + y * pixels.row_bytes, pixels.data + y * pixels.stride, pixels.row_bytes);
  }
}

}  // namespace

absl::Status CheckHeader(const ros::Header& header, const char* type) {
  const ros::Time& stamp = header.stamp;
  if (stamp.nanosec >= 1'000'000'000) {
    return OutOfRangeError(absl::StrCat(type, ".header.stamp.nanosec"), stamp.nanosec, 0, 999'999'999);
  }
  if (ros::NanosecondsOf(stamp) <= 0) {
    return ContradictionError(absl::StrCat(type, ".header.stamp"),
                              absl::StrCat(stamp.sec, " s, ", stamp.nanosec, " ns: its publisher sets no time"));
  }
  if (header.frame_id.size() > kLongestFrameId) {
    return TooLargeError(absl::StrCat(type, ".header.frame_id"), header.frame_id.size(), kLongestFrameId);
  }
  return absl::OkStatus();
}

absl::Status PictureReader::Read(absl::Span<const uint8_t> cdr, const SampleInfo& info, Picture* picture) {
  picture->received_ns = info.received_ns;
  return kind_ == Kind::kFile ? ReadFile(cdr, picture) : ReadPixels(cdr, picture);
}

absl::Status PictureReader::ReadFile(absl::Span<const uint8_t> cdr, Picture* picture) {
  GLINT_RETURN_IF_ERROR(ros::ReadCdr(cdr, &file_));
  GLINT_RETURN_IF_ERROR(CheckHeader(file_.header, ros::CompressedImage::kName));
  GLINT_ASSIGN_OR_RETURN(const absl::Span<const uint8_t> file, ros::FileOf(file_));
  picture->stamp_ns = ros::NanosecondsOf(file_.header.stamp);
  picture->frame_id = file_.header.frame_id;
  picture->bytes = memory_->Take();
  picture->bytes.assign(file.begin(), file.end());
  picture->image = client::ImageInput::Encoded(TextOf(picture->bytes));
  return absl::OkStatus();
}

absl::Status PictureReader::ReadPixels(absl::Span<const uint8_t> cdr, Picture* picture) {
  const auto use = kind_ == Kind::kDepth ? ros::ImageUse::kDepth : ros::ImageUse::kPicture;
  GLINT_RETURN_IF_ERROR(ros::ReadCdr(cdr, &image_));
  GLINT_RETURN_IF_ERROR(CheckHeader(image_.header, ros::Image::kName));
  if (kind_ == Kind::kDepth && image_.encoding == "32FC1" && depth_unit_ != kMetricUnit) {
    return ContradictionError(absl::StrCat(ros::Image::kName, ".encoding"),
                              absl::StrCat("32FC1 are metres, which become samples of ", kMetricUnit,
                                           " m; camera.depth_unit is ", depth_unit_));
  }
  GLINT_RETURN_IF_ERROR(ros::PixelsOf(image_, use, &pixels_));
  picture->stamp_ns = ros::NanosecondsOf(image_.header.stamp);
  picture->frame_id = image_.header.frame_id;
  const Shape shape = pixels_.shape;
  const auto stride = static_cast<ptrdiff_t>(pixels_.row_bytes);
  const size_t bytes = pixels_.row_bytes * static_cast<size_t>(shape.height);
  if (client::SharedSlot slot = memory_->TakeSlot(bytes); !slot.empty()) {
    CopyRows(pixels_, slot.data());
    picture->image = client::ImageInput::Shared(std::move(slot), pixels_.format, shape.width, shape.height, stride);
    return absl::OkStatus();
  }
  picture->bytes = memory_->Take();
  picture->bytes.resize(bytes);
  CopyRows(pixels_, picture->bytes.data());
  picture->image = client::ImageInput::Raw(pixels_.format, picture->bytes.data(), shape.width, shape.height, stride);
  return absl::OkStatus();
}

absl::StatusOr<Shape> ShapeOf(const Picture& picture) {
  if (picture.image.kind != client::ImageInput::Kind::kEncoded) return Shape{picture.image.width, picture.image.height};
  return decode::Decoder().Inspect(decode::Encoding::kDetect, picture.bytes, kMaxImagePixels);
}

}  // namespace glint::ros2
