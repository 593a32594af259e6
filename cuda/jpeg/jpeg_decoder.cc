#include "cuda/jpeg/jpeg_decoder.h"

#include <algorithm>
#include <cstring>

#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t Aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

constexpr size_t kStatusAt = Aligned(sizeof(JpegTables));
constexpr size_t kScanAt = kStatusAt + Aligned(sizeof(JpegStatus));

// Hands out parts of memory, or only counts them.
class Parts {
 public:
  explicit Parts(uint8_t* memory) : memory_(memory) {}

  template <typename T>
  void Give(T** part, size_t count) {
    if (memory_ != nullptr) *part = reinterpret_cast<T*>(memory_ + used_);
    used_ += Aligned(count * sizeof(T));
  }
  size_t used() const { return used_; }

 private:
  uint8_t* const memory_;
  size_t used_ = 0;
};

// What lies between the scan and its coefficients. The bytes that it takes.
size_t PlaceWork(uint8_t* memory, size_t scan_bytes, uint32_t intervals, JpegFrame* frame) {
  JpegFrame sizes{};
  sizes.size = static_cast<uint32_t>(scan_bytes);
  sizes.subsequence_words = kMinSubsequenceWords;
  const size_t groups = sizes.groups(), subsequences = groups * kJpegGroup;
  Parts parts(memory);
  parts.Give(&frame->chunks, sizes.chunk_count());
  parts.Give(&frame->words, subsequences * kMinSubsequenceWords + kWordsBehind);
  parts.Give(&frame->begins, size_t{intervals} + 1);
  parts.Give(&frame->ends, subsequences);
  parts.Give(&frame->passed, subsequences);
  parts.Give(&frame->maps, groups * kJpegWays);
  parts.Give(&frame->exits, groups);
  parts.Give(&frame->states, groups);
  parts.Give(&frame->sums, groups);
  return parts.used();
}

absl::Status Grow(StreamView stream, size_t bytes, DeviceBuffer* buffer) {
  *buffer = DeviceBuffer();
  GLINT_ASSIGN_OR_RETURN(*buffer, DeviceBuffer::Create(stream, bytes));
  return absl::OkStatus();
}

absl::Status RecordMark(StreamView stream, cudaEvent_t mark) {
  return ToStatus(stream.api->EventRecord(mark, stream.stream), "recording an event");
}

}  // namespace

absl::Status EnqueueJpeg(StreamView stream, const JpegFrame& frame, const cudaEvent_t* ends) {
  int stage = 0;
  const auto end_stage = [&] {
    const int number = stage++;
    return ends == nullptr ? absl::OkStatus() : RecordMark(stream, ends[number]);
  };
  GLINT_RETURN_IF_ERROR(CountStuffing(stream, frame));
  GLINT_RETURN_IF_ERROR(RemoveStuffing(stream, frame));
  GLINT_RETURN_IF_ERROR(end_stage());
  GLINT_RETURN_IF_ERROR(FindSymbols(stream, frame));
  GLINT_RETURN_IF_ERROR(end_stage());
  GLINT_RETURN_IF_ERROR(WriteCoefficients(stream, frame));
  GLINT_RETURN_IF_ERROR(end_stage());
  GLINT_RETURN_IF_ERROR(WriteLuma(stream, frame));
  return end_stage();
}

absl::Status JpegDecoder::MakeRoom(StreamView stream, const JpegPlan& plan, size_t scan_bytes) {
  const auto intervals = static_cast<uint32_t>(plan.intervals);
  if (scan_bytes > scan_room_ || intervals > interval_room_) {
    // Files of a camera differ in size: half as much again.
    const size_t scan_room =
        scan_bytes > scan_room_ ? std::min<size_t>(scan_bytes * 3 / 2, kMaxJpegScanBytes) : scan_room_;
    const uint32_t interval_room = std::max(intervals, interval_room_);
    scan_room_ = interval_room_ = 0;
    const size_t input = kScanAt + Aligned(scan_room + sizeof(uint32_t) * 4);
    GLINT_RETURN_IF_ERROR(Grow(stream, input, &input_));
    GLINT_RETURN_IF_ERROR(Grow(stream, PlaceWork(nullptr, scan_room, interval_room, &frame_), &work_));
    staging_ = MappedBuffer();
    GLINT_ASSIGN_OR_RETURN(staging_, MappedBuffer::Create(stream.api, input + Aligned(sizeof(JpegStatus))));
    scan_room_ = scan_room;
    interval_room_ = interval_room;
  }
  const auto coefficients = static_cast<size_t>(plan.luma_blocks()) * 64 * sizeof(int16_t);
  if (coefficients <= coefficients_.bytes()) return absl::OkStatus();
  return Grow(stream, coefficients, &coefficients_);
}

