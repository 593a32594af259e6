// A lane is one unit of concurrency: a detector, matcher and tracker of one backend with all its buffers. It is the
// only virtual interface between the server (and the tools) and the backends; CPU or CUDA is chosen when a lane is
// created.
//
// Thread-compatible: one call at a time. Different lanes share nothing and may run concurrently. After a frame with its
// largest shape and options a lane allocates nothing.
#ifndef GLINT_LANE_LANE_H_
#define GLINT_LANE_LANE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "features/checkpoint.h"
#include "features/depth.h"
#include "features/matcher.h"
#include "features/options.h"
#include "features/parallel.h"
#include "features/pixels.h"
#include "features/stereo.h"
#include "features/tracker.h"
#include "features/types.h"

namespace glint {

struct DepthTable;

enum class Backend { kAuto, kCpu, kCuda };
// How a lane waits for its GPU. kAdaptive: spin for as long as such frames recently took, then block; also poll for the
// next frame before sleeping. SpinningThreads() limits how many threads may spin.
enum class GpuWait { kAdaptive, kSpin, kYield, kBlock };

// Decoder of JPEG frames. kGpu: the device of CUDA lanes, with libjpeg-turbo as fallback; kAuto: kGpu if lanes are on
// CUDA; kCpu: libjpeg-turbo alone. Results are the same.
enum class JpegDecoding { kAuto, kGpu, kCpu };

inline constexpr int kMaxLanes = 1024;
inline constexpr int kMaxThreadsPerLane = 256;

struct LaneOptions {
  Backend backend = Backend::kAuto;  // kAuto: CUDA if a device works, else the CPU
  // Lanes per device, 0..kMaxLanes; 0: one per processor (CPU), one per two of them, 2 to 8 (CUDA). Processors are
  // those that the process may use (FindUsableProcessors()), and threads of a lane have one each.
  int lanes = 0;
  int threads_per_lane = 1;  // 1..kMaxThreadsPerLane; CPU: threads that share one frame, the lane's own included
  GpuWait gpu_wait = GpuWait::kAdaptive;
  JpegDecoding jpeg = JpegDecoding::kAuto;  // kGpu needs CUDA lanes
  std::vector<int> devices;                 // CUDA ordinals, `lanes` on each; empty: all usable devices
  int64_t max_image_pixels = kDefaultMaxImagePixels;
  int sm_limit = 0;  // CUDA, for benchmarks: number of multiprocessors to use; 0: all
};

// Result of a stereo pair.
struct StereoPairResult {
  Features left, right;
  StereoResult matches;
  int64_t match_ns = 0;
};

// Reason why a JPEG frame of a lane whose device decodes went to libjpeg-turbo. Up to kSync as in
// cuda/jpeg/jpeg_plan.h.
enum class JpegFallback {
  kNone,
  kKind,
  kSampling,
  kColour,
  kTables,
  kHeader,
  kSize,
  kScan,
  kRange,
  kSync,
  kMemory,  // the device or pinned memory has no room for the decoder
  kRegion,  // a region of interest was requested
};
inline constexpr int kJpegFallbackCount = 12;
// "kind", "scan", ...; label values of metrics.
const char* NameOf(JpegFallback fallback);

// Outcome of a JPEG file on a lane's device.
struct JpegRun {
  JpegFallback fallback = JpegFallback::kNone;  // else no result: decode with libjpeg-turbo
  int64_t decode_ns = 0;                        // on the device, with the upload of the file
};

inline constexpr int64_t StageTimes::*kStageTimes[] = {
    &StageTimes::upload_ns,  &StageTimes::detect_ns, &StageTimes::download_ns, &StageTimes::pyramid_ns,
    &StageTimes::corners_ns, &StageTimes::select_ns, &StageTimes::orient_ns,   &StageTimes::describe_ns};

// An image that a lane has found features in: that of Run(), or one of RunStereo().
enum class FoundImage { kOnly, kLeft, kRight };

// Frames of a camera with their pyramids, on the device of the lane that made them. Any lane of the same LaneSet may
// use them, one at a time; that device does the work.
class TrackFrames {
 public:
  virtual ~TrackFrames() = default;
};

// Adds the stage times of frames that ran one after another.
inline void AddTimes(const StageTimes& more, StageTimes* sum) {
  for (const auto field : kStageTimes) sum->*field += more.*field;
}

class Lane {
 public:
  virtual ~Lane() = default;

