// Pixels from coefficients: eight threads a block, a row or column each.
#include "cuda/jpeg/inverse_dct.h"
#include "cuda/jpeg/launch.cuh"

namespace glint::cuda {
namespace {

constexpr int kBlocks = 16;  // of 8 x 8 pixels, in a thread block
constexpr int kThreads = 8 * kBlocks;
constexpr int kRow = 9, kBlock = 8 * kRow;  // words apart, for threads of a warp to use different banks

__device__ void StoreRow(const JpegFrame& frame, uint32_t block, int row, const int32_t (&values)[8]) {
  const uint32_t unit = block / frame.scan.unit_luma, in_unit = block % frame.scan.unit_luma;
  const int unit_row = unit / frame.unit_columns, unit_column = unit % frame.unit_columns;
  const int x = 8 * (unit_column * frame.luma_columns + static_cast<int>(in_unit) % frame.luma_columns);
  const int y = 8 * (unit_row * frame.luma_rows + static_cast<int>(in_unit) / frame.luma_columns) + row;
  if (x >= frame.shape.width || y >= frame.shape.height) return;
  uint8_t* const to = frame.luma + static_cast<size_t>(y) * frame.pitch + x;
  uint32_t words[2] = {};
#pragma unroll
  for (int i = 0; i < 8; ++i) words[i / 4] |= static_cast<uint32_t>(PixelOfDct(values[i])) << (i % 4 * 8);
  if (x + 8 <= frame.shape.width && reinterpret_cast<uintptr_t>(to) % 8 == 0) {
    *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
    return;
  }
  for (int i = 0; i < min(8, frame.shape.width - x); ++i) to[i] = words[i / 4] >> (i % 4 * 8);
}

__global__ void __launch_bounds__(kThreads) WriteLumaKernel(GLINT_KERNEL_ARGUMENT JpegFrame frame) {
  __shared__ int32_t memory[kBlocks * kBlock];
  AllowSuccessor();
  WaitForPredecessor();
  const int row = threadIdx.x % 8;
  int32_t* const values_of = memory + threadIdx.x / 8 * kBlock;
  const uint32_t block = blockIdx.x * kBlocks + threadIdx.x / 8;
  const bool active = block < frame.luma_blocks;
  bool fits = true;
  int32_t values[8];
  if (active) {
    auto* const from = reinterpret_cast<uint4*>(frame.coefficients + size_t{64} * block) + row;
    const uint4 four = *from;
    *from = make_uint4(0, 0, 0, 0);
    const uint4 steps = reinterpret_cast<const uint4*>(frame.tables->quantizer)[row];
    const uint32_t pairs[4] = {four.x, four.y, four.z, four.w}, quantizers[4] = {steps.x, steps.y, steps.z, steps.w};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const auto coefficient = static_cast<int16_t>(pairs[i / 2] >> (i % 2 * 16));
      values[i] = coefficient * static_cast<int32_t>(quantizers[i / 2] >> (i % 2 * 16) & 0xffff);
      fits = fits && FitsDct(values[i]);
      values_of[row * kRow + i] = values[i];
    }
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 8; ++i) values[i] = values_of[i * kRow + row];
  InverseDct<kColumnShift>(values);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (active) fits = fits && FitsDct(values[i]);
    values_of[i * kRow + row] = values[i];
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 8; ++i) values[i] = values_of[row * kRow + i];
  InverseDct<kRowShift>(values);
  if (!active) return;
#pragma unroll
  for (int i = 0; i < 8; ++i) fits = fits && FitsPixel(values[i]);
  if (!fits) Raise(frame, JpegReason::kRange);
  StoreRow(frame, block, row, values);
}

}  // namespace

absl::Status WriteLuma(StreamView stream, const JpegFrame& frame) {
  return LaunchJpeg(stream, Begin::kEarly, WriteLumaKernel, (frame.luma_blocks + kBlocks - 1) / kBlocks, kThreads,
                    frame);
}

}  // namespace glint::cuda
