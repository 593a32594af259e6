// The scan without its stuffed zeros and restart markers, and where its restart intervals begin.
#include "cuda/jpeg/launch.cuh"

namespace glint::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kThreadBytes = kChunkBytes / kThreads;
static_assert(kThreadBytes == sizeof(uint4));
constexpr uint32_t kNoEnd = ~0u;

__device__ __forceinline__ bool IsRestart(uint32_t byte) { return (byte & 0xf8) == 0xd0; }

// The bytes of a thread: bit i of each mask for byte i.
struct ThreadBytes {
  uint8_t byte[kThreadBytes + 2];  // byte i at i + 1
  uint32_t kept = 0;
  uint32_t markers = 0;  // begin here
  uint32_t end = kNoEnd;

  __device__ ThreadBytes(const JpegFrame& frame, uint32_t at, uint32_t end_of_data) {
    if (at >= frame.size) return;
    const uint4 four = *reinterpret_cast<const uint4*>(frame.bytes + at);
    const uint32_t words[4] = {four.x, four.y, four.z, four.w};
    byte[0] = at == 0 ? 0 : frame.bytes[at - 1];
    byte[kThreadBytes + 1] = at + kThreadBytes < frame.size ? frame.bytes[at + kThreadBytes] : 0xff;
#pragma unroll
    for (int i = 0; i < kThreadBytes; ++i) byte[i + 1] = words[i / 4] >> (i % 4 * 8);
#pragma unroll
    for (int i = 0; i < kThreadBytes; ++i) {
      const uint32_t before = byte[i], own = byte[i + 1];
      const uint32_t next = at + i + 1 < frame.size ? byte[i + 2] : 0xff;
      const bool inside = at + i < min(frame.size, end_of_data);
      const bool marker = own == 0xff && IsRestart(next);
      const bool second = before == 0xff && (own == 0 || IsRestart(own));
      if (inside && !marker && !second) kept |= 1u << i;
      if (inside && marker) markers |= 1u << i;
      if (inside && own == 0xff && next != 0 && !marker) end = min(end, at + i);
    }
  }
};

__global__ void __launch_bounds__(kThreads) CountStuffingKernel(GLINT_KERNEL_ARGUMENT JpegFrame frame) {
  __shared__ uint32_t kept, markers, end;
  AllowSuccessor();
  if (threadIdx.x == 0) kept = markers = 0, end = kNoEnd;
  __syncthreads();
  WaitForPredecessor();
  const uint32_t group = blockIdx.x * kThreads + threadIdx.x;
  if (group < frame.groups()) frame.states[group] = static_cast<uint32_t>(JpegGroupState::kNothing);
  const ThreadBytes own(frame, blockIdx.x * kChunkBytes + threadIdx.x * kThreadBytes, kNoEnd);
  const int warp_kept = WarpSum(__popc(own.kept)), warp_markers = WarpSum(__popc(own.markers));
  const uint32_t warp_end = ~WarpMax(~own.end);
  if (threadIdx.x % kWarp == 0) {
    atomicAdd(&kept, warp_kept);
    atomicAdd(&markers, warp_markers);
    atomicMin(&end, warp_end);
  }
  __syncthreads();
  if (threadIdx.x == 0) frame.chunks[blockIdx.x] = {kChunkBytes - kept, markers, end};
}

// Where the scan ends, and what there is in front of a chunk. By all threads of a block.
struct ChunkPlace {
  uint32_t end, dropped, markers;
};
__device__ ChunkPlace PlaceOf(const JpegFrame& frame, uint32_t chunks) {
  __shared__ ChunkPlace place;
  if (threadIdx.x == 0) place = {kNoEnd, 0, 0};
  __syncthreads();
  ChunkPlace own = {kNoEnd, 0, 0};
  for (uint32_t i = threadIdx.x; i < chunks; i += kThreads) {
    const JpegChunk chunk = frame.chunks[i];
    own.end = min(own.end, chunk.end);
    if (i >= blockIdx.x) continue;
    own.dropped += chunk.dropped;
    own.markers += chunk.markers;
  }
  const uint32_t end = ~WarpMax(~own.end);
  const int dropped = WarpSum(static_cast<int>(own.dropped)), markers = WarpSum(static_cast<int>(own.markers));
  if (threadIdx.x % kWarp == 0) {
    atomicMin(&place.end, end);
    atomicAdd(&place.dropped, dropped);
    atomicAdd(&place.markers, markers);
  }
  __syncthreads();
  return place;
}