  // Detects features in `image`. `options`, `image` and `mask` must be valid (ValidateOptions, ValidatePixels; strides
  // of views at least their width). Rows are written straight into the lane's memory, once; the upload time includes
  // this. On error, which has kDeviceErrorPayload if the device caused it, `features` is cleared and the lane remains
  // usable, unless fatal() is no longer OK.
  virtual absl::Status Run(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                           StageTimes* times) = 0;

  // Run() in two steps, between which the lane may make and follow TrackFrames, and nothing else. A device works
  // meanwhile; elsewhere StartRun() does all the work. `image` and `mask` must stay valid until FinishRun(), which sets
  // `features` and `times`; call it once for each successful StartRun().
  virtual absl::Status StartRun(const DetectorOptions& options, const Pixels& image, const Pixels& mask,
                                Features* features, StageTimes* times);
  virtual absl::Status FinishRun() { return absl::OkStatus(); }

  // True if the lane's device remaps the rows of PixelRows::remap(). Else it is better to have them in memory if they
  // are needed more than once.
  virtual bool remaps() const { return false; }

  // Depths of the pixels of `table`'s image, as reference::RegisterDepth(): a view of `samples`, or of memory of the
  // lane, until the next call. They have no limits: those of `depth`, which are of the sensor's axis, have been
  // applied. `depth` has table.source's shape. Errors as Run(). The default is the CPU's.
  virtual absl::StatusOr<DepthView> RegisterDepth(const DepthView& depth, const DepthTable& table,
                                                  std::vector<uint16_t>* samples);

  // Threads of the lane for work before Run(); null: one thread.
  virtual Parallel* parallel() { return nullptr; }

  // True if RunJpeg() decodes on the lane's device.
  virtual bool decodes_jpeg() const { return false; }
  // Run() on the luma of a JPEG file whose header is valid and says `shape`, which must be the shape of `mask`, if
  // there is one. The file is read during the call only. UNIMPLEMENTED: not supported by this lane.
  virtual absl::StatusOr<JpegRun> RunJpeg(const DetectorOptions& options, absl::Span<const uint8_t> file, Shape shape,
                                          const Pixels& mask, Features* features, StageTimes* times);

  // Detects features in both images of a rectified pair, each as Run() with its mask, and matches them. `options` must
  // be valid and with a descriptor, `stereo` valid. As Run() otherwise. `times` are those of both images together,
  // without matching; a device's upload is in detect_ns, its download in match_ns. UNIMPLEMENTED: not supported by this
  // lane.
  virtual absl::Status RunStereo(const DetectorOptions& options, const StereoOptions& stereo, const PixelPair& pair,
                                 StereoPairResult* found, StageTimes* times);

  // Matches descriptors. Arguments must be valid (ValidateMatchOptions, ValidateMatchInput). UNIMPLEMENTED: not
  // supported by this lane.
  virtual absl::Status Match(const MatchInput& input, const MatchOptions& options, MatchResult* result);

  // Detects features in two images of any shapes; `options` with a descriptor, otherwise as Run(). The times are those
  // of both together. The default runs one image after the other.
  virtual absl::Status RunBoth(const DetectorOptions& options, const Pixels& first, const Pixels& second,
                               Features* first_features, Features* second_features, StageTimes* times);
  // Match() of the descriptors that the preceding RunBoth() computed, without a copy to the device. `input` must be
  // these descriptors, with the first image's as queries.
  virtual absl::Status MatchBoth(const MatchInput& input, const MatchOptions& options, MatchResult* result);

