// The range of grey of the images of a stream or call.
#ifndef GLINT_SERVER_PIXELS_STREAM_RANGE_H_
#define GLINT_SERVER_PIXELS_STREAM_RANGE_H_

#include <algorithm>

#include "features/gray_range.h"

namespace glint {

// Thread-compatible: a range by percentile changes with the first images, so that the flow of its frames is serial.
class StreamRange {
 public:
  StreamRange() = default;
  // A valid range.
  explicit StreamRange(const GrayRange& range) : range_(range) {
    if (range.kind == GrayRange::Kind::kGiven) limits_ = {range.lowest, range.highest};
  }

  bool wanted() const { return range_.wanted(); }
  bool by_percentile() const { return range_.kind == GrayRange::Kind::kPercentile; }
  float percentile() const { return range_.percentile; }
  bool equalize() const { return range_.equalize; }

  // True if the next image is one of the first, whose own limits are to be added.
  bool wants_image() const { return by_percentile() && images_ < range_.images; }
  void Add(GrayLimits of_image) {
    if (images_++ == 0) {
      limits_ = of_image;
    } else {
      limits_ = {std::min(limits_.lowest, of_image.lowest), std::max(limits_.highest, of_image.highest)};
    }
  }

  GrayLimits limits() const { return limits_; }

 private:
  GrayRange range_;
  GrayLimits limits_;
  int images_ = 0;  // that were added
};

}  // namespace glint

#endif  // GLINT_SERVER_PIXELS_STREAM_RANGE_H_
