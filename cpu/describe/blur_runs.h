// Which pixels of a level the descriptors of its keypoints read, as runs of rows in columns of blocks (BlurJob), and
// how a run reads its image.
#ifndef GLINT_CPU_DESCRIBE_BLUR_RUNS_H_
#define GLINT_CPU_DESCRIBE_BLUR_RUNS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/common/buffer.h"
#include "cpu/common/stages.h"
#include "features/math.h"

namespace glint::cpu {

// The union of squares around points. Keypoints crowd together: it is much less than their sum. Thread-compatible.
class BlurRuns {
 public:
  // For images of at most this width.
  void Prepare(int width) { open_.Reserve(static_cast<size_t>(width / kBlurBlock + 1)); }

  // f(x, begin, end) for each run of rows [begin, end), within [y0, y1), of the block that begins at column x: together
  // they cover what the squares of side 2 * reach + 1 around the points have in the image and these rows, once. `where`
  // is in raster order.
  template <class F>
  void ForEach(const uint32_t* where, size_t count, Shape shape, int reach, int y0, int y1, const F& f) {
    const auto end_of = [&](int row) {
      return std::lower_bound(where, where + count, PackPoint(0, std::clamp(row, 0, shape.height)));
    };
    const int blocks = (shape.width + kBlurBlock - 1) / kBlurBlock;
    std::fill_n(open_.data(), blocks, Run{y0, y0});
    const auto close = [&](int block) {
      const Run run = open_[static_cast<size_t>(block)];
      if (run.begin < run.end) f(block * kBlurBlock, run.begin, run.end);
    };
    const uint32_t* const last = end_of(y1 + reach);
    for (const uint32_t* point = end_of(y0 - reach); point < last; ++point) {
      const Run rows = {std::max(PointY(*point) - reach, y0), std::min(PointY(*point) + reach + 1, y1)};
      const int first_block = std::max(PointX(*point) - reach, 0) / kBlurBlock;
      const int last_block = std::min(PointX(*point) + reach, shape.width - 1) / kBlurBlock;
      for (int block = first_block; block <= last_block; ++block) {
        Run& run = open_[static_cast<size_t>(block)];
        if (rows.begin > run.end + kBridged) {
          close(block);
          run.begin = rows.begin;
        }
        run.end = rows.end;
      }
    }
    for (int block = 0; block < blocks; ++block) close(block);
  }

 private:
  struct Run {
    int begin;
    int end;
  };
  // Rows between two runs that cost no more than the rows around a run that its row pass needs.
  static constexpr int kBridged = 3;

  Buffer<Run> open_;  // of each block
};

// Where pixels x - kGaussianRadius + i of row y are, for i in [0, count): in the row itself, or in `buffer` with
// reflections at the image's sides. There, those from kBlurBlock + 2 * kGaussianRadius on are 0.
inline const uint8_t* BlurredPixels(const ImageView& image, int x, int y, int count, uint8_t* buffer) {
  const uint8_t* const row = image.row(Reflect101(y, image.height));
  const int first = x - kGaussianRadius;
  if (first >= 0 && first + count <= image.width) return row + first;
  constexpr int kUsed = kBlurBlock + 2 * kGaussianRadius;
  for (int i = 0; i < kUsed; ++i) buffer[i] = row[Reflect101(first + i, image.width)];
  std::fill(buffer + kUsed, buffer + std::max(count, kUsed), uint8_t{0});
  return buffer;
}

}  // namespace glint::cpu

#endif  // GLINT_CPU_DESCRIBE_BLUR_RUNS_H_
