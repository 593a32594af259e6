// Messages of ROS, in both forms: refused by the name of a field, or what is written and read again as the same; and
// what images and calibrations among them are taken for. Input: the message's number in the list of all, the form, its
// bytes.
#include "ros/camera_info.h"
#include "ros/cdr.h"
#include "ros/image.h"
#include "tests/fuzz/targets/input.h"
#include "tests/ros/every_message.h"

namespace glint::ros {
namespace {

template <class T>
void Use(const T&) {}

void Use(const Image& image) {
  for (const ImageUse use : {ImageUse::kPicture, ImageUse::kDepth}) {
    ImagePixels pixels;
    const absl::Status status = PixelsOf(image, use, &pixels);
    FUZZ_CHECK(status.ok() || absl::IsInvalidArgument(status));
    if (!status.ok()) continue;
    unsigned sum = 0;
    for (int y = 0; y < pixels.shape.height; ++y) {
      const uint8_t* const row = pixels.data + static_cast<size_t>(y) * pixels.stride;
      for (size_t x = 0; x < pixels.row_bytes; ++x) sum += row[x];
    }
    FUZZ_CHECK(sum <= 255u * image.data.size());  // which reads all
  }
}
void Use(const CompressedImage& image) {
  const auto file = FileOf(image);
  FUZZ_CHECK(file.ok() ? !file->empty() : absl::IsInvalidArgument(file.status()));
}
void Use(const CameraInfo& info) {
  const auto text = CalibrationYaml(info, info.header.frame_id);
  FUZZ_CHECK(text.ok() ? !text->empty() : absl::IsInvalidArgument(text.status()));
}

template <class T>
void Check(absl::Span<const uint8_t> bytes, bool ros1) {
  T message;
  const absl::Status status = ros1 ? ReadRos1(bytes, &message) : ReadCdr(bytes, &message);
  if (!status.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(status) && status.message().substr(0, sizeof(T::kName) - 1) == T::kName);
    return;
  }
  std::vector<uint8_t> written;
  WriteCdr(message, &written);
  T again;
  FUZZ_CHECK(ReadCdr(absl::MakeConstSpan(written), &again).ok());
  FUZZ_CHECK(Printer::Text(message) == Printer::Text(again));
  Use(message);
}

void Run(fuzz::Input input) {
  const auto number = input.Number<uint8_t>();
  const bool ros1 = input.Number<uint8_t>() % 2 == 1;
  const fuzz::Bytes rest = input.Rest();
  const std::vector<uint8_t> bytes(rest.begin(), rest.end());  // of exactly its size
  int at = 0;
  ForEveryMessage([&](const auto& message) {
    if (at++ == number) Check<std::decay_t<decltype(message)>>(bytes, ros1);
  });
}

}  // namespace
}  // namespace glint::ros

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  glint::ros::Run({data, size});
  return 0;
}
