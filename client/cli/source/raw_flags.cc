#include "client/cli/source/raw_flags.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "features/limits.h"
#include "features/status_macros.h"

namespace glint::cli {

using client::PixelFormat;

const std::vector<std::pair<std::string, PixelFormat>>& PixelFormatNames() {
  static const auto* const names = new std::vector<std::pair<std::string, PixelFormat>>{
      {"gray8", PixelFormat::kGray8}, {"bgr8", PixelFormat::kBgr8},     {"rgb8", PixelFormat::kRgb8},
      {"bgra8", PixelFormat::kBgra8}, {"rgba8", PixelFormat::kRgba8},   {"nv12", PixelFormat::kNv12},
      {"yuyv", PixelFormat::kYuyv},   {"gray16", PixelFormat::kGray16}, {"bayer_rggb8", PixelFormat::kBayerRggb8}};
  return *names;
}

absl::StatusOr<Shape> ParseSize(absl::string_view option, const std::string& text) {
  const std::vector<std::string> sides = absl::StrSplit(text, 'x');
  Shape shape;
  if (sides.size() != 2 || !absl::SimpleAtoi(sides[0], &shape.width) || !absl::SimpleAtoi(sides[1], &shape.height) ||
      shape.width < 1 || shape.width > kMaxImageSide || shape.height < 1 || shape.height > kMaxImageSide) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '--", option, "': '", text, "' is not WIDTHxHEIGHT with sides in 1..", kMaxImageSide));
  }
  return shape;
}

size_t RawLayout::row_bytes() const {
  return static_cast<size_t>(shape.width) * static_cast<size_t>(client::BytesPerPixel(format));
}

size_t RawLayout::bytes() const { return row_bytes() * static_cast<size_t>(client::RowsOf(format, shape.height)); }

void RawFlags::AddTo(Flags* flags) {
  std::vector<std::pair<std::string, std::optional<PixelFormat>>> choices;
  for (const auto& [name, value] : PixelFormatNames()) choices.emplace_back(name, value);
  flags->Choice("pixel-format", choices,
                "What is read holds pixels of --size and nothing else, rows without gaps; sent as they are.", &format);
  flags->String("size", "WxH", "Of each picture, with --pixel-format.", &size);
}

absl::StatusOr<std::optional<RawLayout>> RawFlags::Layout() const {
  if (format.has_value() != !size.empty()) {
    return absl::InvalidArgumentError("options '--pixel-format' and '--size': neither goes without the other");
  }
  if (!format.has_value()) return std::nullopt;
  GLINT_ASSIGN_OR_RETURN(const auto shape, ParseSize("size", size));
  if (*format == PixelFormat::kNv12 && (shape.width % 2 != 0 || shape.height % 2 != 0)) {
    return absl::InvalidArgumentError(absl::StrCat("option '--size': '", size, "' has odd sides, which nv12 has not"));
  }
  return RawLayout{*format, shape};
}

}  // namespace glint::cli
