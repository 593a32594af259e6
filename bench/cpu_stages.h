// The CPU backend's stages on one image, each with its inputs and buffers prepared.
#ifndef GLINT_BENCH_CPU_STAGES_H_
#define GLINT_BENCH_CPU_STAGES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cpu/common/buffer.h"
#include "cpu/common/stages.h"
#include "cpu/rectify/remap.h"
#include "features/camera/remap_table.h"
#include "features/types.h"

namespace glint::bench {

// The next level's size, as the resize stage and its peer make it.
Shape NextLevel(Shape shape);
// Rectification of a picture of this shape, as the remap stage and its peer do it: a wide-angle lens, turned a little.
RemapTable LensOfBench(Shape shape);

// Thread-compatible.
class CpuStages {
 public:
  // `image`, at least cpu::kWideImage wide, must outlive this object.
  CpuStages(const ImageView& image, int fast_threshold);

  struct Stage {
    std::string name;
    std::function<void()> run;
    std::function<size_t()> items;  // of the last run
  };
  // They refer to this object. The stages on corners take those that survive suppression.
  std::vector<Stage> List();

 private:
  void FindCorners();
  void RunBlur();

  const ImageView image_;
  const cpu::Stages stages_;
  const cpu::FastJob fast_;
  cpu::Buffer<uint8_t> fast_scratch_;
  cpu::Buffer<uint32_t> raw_;
  size_t raw_count_ = 0;
  cpu::Buffer<uint32_t> corners_;
  cpu::Buffer<uint8_t> scores_;
  size_t corner_count_ = 0;

  cpu::ResizeTables resize_tables_;
  cpu::Buffer<int16_t> resize_scratch_;
  cpu::Buffer<uint8_t> resized_;

  cpu::Buffer<uint8_t> blurred_;

  std::vector<uint32_t> inner_;  // the corners that descriptors fit around
  cpu::Buffer<float> responses_;
  cpu::Buffer<float> angles_;
  cpu::CentroidTable centroid_;
  cpu::PatternTable pattern_;
  std::vector<uint8_t> descriptors_;

  const cpu::RemapRows remap_ = cpu::BestRemapRows();
  const RemapTable lens_;
  Image rectified_;
};

}  // namespace glint::bench

#endif  // GLINT_BENCH_CPU_STAGES_H_
