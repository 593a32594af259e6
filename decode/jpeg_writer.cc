#include "decode/jpeg_writer.h"

// jpeglib.h needs FILE and size_t, and does not include them.
#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::decode {
namespace {

constexpr int kMaxSide = JPEG_MAX_DIMENSION;

// Plain values: libjpeg reports errors through longjmp, over no destructor.
struct Writing {
  jpeg_compress_struct info;
  jpeg_error_mgr error;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
  unsigned char* memory = nullptr;  // malloc's
  unsigned long size = 0;           // NOLINT(google-runtime-int): libjpeg's type
};

bool HasChroma(const JpegWriterOptions& options) { return options.sampling != JpegSampling::kGrey; }

// Row `y` with the three components of each pixel side by side.
void Interleave(const JpegPlanes& picture, int y, uint8_t* row) {
  const uint8_t *luma = picture.luma.row(y), *cb = picture.cb.row(y), *cr = picture.cr.row(y);
  for (int x = 0; x < picture.luma.width; ++x) {
    *row++ = luma[x];
    *row++ = cb[x];
    *row++ = cr[x];
  }
}

// `row`: room for one in colour. false: `message` says why.
bool Write(const JpegPlanes& picture, const JpegWriterOptions& options, uint8_t* row, Writing* writing) {
  jpeg_compress_struct* const info = &writing->info;
  info->err = jpeg_std_error(&writing->error);
  info->client_data = writing;
  writing->error.error_exit = [](j_common_ptr common) {
    auto* const state = static_cast<Writing*>(common->client_data);
    common->err->format_message(common, state->message);
    std::longjmp(state->escape, 1);
  };
  writing->error.output_message = [](j_common_ptr) {};
  if (setjmp(writing->escape) != 0) return false;
  jpeg_create_compress(info);
  jpeg_mem_dest(info, &writing->memory, &writing->size);
  info->image_width = static_cast<JDIMENSION>(picture.luma.width);
  info->image_height = static_cast<JDIMENSION>(picture.luma.height);
  const bool colour = HasChroma(options);
  info->input_components = colour ? 3 : 1;
  info->in_color_space = colour ? JCS_YCbCr : JCS_GRAYSCALE;
  jpeg_set_defaults(info);
  jpeg_set_quality(info, options.quality, TRUE);
  if (colour) {
    const JpegSampling sampling = options.sampling;
    info->comp_info[0].h_samp_factor = sampling == JpegSampling::k422 || sampling == JpegSampling::k420 ? 2 : 1;
    info->comp_info[0].v_samp_factor = sampling == JpegSampling::k440 || sampling == JpegSampling::k420 ? 2 : 1;
  }
  info->dct_method = JDCT_ISLOW;
  info->restart_in_rows = options.restart_rows;
  jpeg_start_compress(info, TRUE);
  while (info->next_scanline < info->image_height) {
    const auto y = static_cast<int>(info->next_scanline);
    auto* pixels = colour ? row : const_cast<JSAMPLE*>(picture.luma.row(y));  // which is only read
    if (colour) Interleave(picture, y, row);
    jpeg_write_scanlines(info, &pixels, 1);
  }
  jpeg_finish_compress(info);
  return true;
}

absl::Status Validate(const JpegPlanes& picture, const JpegWriterOptions& options) {
  const ImageView& luma = picture.luma;
  if (luma.empty()) return ContradictionError("image", "has no pixels");
  if (options.quality < kMinJpegQuality || options.quality > kMaxJpegQuality) {
    return OutOfRangeError("quality", options.quality, kMinJpegQuality, kMaxJpegQuality);
  }
  if (options.restart_rows < 0 || options.restart_rows > kMaxJpegRestartRows) {
    return OutOfRangeError("restart_rows", options.restart_rows, 0, kMaxJpegRestartRows);
  }
  if (luma.width > kMaxSide) return OutOfRangeError("image.width", luma.width, 1, kMaxSide);
  if (luma.height > kMaxSide) return OutOfRangeError("image.height", luma.height, 1, kMaxSide);
  if (HasChroma(options) && (picture.cb.shape() != luma.shape() || picture.cr.shape() != luma.shape())) {
    return ContradictionError("image", "its planes have several shapes");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> WriteJpeg(const JpegPlanes& picture, const JpegWriterOptions& options) {
  GLINT_RETURN_IF_ERROR(Validate(picture, options));
  std::vector<uint8_t> row(HasChroma(options) ? static_cast<size_t>(picture.luma.width) * 3 : 0);
  Writing writing = {};
  const bool written = Write(picture, options, row.data(), &writing);
  jpeg_destroy_compress(&writing.info);
  const std::unique_ptr<unsigned char, void (*)(void*)> memory(writing.memory, std::free);
  if (!written) return absl::ResourceExhaustedError(absl::StrCat("JPEG: ", writing.message));
  return std::string(reinterpret_cast<const char*>(memory.get()), writing.size);
}

absl::StatusOr<std::string> WriteJpeg(const ImageView& gray, int quality) {
  return WriteJpeg({gray, {}, {}}, {quality, JpegSampling::kGrey, 1});
}

}  // namespace glint::decode
