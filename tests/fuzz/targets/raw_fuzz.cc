// Raw pixels of every format: a layout is refused, or the grey of any rectangle is that of the whole picture there,
// however the bytes are cut. Input: the layout's numbers, the rectangle's, where to cut, the pixels.
#include <vector>

#include "decode/decode.h"
#include "tests/fuzz/targets/input.h"

namespace glint::decode {
namespace {

constexpr int64_t kMaxPixels = 96 * 96;

void Check(fuzz::Input input) {
  RawLayout layout;
  layout.format = static_cast<int>(input.Number<uint8_t>() % 12);
  layout.width = input.Number<uint16_t>();
  layout.height = input.Number<uint16_t>();
  if (layout.width > 512) layout.width %= 97;  // most inputs are pictures
  if (layout.height > 512) layout.height %= 97;
  layout.stride = input.Number<uint16_t>() % 1500;
  const auto corner_x = input.Number<uint8_t>(), corner_y = input.Number<uint8_t>();
  const auto seed = input.Number<uint32_t>();
  fuzz::Bytes pixels = input.Rest();

  const auto plan = InspectLayout(layout, kMaxPixels);
  if (!plan.ok()) {
    FUZZ_CHECK(!InspectRaw(layout, pixels.size(), kMaxPixels).ok());
    return;
  }
  // As many bytes as the layout needs, repeated from what there is.
  const size_t needed = BytesOf(*plan);
  FUZZ_CHECK(InspectRaw(layout, needed, kMaxPixels).ok());
  FUZZ_CHECK(!InspectRaw(layout, needed - 1, kMaxPixels).ok());
  std::vector<uint8_t> bytes(needed);
  for (size_t i = 0; i < needed; ++i) bytes[i] = pixels.empty() ? 0 : pixels[i % pixels.size()];

  std::vector<uint8_t> scratch;
  const Shape shape = plan->shape;
  std::vector<uint8_t> whole(static_cast<size_t>(shape.pixels()));
  const fuzz::Bytes one_piece(bytes);
  RawToGray(*plan, {&one_piece, 1}, 0, 0, {whole.data(), shape, shape.width}, &scratch);

  const int x = corner_x % shape.width, y = corner_y % shape.height;
  const Shape part{shape.width - x, shape.height - y};
  std::vector<uint8_t> cut(static_cast<size_t>(part.pixels()));
  const fuzz::CutBytes message(bytes, seed);
  RawToGray(*plan, message.spans(), x, y, {cut.data(), part, part.width}, &scratch);
  for (int row = 0; row < part.height; ++row) {
    FUZZ_CHECK(std::equal(cut.begin() + row * part.width, cut.begin() + (row + 1) * part.width,
                          whole.begin() + (y + row) * shape.width + x));
  }
}

}  // namespace
}  // namespace glint::decode

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  glint::decode::Check(glint::fuzz::Input(data, size));
  return 0;
}
