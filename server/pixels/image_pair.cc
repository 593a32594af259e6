#include "server/pixels/image_pair.h"

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/server_error.h"
#include "features/status_macros.h"
#include "server/pixels/image_warnings.h"

namespace glint {
namespace {

// Splits one image into its left and right half.
absl::Status Split(Pixels* left, Pixels* right, ImageScratch* scratch) {
  const Shape whole = left->shape();
  if (whole.width % 2 != 0) {
    return ContradictionError("left",
                              absl::StrCat("the width ", whole.width, " is odd: images side by side have half of it ",
                                           "each, and `right` is absent"));
  }
  const Shape half = {whole.width / 2, whole.height};
  *right = *left;
  if (left->rows == &scratch->first.rows) {
    scratch->second.rows.Use(scratch->first.rows.source());
    right->rows = &scratch->second.rows;
  }
  CropTo({0, 0, half}, &scratch->first, left);
  CropTo({half.width, 0, half}, &scratch->second, right);
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPixels(absl::string_view field, int64_t pixels, int64_t max_pixels) {
  if (pixels <= max_pixels) return absl::OkStatus();
  return LimitError(field, pixels, "pixels of both images", max_pixels, "--max-image-pixels");
}

absl::StatusOr<Pixels> DecodeImage(const LaneContext& context, absl::string_view field, const ImageSource& source,
                                   PixelScratch* scratch, FrameJob* job) {
  auto decoded = PixelsOf(source, context.decoder, context.max_pixels, scratch);
  if (!decoded.ok()) return WithField(field, decoded.status());
  WarnOfNarrowRange(field, source, *decoded, &scratch->checked, &job->warnings);
  scratch->rows.Recount();
  return decoded;
}

absl::StatusOr<ImagePairPixels> DecodeImagePair(const LaneContext& context, const ImageSource& left,
                                                const ImageSource& right, FrameJob* job) {
  ImageScratch& scratch = *context.scratch->Of<ImageScratch>();
  ImagePairPixels pair;
  GLINT_ASSIGN_OR_RETURN(pair.left, DecodeImage(context, "left", left, &scratch.first, job));
  pair.pixels = pair.left.shape().pixels();
  if (right.kind == ImageSource::Kind::kNone) {
    GLINT_RETURN_IF_ERROR(Split(&pair.left, &pair.right, &scratch));
  } else {
    GLINT_ASSIGN_OR_RETURN(pair.right, DecodeImage(context, "right", right, &scratch.second, job));
    pair.pixels += pair.right.shape().pixels();
  }
  const Shape left_shape = pair.left.shape(), right_shape = pair.right.shape();
  if (left_shape != right_shape) {
    return ContradictionError(
        "right", absl::StrCat(right_shape.width, "x", right_shape.height, " pixels, but the left image has ",
                              left_shape.width, "x", left_shape.height));
  }
  GLINT_RETURN_IF_ERROR(CheckPixels("left", pair.pixels, context.max_pixels));
  return pair;
}

absl::Status RectifyImagePair(const LaneContext& context, const Rectification& rectification, ImagePairPixels* pair) {
  const Shape image = pair->left.shape(), camera = rectification.rig().left.image;
  if (image != camera) {
    return ContradictionError(
        "left", absl::StrCat(image.width, "x", image.height, " pixels, but the rig's cameras have ", camera.width, "x",
                             camera.height));
  }
  ImageScratch& scratch = *context.scratch->Of<ImageScratch>();
  const Rectification::Tables& tables = rectification.tables();
  scratch.rectified_left.Use(pair->left, tables.left);
  scratch.rectified_right.Use(pair->right, tables.right);
  pair->left = &scratch.rectified_left;
  pair->right = &scratch.rectified_right;
  return absl::OkStatus();
}

}  // namespace glint
