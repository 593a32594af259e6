#include "server/pixels/pair_masks.h"

#include <algorithm>
#include <array>
#include <utility>

#include "features/error.h"
#include "features/server_error.h"
#include "features/status_macros.h"
#include "server/base/allocations.h"
#include "server/pixels/image_warnings.h"
#include "server/pixels/region_rows.h"

namespace glint {
namespace {

// Scratch memory of a lane's thread for the mask of one image.
struct MaskScratch {
  PixelScratch pixels;
  Image view, rectified;
  RegionRows in_region;
};

using PairMaskScratch = std::array<MaskScratch, 2>;

}  // namespace

void RectifyMask(const ImageView& mask, const RemapTable& table, Image* rectified) {
  rectified->Resize(table.shape);
  const auto is_set = [&mask](int x, int y) {
    return x >= 0 && y >= 0 && x < mask.width && y < mask.height && mask.row(y)[x] != 0;
  };
  for (int y = 0; y < table.shape.height; ++y) {
    const RemapTable::Entry* const entries = table.row(y);
    uint8_t* const to = rectified->row(y);
    for (int x = 0; x < table.shape.width; ++x) {
      const RemapTable::Entry& e = entries[x];  // kNowhere is outside, too
      const bool right = e.fraction_x != 0, below = e.fraction_y != 0;
      const bool all = is_set(e.x, e.y) && (!right || is_set(e.x + 1, e.y)) && (!below || is_set(e.x, e.y + 1)) &&
                       (!right || !below || is_set(e.x + 1, e.y + 1));
      to[x] = all ? 255 : 0;
    }
  }
}

PairMasks::Side::Side(const ImageSource& source)
    : has_mask(source.kind != ImageSource::Kind::kNone),
      mask(has_mask ? std::make_unique<StreamMask>(source) : nullptr) {}

// What is wanted of the mask of one image.
struct PairMasks::Wanted {
  const ImageSource& own;   // of the pair; or kNone
  const RemapTable* table;  // or null
  Shape image;              // before it was remapped
  int64_t max_pixels;       // of the mask
  bool minds_values;        // whether the values of a mask that is not remapped count
  MaskScratch* scratch;
};

absl::Status PairMasks::Find(const LaneContext& context, const Side& side, const Wanted& wanted, Pixels* mask,
                             double* other_values) const {
  MaskScratch& scratch = *wanted.scratch;
  const bool is_own = wanted.own.kind != ImageSource::Kind::kNone;
  if (!is_own && !side.has_mask && !region_.wanted) return absl::OkStatus();

  const auto decode = [&](const ImageSource& source) -> absl::StatusOr<Pixels> {
    auto pixels = PixelsOf(source, context.decoder, wanted.max_pixels, &scratch.pixels);
    if (!pixels.ok()) return WithField("mask", pixels.status());
    return pixels;
  };
  // The mask, if there is one, within the region.
  const auto in_region = [&](Pixels whole) -> absl::StatusOr<Pixels> {
    if (!whole.empty()) GLINT_RETURN_IF_ERROR(CheckMaskShape("mask", whole.shape(), wanted.image));
    if (!region_.wanted) return whole;
    GLINT_ASSIGN_OR_RETURN(const Part part, PartOf(region_, wanted.image));
    scratch.in_region.Use(wanted.image, part, whole);
    return Pixels(&scratch.in_region);
  };
  const auto rectify = [&](const ImageSource* source, Image* rectified) -> absl::Status {
    Pixels whole;
    if (source != nullptr) {
      GLINT_ASSIGN_OR_RETURN(whole, decode(*source));
    }
    GLINT_ASSIGN_OR_RETURN(const Pixels raw, in_region(whole));
    RectifyMask(ViewOf(raw, &scratch.view), *wanted.table, rectified);
    return absl::OkStatus();
  };

  if (wanted.table != nullptr && is_own) {
    GLINT_RETURN_IF_ERROR(rectify(&wanted.own, &scratch.rectified));
    *mask = Pixels(scratch.rectified);
    return absl::OkStatus();
  }
  if (wanted.table != nullptr) {
    std::call_once(side.made, [&] {
      const FramePathPause pause;
      side.status = rectify(side.has_mask ? &side.mask->source() : nullptr, &side.rectified);
      side.mask = nullptr;
    });
    *mask = Pixels(side.rectified);
    return side.status;
  }
  Pixels whole;
  if (is_own) {
    GLINT_ASSIGN_OR_RETURN(whole, decode(wanted.own));
    if (wanted.minds_values) {
      *other_values = std::max(*other_values, ShareOfOtherMaskValues(whole, &scratch.pixels.checked));
      scratch.pixels.rows.Recount();
    }
  } else if (side.has_mask) {
    const auto view = side.mask->View(context.decoder, wanted.max_pixels);
    if (!view.ok()) return WithField("mask", view.status());
    whole = Pixels(*view);
    if (wanted.minds_values) *other_values = std::max(*other_values, side.mask->other_values());
  }
  GLINT_ASSIGN_OR_RETURN(*mask, in_region(whole));
  return absl::OkStatus();
}

absl::Status PairMasks::Use(const LaneContext& context, const DetectorOptions& detector, const PairMaskSources& own,
                            const RemapTable* left_table, const RemapTable* right_table, ImagePairPixels* pair,
                            FrameJob* job) const {
  PairMaskScratch& scratch = *context.scratch->Of<PairMaskScratch>();
  const bool minds_values = !AnyMaskValueIsSet(detector) && detector.levels > 1;
  double other_values = 0;
  // Images of a pair have half of the limit each; one with depths may have more.
  const int64_t max_pixels = pair->right.empty() ? context.max_pixels : context.max_pixels / 2;
  const auto wanted = [&](const ImageSource& source, const RemapTable* table, const Pixels& image, size_t i) {
    const Shape shape = table != nullptr ? table->source : image.shape();
    return Wanted{source, table, shape, max_pixels, minds_values, &scratch[i]};
  };
  GLINT_RETURN_IF_ERROR(
      Find(context, left_, wanted(own.left, left_table, pair->left, 0), &pair->left_mask, &other_values));
  if (!pair->right.empty()) {
    const absl::Status status =
        Find(context, right_, wanted(own.right, right_table, pair->right, 1), &pair->right_mask, &other_values);
    if (!status.ok()) return WithFieldRenamed("mask", "right_mask", status);
  } else if (own.right.kind != ImageSource::Kind::kNone || right_.has_mask) {
    return ContradictionError("right_mask", "is given, but there is no right image");
  }
  if (other_values > 0) WarnOfMaskValues(other_values, &job->warnings);
  return absl::OkStatus();
}

}  // namespace glint
