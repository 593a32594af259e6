// The launches of a JPEG frame, in this order: CountStuffing, RemoveStuffing, FindSymbols once and again for
// kSyncRounds, WriteCoefficients, WriteLuma. All on one stream; each returns when it is enqueued, with the errors of a
// launch. What they find irregular is a bit of JpegStatus::reasons.
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
// often is right from the group on.
inline constexpr int kJpegGroup = 192;
inline constexpr int kJpegWarmUp = 64;
// Groups that begin where the one before them ended: launches behind the first.
inline constexpr int kSyncRounds = 2;

struct JpegStatus {
  uint32_t reasons;    // 1 << JpegReason
  uint32_t bits;       // of the scan without stuffing; 0: it has no end, or markers are out of place
  uint32_t intervals;  // that ended with their last block
  uint32_t reserved;
};

struct JpegChunk {
  uint32_t dropped;  // bytes that are no data
  uint32_t markers;  // restart markers among them
  uint32_t end;      // where in the file the first other marker is, or ~0
};

// Device memory, and what the host knows.
struct JpegFrame {
  ScanShape scan;
  Shape shape;
  int unit_columns, luma_columns, luma_rows;
  uint32_t luma_blocks;
  const JpegTables* tables;
  JpegStatus* status;
  const uint8_t* bytes;  // of the file, from the scan on; a multiple of 16
  uint32_t size;
  JpegChunk* chunks;
  uint32_t* words;        // of the scan, as bytes
  uint32_t* begins;       // bits, of restart intervals; one more is the end
  Cursor* ends;           // of subsequences
  Passed* passed;         // by subsequences
  Cursor* entries;        // into groups
  Cursor* exits[2];       // from groups, of the last round and the one before it
  Passed* sums;           // of groups
  int16_t* coefficients;  // of luma, 64 a block in the order of the scan: all 0 between frames
  uint8_t* luma;
  int pitch;

  uint32_t chunk_count() const { return (size + kChunkBytes - 1) / kChunkBytes; }
  // At most.
  uint32_t subsequences() const { return (8 * size + kSubsequenceBits - 1) / kSubsequenceBits; }
  uint32_t groups() const { return (subsequences() + kJpegGroup - 1) / kJpegGroup; }
};

absl::Status CountStuffing(StreamView stream, const JpegFrame& frame);
absl::Status RemoveStuffing(StreamView stream, const JpegFrame& frame);
// `round` 0: each group begins at its warm-up; 1 and on: where the one before it ended, if it had not.
absl::Status FindSymbols(StreamView stream, const JpegFrame& frame, int round);
absl::Status WriteCoefficients(StreamView stream, const JpegFrame& frame);
// Leaves coefficients 0.
absl::Status WriteLuma(StreamView stream, const JpegFrame& frame);

// All of them. `ends`, for benchmarks: kJpegStages events, recorded behind the stuffing, the first round of symbols,
// the other rounds, the coefficients, and the luma.
inline constexpr int kJpegStages = 5;
absl::Status EnqueueJpeg(StreamView stream, const JpegFrame& frame, const cudaEvent_t* ends = nullptr);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_JPEG_JPEG_STAGES_H_