// Bytes `from`, behind one another, to `to`, whole words where all of a word is theirs.
__device__ void CopyWords(const uint8_t* from, uint32_t count, uint8_t* to, uint32_t offset) {
  const uint32_t first = offset % 4;  // of `from`, which has this offset within its words
  const uint32_t words = (first + count + 3) / 4;
  auto* const aligned = reinterpret_cast<uint32_t*>(to + (offset - first));
  for (uint32_t i = threadIdx.x; i < words; i += kThreads) {
    const uint32_t begin = max(4 * i, first), end = min(4 * i + 4, first + count);
    if (end - begin == 4) {
      aligned[i] = reinterpret_cast<const uint32_t*>(from)[i];
    } else {
      for (uint32_t b = begin; b < end; ++b) reinterpret_cast<uint8_t*>(aligned)[b] = from[b];
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    RemoveStuffingKernel(GLINT_KERNEL_ARGUMENT JpegFrame frame, uint32_t chunks) {
  __shared__ __align__(16) uint8_t staged[kChunkBytes + 4];
  // Aligned, as the compiler reads all in words of 16 bytes, else with the end of `staged`, which others write then.
  __shared__ __align__(16) int warps[kThreads / kWarp];
  AllowSuccessor();
  WaitForPredecessor();
  const ChunkPlace place = PlaceOf(frame, chunks);
  const uint32_t begin = blockIdx.x * kChunkBytes;
  if (place.end == kNoEnd) {
    if (blockIdx.x == 0 && threadIdx.x == 0) Raise(frame, JpegReason::kScan);
    return;
  }
  if (begin > place.end) return;
  const ThreadBytes own(frame, begin + threadIdx.x * kThreadBytes, place.end);
  // Both sums in one: a chunk has at most 4096 bytes to keep, and 2048 markers.
  const int counts = __popc(own.kept) | __popc(own.markers) << 16;
  const int up_to = SumUpTo(counts);
  if (threadIdx.x % kWarp == kWarp - 1) warps[threadIdx.x / kWarp] = up_to;
  __syncthreads();
  int before = up_to - counts, all = 0;
  for (int w = 0; w < kThreads / kWarp; ++w) {
    if (w < static_cast<int>(threadIdx.x / kWarp)) before += warps[w];
    all += warps[w];
  }
  const uint32_t offset = begin - place.dropped;
  uint32_t to = before & 0xffff, marker = place.markers + (static_cast<uint32_t>(before) >> 16);
#pragma unroll
  for (int i = 0; i < kThreadBytes; ++i) {
    if (own.kept >> i & 1) staged[offset % 4 + to++] = own.byte[i + 1];
    if (own.markers >> i & 1) {
      if ((own.byte[i + 2] & 7) != (marker & 7)) Raise(frame, JpegReason::kScan);
      if (++marker < frame.scan.intervals) frame.begins[marker] = 8 * (offset + to);
    }
  }
  __syncthreads();
  CopyWords(staged, all & 0xffff, reinterpret_cast<uint8_t*>(frame.words), offset);
  if (threadIdx.x != 0 || place.end - begin >= kChunkBytes) return;
  // The last chunk.
  const bool complete = place.end + 1 < frame.size && frame.bytes[place.end + 1] == 0xd9 &&
                        place.markers + (static_cast<uint32_t>(all) >> 16) + 1 == frame.scan.intervals;
  if (!complete) return Raise(frame, JpegReason::kScan);
  const uint32_t bits = 8 * (offset + (all & 0xffff));
  frame.begins[0] = 0;
  frame.begins[frame.scan.intervals] = bits;
  frame.status->bits = bits;
}

}  // namespace

absl::Status CountStuffing(StreamView stream, const JpegFrame& frame) {
  return LaunchJpeg(stream, Begin::kEarly, CountStuffingKernel, frame.chunk_count(), kThreads, frame);
}

absl::Status RemoveStuffing(StreamView stream, const JpegFrame& frame) {
  return LaunchJpeg(stream, Begin::kEarly, RemoveStuffingKernel, frame.chunk_count(), kThreads, frame,
                    frame.chunk_count());
}

}  // namespace glint::cuda
