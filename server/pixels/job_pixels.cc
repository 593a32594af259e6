#include "server/pixels/job_pixels.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/server_error.h"
#include "features/status_macros.h"

namespace glint {
namespace {

absl::Status MissingImage() { return ContradictionError("image", "missing"); }

// Error of a decoder about a file, with the path of its field in a glint.v1.Image.
absl::Status OfFile(absl::Status status) {
  constexpr std::pair<const char*, const char*> kPaths[] = {{"image.data", "image.encoded.data"},
                                                            {"image.encoding", "image.encoded.encoding"},
                                                            {"image.width", "image.encoded.data: width"},
                                                            {"image.height", "image.encoded.data: height"}};
  for (const auto& [from, to] : kPaths) status = WithFieldRenamed(from, to, status);
  return status;
}

// Adds the limits of an image with samples of 16 bits to its range, if that is still open.
void AddToRange(const ImageSource& source, PixelScratch* scratch) {
  if (source.range == nullptr || !source.range->wants_image()) return;
  scratch->counts.Clear();
  decode::CountSamples(source.raw, source.bytes, &scratch->sample_row, &scratch->counts);
  source.range->Add(scratch->counts.LimitsAt(source.range->percentile()));
}

// The pixels of the scratch memory's rows, equalised.
Pixels Equalized(PixelScratch* scratch) {
  const ImageView mapped = ViewOf(Pixels(&scratch->rows), &scratch->mapped);
  scratch->clahe.Apply(mapped, &scratch->equalized);
  return Pixels(scratch->equalized);
}

// The samples of a file, as raw ones in the scratch memory.
absl::Status DecodeSamples(const ImageSource& source, absl::Span<const uint8_t> file, decode::Decoder* decoder,
                           int64_t max_pixels, PixelScratch* scratch) {
  const auto shape = decoder->InspectDepth(source.encoding, file, max_pixels);
  if (!shape.ok()) return OfFile(shape.status());
  Image& memory = scratch->decoded;
  memory.Resize({2 * shape->width, shape->height});
  const decode::Destination to = {memory.row(0), *shape, memory.stride()};
  if (auto s = decoder->DecodeDepthInto(source.encoding, file, to); !s.ok()) return OfFile(s);
  ImageSource& samples = scratch->samples;
  samples.kind = ImageSource::Kind::kRaw;
  samples.raw = {PixelFormat::kGray16, *shape, 2 * static_cast<size_t>(shape->width),
                 static_cast<size_t>(memory.stride())};
  scratch->samples_piece = {memory.row(0), decode::BytesOf(samples.raw)};
  samples.bytes = {&scratch->samples_piece, 1};
  samples.range = source.range;
  scratch->rows.Use(samples);
  return absl::OkStatus();
}

// PixelsOf(), not checked.
absl::StatusOr<Pixels> DecodedPixels(const ImageSource& source, decode::Decoder* decoder, int64_t max_pixels,
                                     PixelScratch* scratch) {
  scratch->rows.Use(source);
  switch (source.kind) {
    case ImageSource::Kind::kNone:
      break;
    case ImageSource::Kind::kRaw: {
      AddToRange(source, scratch);
      if (source.range != nullptr && source.range->equalize()) return Equalized(scratch);
      Pixels pixels(&scratch->rows);
      if (decode::IsGrayInPlace(source.raw.format) && source.bytes.size() == 1) {
        pixels.view = {source.bytes[0].data(), source.raw.shape.width, source.raw.shape.height,
                       static_cast<ptrdiff_t>(source.raw.stride)};
      }
      return pixels;
    }
    case ImageSource::Kind::kEncoded: {
      const absl::Span<const uint8_t> file = decode::Contiguous(source.bytes, &scratch->file);
      if (source.range != nullptr) {
        GLINT_RETURN_IF_ERROR(DecodeSamples(source, file, decoder, max_pixels, scratch));
        AddToRange(scratch->samples, scratch);
        return source.range->equalize() ? Equalized(scratch) : Pixels(&scratch->rows);
      }
      const auto shape = decoder->Inspect(source.encoding, file, max_pixels);
      if (!shape.ok()) return OfFile(shape.status());
      scratch->decoded.Resize(*shape);
      const auto to = decode::DestinationIn(&scratch->decoded);
      if (auto s = decoder->DecodeInto(source.encoding, file, to); !s.ok()) return OfFile(s);
      return Pixels(scratch->decoded);
    }
  }
  return MissingImage();
}

}  // namespace

absl::StatusOr<Part> PartOf(const Region& region, Shape whole) {
  const auto inside = [](const char* origin_name, uint32_t origin, const char* extent_name, uint32_t extent, int side) {
    const auto limit = static_cast<uint32_t>(side);
    if (origin >= limit) return OutOfRangeError(origin_name, origin, 0u, limit - 1);
    if (extent < 1 || extent > limit - origin) return OutOfRangeError(extent_name, extent, 1u, limit - origin);
    return absl::OkStatus();
  };
  GLINT_RETURN_IF_ERROR(inside("region.x", region.x, "region.width", region.width, whole.width));
  GLINT_RETURN_IF_ERROR(inside("region.y", region.y, "region.height", region.height, whole.height));
  return Part{static_cast<int>(region.x),
              static_cast<int>(region.y),
              {static_cast<int>(region.width), static_cast<int>(region.height)}};
}

void RawRows::CopyRows(int first, int count, uint8_t* to, ptrdiff_t stride) const {
  if (source_->range != nullptr) table_.SetLimits(source_->range->limits());
  decode::RawToGray(source_->raw, source_->bytes, part_.x, part_.y + first, {to, {part_.shape.width, count}, stride},
                    &row_, source_->range != nullptr ? &table_ : nullptr);
  copied_bytes_ += int64_t{part_.shape.width} * decode::BytesPerPixel(source_->raw.format) * count;
}

void CropTo(const Part& part, PixelScratch* scratch, Pixels* pixels) {
  if (!pixels->view.empty()) {
    pixels->view = {pixels->view.row(part.y) + part.x, part.shape.width, part.shape.height, pixels->view.stride};
  }
  if (pixels->rows == &scratch->rows) scratch->rows.CropTo(part);
}

absl::StatusOr<Pixels> PixelsOf(const ImageSource& source, decode::Decoder* decoder, int64_t max_pixels,
                                PixelScratch* scratch) {
  GLINT_ASSIGN_OR_RETURN(const Pixels pixels, DecodedPixels(source, decoder, max_pixels, scratch));
  const Shape shape = pixels.shape();
  GLINT_RETURN_IF_ERROR(
      decode::CheckSize(static_cast<uint64_t>(shape.width), static_cast<uint64_t>(shape.height), max_pixels));
  return pixels;
}

absl::StatusOr<DepthView> DepthOf(const ImageSource& source, const DepthSensor& sensor, Shape camera,
                                  decode::Decoder* decoder, PixelScratch* scratch, int64_t* copied_bytes) {
  *copied_bytes = 0;
  if (source.kind == ImageSource::Kind::kNone) return MissingImage();
  // A row of 16-bit samples is stored as a row of twice as many bytes.
  const auto view_of = [&](const uint8_t* data, ptrdiff_t stride) {
    return DepthView{data, camera.width, camera.height, stride, sensor};
  };
  const auto memory = [&] {
    scratch->decoded.Resize({2 * camera.width, camera.height});
    return decode::Destination{scratch->decoded.row(0), camera, scratch->decoded.stride()};
  };
  const auto check = [&](Shape shape) {
    if (shape == camera) return absl::OkStatus();
    return ContradictionError("image", absl::StrCat(shape.width, "x", shape.height, " is not the camera's ",
                                                    camera.width, "x", camera.height));
  };
  if (source.kind == ImageSource::Kind::kRaw) {
    if (source.raw.format != PixelFormat::kGray16) {
      return NotOneOfError(source.is_shared ? "image.shared.format" : "image.raw.format",
                           absl::StrCat(static_cast<int>(source.raw.format)), "GRAY16");
    }
    GLINT_RETURN_IF_ERROR(check(source.raw.shape));
    if (source.bytes.size() == 1) return view_of(source.bytes[0].data(), static_cast<ptrdiff_t>(source.raw.stride));
    const decode::Destination to = memory();
    decode::CopyRaw16(source.raw, source.bytes, to);
    *copied_bytes = 2 * camera.pixels();
    return view_of(to.data, to.stride);
  }
  const absl::Span<const uint8_t> file = decode::Contiguous(source.bytes, &scratch->file);
  const auto shape = decoder->InspectDepth(source.encoding, file, std::numeric_limits<int64_t>::max());
  if (!shape.ok()) return OfFile(shape.status());
  GLINT_RETURN_IF_ERROR(check(*shape));
  const decode::Destination to = memory();
  if (absl::Status s = decoder->DecodeDepthInto(source.encoding, file, to); !s.ok()) return OfFile(s);
  return view_of(to.data, to.stride);
}

}  // namespace glint
