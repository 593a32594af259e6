#include "server/operations/track/track_masks.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/pixels.h"
#include "features/status_macros.h"
#include "server/base/allocations.h"
#include "server/pixels/region_rows.h"

namespace glint {

TrackMasks::TrackMasks(absl::Span<const ImageSource> masks, const Region& region) : region_(region) {
  for (size_t c = 0; c < masks.size(); ++c) cameras_[c].mask = std::make_unique<StreamMask>(masks[c]);
}

absl::StatusOr<ImageView> TrackMasks::Of(const LaneContext& context, int camera, Shape image, const ImageSource& own,
                                         PixelScratch* scratch) {
  Camera& of = cameras_[static_cast<size_t>(camera)];
  const bool is_own = own.kind != ImageSource::Kind::kNone;
  if (!is_own && of.mask == nullptr && !region_.wanted) return ImageView();
  if (!is_own && of.is_streams && of.drawn.shape() == image) return of.drawn.view();
  of.is_streams = false;
  Pixels mask;
  if (is_own || of.mask != nullptr) {
    const std::string field = absl::StrCat("masks[", camera, "]");
    auto pixels = PixelsOf(is_own ? own : of.mask->source(), context.decoder, context.max_pixels, scratch);
    if (!pixels.ok()) return WithField(field, pixels.status());
    mask = *pixels;
    GLINT_RETURN_IF_ERROR(CheckMaskShape(field, mask.shape(), image));
  }
  RegionRows in_region;
  if (region_.wanted) {
    GLINT_ASSIGN_OR_RETURN(const Part part, PartOf(region_, image));
    in_region.Use(image, part, mask);
    mask = Pixels(&in_region);
  }
  if (of.drawn.shape() != image) {
    const FramePathPause pause;
    // The memory first, also of cameras whose turn comes: theirs may be of other sizes, too.
    for (size_t c = static_cast<size_t>(camera); c < cameras_.size(); ++c) cameras_[c].drawn = Image();
    of.drawn.Resize(image);
  }
  SetMaskRows(mask).CopyRows(0, image.height, of.drawn.row(0), of.drawn.stride());
  of.is_streams = !is_own;
  return of.drawn.view();
}

}  // namespace glint
