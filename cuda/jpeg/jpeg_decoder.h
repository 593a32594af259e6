// A JPEG decoder's memory on the device, and a frame's way through it. Not for a build without CUDA.
//
// Thread-compatible; belongs to one stream. Memory grows to the largest file and picture seen, and stays.
#ifndef GLINT_CUDA_JPEG_JPEG_DECODER_H_
#define GLINT_CUDA_JPEG_JPEG_DECODER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "cuda/jpeg/jpeg_plan.h"
#include "cuda/jpeg/jpeg_stages.h"
#include "cuda/runtime/api.h"
#include "cuda/runtime/owners.h"

namespace glint::cuda {

class JpegDecoder {
 public:
  // Copies a planned file to pinned memory and enqueues everything up to its luma in device memory `luma`, rows `pitch`
  // bytes apart. The file may go when this returns; the last frame must be done. RESOURCE_EXHAUSTED: out of memory.
  absl::Status Enqueue(StreamView stream, const JpegPlan& plan, const uint8_t* file, size_t size, uint8_t* luma,
                       int pitch);
  // What became of the last frame, which is done: kNone if its luma is right.
  JpegReason Result() const;
  // After an error on the stream: the next frame gets new memory.
  void Drop() { *this = JpegDecoder(); }

  // For benchmarks, the last frame again: the launches alone; or all that a frame is on the device, with kMarks events,
  // one in front and one behind each of upload, EnqueueJpeg()'s stages, and the status's way back.
  static constexpr int kMarks = kJpegStages + 3;
  absl::Status EnqueueAgain(StreamView stream);
  absl::Status EnqueueMarked(StreamView stream, const cudaEvent_t* marks);

 private:
  absl::Status MakeRoom(StreamView stream, const JpegPlan& plan, size_t scan_bytes);
  absl::Status EnqueueUpload(StreamView stream);
  absl::Status EnqueueStatus(StreamView stream);

  MappedBuffer staging_;  // as `input_`; then the status as it came back
  DeviceBuffer input_;    // tables, status, scan
  DeviceBuffer work_;
  DeviceBuffer coefficients_;
  size_t scan_room_ = 0;
  uint32_t interval_room_ = 0;
  JpegFrame frame_{};
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_JPEG_JPEG_DECODER_H_
