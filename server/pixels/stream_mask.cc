#include "server/pixels/stream_mask.h"

#include "server/pixels/image_warnings.h"

namespace glint {

StreamMask::StreamMask(const ImageSource& source)
    : bytes_(decode::TotalBytes(source.bytes)), piece_(bytes_), source_(source), view_(ImageView()) {
  decode::PieceReader(source.bytes).Read(bytes_.size(), bytes_.data());
  source_.bytes = {&piece_, 1};
}

absl::StatusOr<ImageView> StreamMask::View(decode::Decoder* decoder, int64_t max_pixels) {
  std::call_once(decoded_, [&] {
    const auto pixels = PixelsOf(source_, decoder, max_pixels, &scratch_);
    if (pixels.ok()) {
      view_ = ViewOf(*pixels, &scratch_.decoded);
      other_values_ = ShareOfOtherMaskValues(Pixels(*view_), &scratch_.checked);
    } else {
      view_ = pixels.status();
    }
  });
  return view_;
}

}  // namespace glint
