#include "features/gray_range.h"

#include "features/error.h"
#include "features/status_macros.h"

namespace glint {

absl::Status ValidateGrayRange(const GrayRange& range) {
  switch (range.kind) {
    case GrayRange::Kind::kFull:
      return absl::OkStatus();
    case GrayRange::Kind::kGiven:
      GLINT_RETURN_IF_ERROR(CheckRange("gray_range.lowest", range.lowest, 0, 65534));
      return CheckRange("gray_range.highest", range.highest, range.lowest + 1, 65535);
    case GrayRange::Kind::kPercentile:
      GLINT_RETURN_IF_ERROR(CheckRange("gray_range.percentile", range.percentile, 0.0f, 25.0f));
      return CheckRange("gray_range.images", range.images, 1, 1000);
  }
  return absl::OkStatus();
}

}  // namespace glint