  // Allocates `count` frames of one shape, from which up to `max_points` points are tracked. UNIMPLEMENTED: not
  // supported by this lane. RESOURCE_EXHAUSTED: out of memory.
  virtual absl::StatusOr<std::unique_ptr<TrackFrames>> MakeTrackFrames(Shape shape, const TrackOptions& options,
                                                                       int max_points, int count);
  // Stores `image`, which has the frames' shape, as frame `number`. Returns its grey pixels, valid until the next call
  // of this function with these frames.
  virtual absl::StatusOr<ImageView> SetTrackFrame(TrackFrames* frames, int number, const Pixels& image);
  // SetTrackFrame() without a copy where a device can read the pixels in place: they must stay valid until
  // ReleasePixels().
  virtual absl::StatusOr<ImageView> LendTrackFrame(TrackFrames* frames, int number, const Pixels& image);
  virtual absl::Status ReleasePixels(TrackFrames*) { return absl::OkStatus(); }
  // SetTrackFrame() of `image`, the one of the lane's last Run() or RunStereo(), which had no error; a device takes it
  // from where it lies. Then the lane works on no other image before ReleasePixels().
  virtual absl::Status KeepTrackFrame(TrackFrames* frames, int number, FoundImage found, const Pixels& image);
  // Track points from the frames of `segments` to frame `to`, as TrackBackend (server/operations/track/track_session.h)
  // says; a device overlaps several TrackFrames. The frames must have been set, points be valid, and `options` be those
  // that `frames` were made with.
  virtual absl::Status StartFollow(TrackFrames* frames, int to, const TrackInput& points,
                                   absl::Span<const TrackSegment> segments, const TrackOptions& options,
                                   TrackResult* result);
  virtual absl::Status FinishFollow(TrackFrames* frames, TrackResult* result);

  // What Match(), MatchBoth(), RunBoth() and RunStereo() ask between their parts on the CPU; they return CANCELLED
  // where it ends them. A device's kernels take milliseconds and do not ask. Set between calls.
  void set_checkpoint(Checkpoint checkpoint) { checkpoint_ = std::move(checkpoint); }

  // Not OK once the device is lost for this process (a sticky CUDA error). No later Run() succeeds.
  virtual absl::Status fatal() const = 0;

  // "cpu", "cuda:0".
  virtual const std::string& device() const = 0;

 protected:
  const Checkpoint& checkpoint() const { return checkpoint_; }

 private:
  Checkpoint checkpoint_;
};

// Page-locks memory of frames, so that devices read it, and only read it, without a copy. Unpin after the last such
// frame, before the memory is unmapped; if that fails, the memory must stay mapped. Thread-safe.
struct MemoryPinning {
  std::function<absl::Status(absl::Span<const uint8_t>)> pin;  // null: pinning has no use for these lanes
  std::function<absl::Status(absl::Span<const uint8_t>)> unpin;
};

struct LaneSet {
  std::vector<std::unique_ptr<Lane>> lanes;
  Backend backend = Backend::kCpu;  // never kAuto
  std::string device;               // for people: "AMD EPYC", "NVIDIA H200 (sm_90), driver 13.0"; joined with ", "
  struct Gpu {
    std::string device;      // as Lane::device()
    std::string pci_bus_id;  // "00000000:1B:00.0"
  };
  std::vector<Gpu> gpus;  // devices of the lanes
  std::string simd;       // "AVX2"
  MemoryPinning pinning;
  int max_spinning = 0;  // lanes that may spin for a frame at the same time
  std::string note;      // why kAuto chose the CPU, a device is left out, or lanes are fewer; else empty
};

// For GpuWait::kAdaptive: how many threads of the process may spin for a GPU at the same time, given the number of
// processors it may use. Half of the processors; a quarter for integrated GPUs, whose kernels take longer and which
// share memory and power with the CPU; none below four processors. Half as many lanes may poll for frames.
constexpr int SpinningThreads(int processors, bool integrated) {
  return processors < 4 ? 0 : processors / (integrated ? 4 : 2);
}

// FAILED_PRECONDITION for kCuda without a working device; the text names driver and device state. INVALID_ARGUMENT for
// JpegDecoding::kGpu without lanes on CUDA. RESOURCE_EXHAUSTED: a thread cannot be made.
absl::StatusOr<LaneSet> CreateLanes(const LaneOptions& options);

}  // namespace glint

#endif  // GLINT_LANE_LANE_H_
