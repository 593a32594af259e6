#include "tests/soak/frames.h"

#include <algorithm>

#include "tests/decode/files.h"

namespace glint::soak {
namespace {

using testing::Random;

// Squares and noise, so that there is something to find.
void FillPixels(size_t row_bytes, Random* random, std::string* pixels) {
  const int square = random->Uniform(6, 24), shift = random->Uniform(0, 255);
  for (size_t i = 0; i < pixels->size(); ++i) {
    const size_t x = i % row_bytes, y = i / row_bytes;
    (*pixels)[i] = static_cast<char>((x / static_cast<size_t>(square) + y / static_cast<size_t>(square)) % 2 * 120 +
                                     static_cast<size_t>(shift) % 100 + (x * 7 + y * 13) % 23);
  }
}

struct Layout {
  v1::PixelFormat format;
  int bytes;
};
constexpr Layout kLayouts[] = {{v1::PIXEL_FORMAT_GRAY8, 1},  {v1::PIXEL_FORMAT_GRAY8, 1},
                               {v1::PIXEL_FORMAT_BGR8, 3},   {v1::PIXEL_FORMAT_RGBA8, 4},
                               {v1::PIXEL_FORMAT_NV12, 1},   {v1::PIXEL_FORMAT_YUYV, 2},
                               {v1::PIXEL_FORMAT_GRAY16, 2}, {v1::PIXEL_FORMAT_BAYER_RGGB8, 1}};
constexpr int kShapes[][2] = {{2, 2}, {16, 8}, {64, 48}, {320, 240}, {640, 480}, {752, 480}, {640, 360}, {1280, 720}};

void SetRaw(Layout layout, int width, int height, Random* random, v1::RawImage* raw) {
  raw->set_format(layout.format);
  raw->set_width(static_cast<uint32_t>(width));
  raw->set_height(static_cast<uint32_t>(height));
  const size_t row = static_cast<size_t>(width * layout.bytes);
  const size_t stride = row + static_cast<size_t>(random->OneIn(4) ? random->Uniform(1, 64) : 0);
  raw->set_stride(stride == row ? 0 : static_cast<uint32_t>(stride));
  const size_t rows = static_cast<size_t>(layout.format == v1::PIXEL_FORMAT_NV12 ? height * 3 / 2 : height);
  raw->mutable_data()->resize(stride * rows);
  FillPixels(stride, random, raw->mutable_data());
}

}  // namespace

Files::Files() {
  uint32_t seed = 1;
  for (const auto& shape : {kShapes[2], kShapes[4]}) {
    for (const int colour_type : {0, 2}) {
      decode::testing::PngSpec png;
      png.width = shape[0];
      png.height = shape[1];
      png.colour_type = colour_type;
      const decode::testing::Bytes file = decode::testing::WritePng(png, ++seed);
      files_.emplace_back(file.begin(), file.end());
    }
    const decode::testing::Bytes file = decode::testing::WriteJpegWithScans(shape[0], shape[1], 1);
    files_.emplace_back(file.begin(), file.end());
  }
}

void GoodImage(const Files& files, Random* random, v1::Image* image) {
  if (random->OneIn(6)) {
    image->mutable_encoded()->set_data(files.Any(random));
    return;
  }
  const auto& shape = kShapes[random->Uniform(0, 7)];
  SetRaw(kLayouts[random->Uniform(0, 7)], shape[0], shape[1], random, image->mutable_raw());
}

void AnyRegion(Random* random, v1::DetectFrame* frame) {
  if (!frame->image().has_raw()) return;
  const int width = static_cast<int>(frame->image().raw().width());
  const int height = static_cast<int>(frame->image().raw().height());
  v1::ImageRegion* const region = frame->mutable_region();
  const int x = random->Uniform(0, width - 1), y = random->Uniform(0, height - 1);
  region->set_x(static_cast<uint32_t>(x));
  region->set_y(static_cast<uint32_t>(y));
  region->set_width(static_cast<uint32_t>(random->Uniform(1, width - x)));
  region->set_height(static_cast<uint32_t>(random->Uniform(1, height - y)));
}

void Spoil(Random* random, v1::DetectFrame* frame) {
  v1::Image* const image = frame->mutable_image();
  const int kind = random->Uniform(0, 5);
  if (kind == 0) {
    image->Clear();
    return;
  }
  if (kind == 1) {  // an image of one shape and a mask of another
    SetRaw(kLayouts[0], 64, 48, random, image->mutable_raw());
    SetRaw(kLayouts[0], 63, 48, random, frame->mutable_mask()->mutable_raw());
    return;
  }
  if (image->has_encoded()) {
    std::string* const file = image->mutable_encoded()->mutable_data();
    file->resize(file->size() * static_cast<size_t>(random->Uniform(0, 90)) / 100);
    return;
  }
  v1::RawImage* const raw = image->mutable_raw();
  switch (kind) {
    case 2:
      raw->mutable_data()->push_back('x');
      break;
    case 3:
      raw->set_format(static_cast<v1::PixelFormat>(random->OneIn(2) ? 0 : 77));
      break;
    case 4:
      raw->set_width(random->OneIn(2) ? 0 : 1u << 20);
      break;
    default:
      raw->set_stride(1u << 31);
  }
}

v1::DetectStreamOptions AnyOptions(Random* random) {
  v1::DetectStreamOptions options;
  v1::DetectorOptions* const detector = options.mutable_detector();
  if (random->OneIn(3)) detector->set_preset("oriented_fast");
  detector->set_levels(random->Uniform(1, 8));
  detector->set_max_features(random->Uniform(10, 1500));
  detector->set_fast_threshold(random->Uniform(5, 60));
  if (random->OneIn(2)) detector->set_descriptor_kind(random->OneIn(2) ? v1::DESCRIPTOR_NONE : v1::DESCRIPTOR_RBRIEF);
  options.set_overload_policy(static_cast<v1::OverloadPolicy>(random->Uniform(0, 4)));
  options.set_max_in_flight(random->Uniform(0, 8));
  if (random->OneIn(3)) options.set_max_age_ns(random->Uniform(1, 200) * int64_t{100000});
  return options;
}

}  // namespace glint::soak
