// The launches of a JPEG frame, in this order: CountStuffing, RemoveStuffing, FindSymbols, WriteCoefficients,
// WriteLuma. All on one stream; each returns when it is enqueued, with the errors of a launch. What they find irregular
// is a bit of JpegStatus::reasons.
#ifndef GLINT_CUDA_JPEG_JPEG_STAGES_H_
#define GLINT_CUDA_JPEG_JPEG_STAGES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "cuda/jpeg/jpeg_plan.h"
#include "cuda/jpeg/subsequence.h"
#include "cuda/runtime/owners.h"

namespace glint::cuda {

// A thread block removes stuffing from a chunk of the file.
inline constexpr int kChunkBytes = 4096;
// A thread block finds the symbols of a group of subsequences; it begins so many subsequences in front of it, and most
// often knows the right way from the group on.
inline constexpr int kJpegGroup = 96;
inline constexpr int kJpegWarmUp = 24;
// Ways that a block remembers for each subsequence.
inline constexpr uint32_t kJpegWays = 64;
// Subsequences of a frame that may be decoded one after the other where ways have a gap.
inline constexpr uint32_t kMaxJpegRepairs = 4096;

struct JpegStatus {
  uint32_t reasons;    // 1 << JpegReason
  uint32_t bits;       // of the scan without stuffing; 0: it has no end, or markers are out of place
  uint32_t intervals;  // that ended with their last block
  uint32_t repairs;    // subsequences decoded for want of a way
};

struct JpegChunk {
  uint32_t dropped;  // bytes that are no data
  uint32_t markers;  // restart markers among them
  uint32_t end;      // where in the file the first other marker is, or ~0
};

// What other groups may know of a group.
enum class JpegGroupState : uint32_t { kNothing, kMap, kExit };

// Device memory, and what the host knows.
struct JpegFrame {
  ScanShape scan;
  Shape shape;
  int unit_columns, luma_columns, luma_rows;
  uint32_t luma_blocks;
  uint32_t subsequence_words;
  const JpegTables* tables;
  JpegStatus* status;
  const uint8_t* bytes;  // of the file, from the scan on; a multiple of 16
  uint32_t size;
  JpegChunk* chunks;
  uint32_t* words;        // of the scan, as bytes
  uint32_t* begins;       // bits, of restart intervals; one more is the end
  Cursor* ends;           // of subsequences
  Passed* passed;         // by subsequences
  uint32_t* maps;         // of groups, kJpegWays each: a way into it in the low half, out of it in the high one
  uint32_t* exits;        // of groups: the way out
  uint32_t* states;       // of groups: JpegGroupState
  Passed* sums;           // of groups
  int16_t* coefficients;  // of luma, 64 a block in the order of the scan: all 0 between frames
  uint8_t* luma;
  int pitch;

  uint32_t chunk_count() const { return (size + kChunkBytes - 1) / kChunkBytes; }
  // At most.
  GLINT_HD uint32_t subsequences() const {
    const uint32_t bytes = 4 * subsequence_words;
    return (size + bytes - 1) / bytes;
  }
  GLINT_HD uint32_t groups() const { return (subsequences() + kJpegGroup - 1) / kJpegGroup; }
};

absl::Status CountStuffing(StreamView stream, const JpegFrame& frame);
absl::Status RemoveStuffing(StreamView stream, const JpegFrame& frame);
absl::Status FindSymbols(StreamView stream, const JpegFrame& frame);
absl::Status WriteCoefficients(StreamView stream, const JpegFrame& frame);
// Leaves coefficients 0.
absl::Status WriteLuma(StreamView stream, const JpegFrame& frame);

// All of them. `ends`, for benchmarks: kJpegStages events, recorded behind the stuffing, the symbols, the coefficients,
// and the luma.
inline constexpr int kJpegStages = 4;
absl::Status EnqueueJpeg(StreamView stream, const JpegFrame& frame, const cudaEvent_t* ends = nullptr);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_JPEG_JPEG_STAGES_H_
