// The CUDA backend: one detector pipeline with its stream, pinned buffers and captured graphs. Equal, byte for byte, to
// features/reference. A build without CUDA has the same functions; Create() then returns an error that says so.
//
// Thread-compatible: one call at a time per Pipeline; Pipelines share nothing but a count of the frames under way.
// Device and pinned memory are taken for the largest shape allowed in Create() or when a shape is first seen; a frame
// of a known (shape, options) allocates nothing.
#ifndef GLINT_CUDA_PIPELINE_H_
#define GLINT_CUDA_PIPELINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/jpeg/jpeg_plan.h"
#include "cuda/runtime/hooks.h"
#include "features/depth.h"
#include "features/options.h"
#include "features/pixels.h"
#include "features/types.h"

namespace glint {
struct DepthTable;
}

namespace glint::cuda {

// How the host waits for the device. kAdaptive: spins for as long as the same shape and options lately took and a
// margin (ExpectedWait), then blocks.
enum class Wait { kAdaptive, kSpin, kYield, kBlock };

struct PipelineOptions {
  int device = 0;  // CUDA ordinal
  Wait wait = Wait::kBlock;
  int spinning = 0;  // of kAdaptive: threads of the process that may spin at the same time; others block at once
  int64_t max_image_pixels = kDefaultMaxImagePixels;
  int sm_limit = 0;  // run on this many multiprocessors (a green context; CUDA 12.5+); 0 = all
};

class Pipeline {
 public:
  // FAILED_PRECONDITION: built without CUDA, no driver, no such device (the text says which, and what was found).
  // RESOURCE_EXHAUSTED: out of device or pinned memory.
  static absl::StatusOr<std::unique_ptr<Pipeline>> Create(const PipelineOptions& options);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Arguments must be valid (ValidateOptions, ValidatePixels); `image` and `mask` are host memory, pinned or not, or
  // rows that are written to pinned memory, the first of them on their way to the device while the next are written;
  // those of PixelRows::remap() the device remaps itself. `mask` may be empty. `times` may be null. RESOURCE_EXHAUSTED
  // leaves the pipeline usable; after INTERNAL see fatal().
  absl::Status Detect(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                      StageTimes* times);

  // Detect() in two steps. Start() does not wait for the device, but for rows that are written to pinned memory;
  // `image` and `mask` stay as they are until Finish(), which each Start() without an error needs before any other
  // call. `features` and `times`, which are of the time in these two calls alone, are there after it.
  absl::Status Start(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                     StageTimes* times);
  absl::Status Finish();

  // As Detect(), of the luma of a JPEG file of `size` bytes that PlanJpeg() found to be for the device; decoding is
  // part of the upload's time. Any reason but kNone: the file must be decoded otherwise, and `features` is empty.
  // Memory for files grows to the largest one, half as much again, and is not that of Create(): pinned, 1.5 bytes for
  // each of its bytes and 32 KiB.
  absl::StatusOr<JpegReason> DetectJpeg(const DetectorOptions& options, const JpegPlan& plan, const uint8_t* file,
                                        size_t size, const Pixels& mask, Features* features, StageTimes* times);

  // reference::RegisterDepth(): the depths of `table`'s pixels, without limits, until the next call; in host memory, as
  // `depth` is. Empty: the host has to register it, as more tables take turns than the device keeps. Not between
  // Start() and Finish(). Errors as Detect().
  absl::StatusOr<DepthView> RegisterDepth(const DepthView& depth, const DepthTable& table);

  // The image of the last call to detect, which had no error, at its address on the device; until the next call.
  ImageView image_on_device() const;

  // Not OK after a sticky CUDA error: this process can use the device no more.
  const absl::Status& fatal() const;

  // For benchmarks, documented in cuda/runtime/hooks.h. Same rules as Detect(); both wait for the device.
  absl::StatusOr<DeviceTiming> TimeOnDevice(const DetectorOptions& options, const ImageView& image,
                                            const ImageView& mask, int repeats);
  absl::StatusOr<Floors> MeasureFloors(int64_t bytes_up, int64_t bytes_down, int repeats);

  struct Impl;

 private:
  friend class PipelineFactory;
  explicit Pipeline(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// OK if device `ordinal` can run this build's kernels; otherwise FAILED_PRECONDITION with the driver's and the device's
// state in words.
absl::Status ProbeDevice(int ordinal);

// Devices that the driver shows to this process; 0 without a driver.
int DeviceCount();

// Where a device is, "00000000:1B:00.0", for tools that count devices otherwise. Empty without a working device.
std::string DevicePciBusId(int ordinal);

// "NVIDIA H200 (sm_90, 132 SMs), driver 13.0". Empty without a working device.
std::string DeviceDescription(int ordinal);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PIPELINE_H_