absl::Status JpegDecoder::Enqueue(StreamView stream, const JpegPlan& plan, const uint8_t* file, size_t size,
                                  uint8_t* luma, int pitch) {
  const size_t scan_bytes = size - plan.scan_begin;
  GLINT_RETURN_IF_ERROR(MakeRoom(stream, plan, scan_bytes));
  frame_.scan = ShapeOf(plan);
  frame_.shape = plan.shape;
  frame_.unit_columns = plan.unit_columns;
  frame_.luma_columns = plan.luma_columns;
  frame_.luma_rows = plan.luma_rows;
  frame_.luma_blocks = static_cast<uint32_t>(plan.luma_blocks());
  frame_.tables = reinterpret_cast<const JpegTables*>(input_.data());
  frame_.status = reinterpret_cast<JpegStatus*>(input_.data() + kStatusAt);
  frame_.bytes = input_.data() + kScanAt;
  frame_.size = static_cast<uint32_t>(scan_bytes);
  frame_.subsequence_words = SubsequenceWords(frame_.size, frame_.scan.blocks);
  frame_.coefficients = reinterpret_cast<int16_t*>(coefficients_.data());
  frame_.luma = luma;
  frame_.pitch = pitch;
  PlaceWork(work_.data(), scan_room_, interval_room_, &frame_);
  std::memcpy(staging_.data(), &plan.tables, sizeof plan.tables);
  std::memset(staging_.data() + kStatusAt, 0, sizeof(JpegStatus));
  std::memcpy(staging_.data() + kScanAt, file + plan.scan_begin, scan_bytes);
  GLINT_RETURN_IF_ERROR(EnqueueUpload(stream));
  GLINT_RETURN_IF_ERROR(EnqueueJpeg(stream, frame_));
  return EnqueueStatus(stream);
}

absl::Status JpegDecoder::EnqueueUpload(StreamView stream) {
  return ToStatus(stream.api->MemcpyAsync(input_.data(), staging_.data(), kScanAt + frame_.size, cudaMemcpyHostToDevice,
                                          stream.stream),
                  "copying a JPEG file to the device");
}

absl::Status JpegDecoder::EnqueueStatus(StreamView stream) {
  return ToStatus(stream.api->MemcpyAsync(staging_.data() + input_.bytes(), frame_.status, sizeof(JpegStatus),
                                          cudaMemcpyDeviceToHost, stream.stream),
                  "copying a JPEG file's state from the device");
}

absl::Status JpegDecoder::EnqueueAgain(StreamView stream) {
  GLINT_RETURN_IF_ERROR(
      ToStatus(stream.api->MemsetAsync(frame_.status, 0, sizeof(JpegStatus), stream.stream), "clearing a state"));
  return EnqueueJpeg(stream, frame_);
}

absl::Status JpegDecoder::EnqueueMarked(StreamView stream, const cudaEvent_t* marks) {
  GLINT_RETURN_IF_ERROR(RecordMark(stream, marks[0]));
  GLINT_RETURN_IF_ERROR(EnqueueUpload(stream));
  GLINT_RETURN_IF_ERROR(RecordMark(stream, marks[1]));
  GLINT_RETURN_IF_ERROR(EnqueueJpeg(stream, frame_, marks + 2));
  GLINT_RETURN_IF_ERROR(EnqueueStatus(stream));
  return RecordMark(stream, marks[kMarks - 1]);
}

JpegReason JpegDecoder::Result() const {
  JpegStatus status;
  std::memcpy(&status, staging_.data() + input_.bytes(), sizeof status);
  // Where boundaries were not found, nothing else that was found means anything.
  for (const JpegReason reason : {JpegReason::kSync, JpegReason::kScan, JpegReason::kRange}) {
    if (status.reasons >> static_cast<int>(reason) & 1) return reason;
  }
  return status.intervals == frame_.scan.intervals ? JpegReason::kNone : JpegReason::kScan;
}

}  // namespace glint::cuda
