// Upper bound of the host memory that a server's limits allow.
#ifndef GLINT_SERVER_MEMORY_MEMORY_BOUND_H_
#define GLINT_SERVER_MEMORY_MEMORY_BOUND_H_

#include <cstdint>
#include <string>

#include "server/base/usable_memory.h"
#include "server/config/options.h"

namespace glint {

// Bytes that a client may send on each stream before they are read: gRPC's flow-control window. On fast machines and
// networks gRPC lets it grow (32 MiB was seen) while little of the quota below is in use.
inline constexpr int64_t kReceiveWindowBytes = int64_t{4} << 20;
// Metadata of a call. gRPC rejects calls with more. Counted twice: as received and as stored.
inline constexpr int64_t kMaxMetadataBytes = int64_t{8} << 10;
// A call without an image: message, reply, and gRPC's state of a call. The longest reply is that of reflection.
inline constexpr int64_t kSmallCallBytes = int64_t{64} << 10;
inline constexpr int64_t kWatcherBytes = int64_t{16} << 10;
// Sockets' read buffers and headers.
inline constexpr int64_t kConnectionBytes = int64_t{32} << 20;

struct MemoryBound {
  int64_t pending = 0;   // messages whose frames wait in the queue or are on lanes: --max-pending-bytes
  int64_t receipt = 0;   // of each stream: a message that is being received, or waits outside the queue before the next
  int64_t detect = 0;    // of each call of Detect: its message that is being received
  int64_t metadata = 0;  // of each stream and call of Detect: its headers
  int64_t small = 0;     // calls without a picture
  int64_t detect_replies = 0;  // of each call of Detect
  int64_t replies = 0;         // of each stream: replies that wait for the client
  int64_t masks = 0;           // of each stream: as it came, and as pixels
  int64_t sets = 0;            // of each stream: descriptors that it keeps
  int64_t tracks = 0;          // of each stream that follows points: images with pyramids, tracks, replies
  int64_t maps = 0;            // of each stream that locates a camera: its map and images
  int64_t frames = 0;          // what each frame takes beside its message, in use or kept for use
  int64_t lanes = 0;           // each lane's pixels, pyramid and results

  // What gRPC is told to hold at most of what comes from clients: messages once or twice, and windows. Its lists of the
  // pieces of a message, which a client can make longer than the message, are not counted there, but above.
  int64_t quota = 0;

  int64_t total() const {
    return pending + receipt + detect + metadata + small + kConnectionBytes + detect_replies + replies + masks + sets +
           tracks + maps + frames + lanes;
  }
};

// Bytes that a lane takes for each pixel of the largest picture, at most: decoded and grey pixels, the codec's
// coefficients, pyramid, scores and candidates, whose lists have room for more, in pages that are never touched.
// Measured without decoding: 47 resident (BFROST, 12 levels with factor 1.05). An image and its depths are two images
// to
// --max-image-pixels, and take no more: depths are two bytes a pixel, but nothing is found in them.
inline constexpr int64_t kLaneBytesPerPixel = 64;
// ... and more with several threads, which detect in the images of a pair side by side, each with a pipeline of its
// own: both images together are one to --max-image-pixels. Measured: 42, at most (tests/server/memory_test.cc).
inline constexpr int64_t kPairBytesPerPixel = 48;
// ... and for each keypoint: x, y, size, angle, response, octave, descriptor, and their ranking; and to match as many
// descriptors, of kSetBytesPerDescriptor: both sets out of the message, one of them packed again, conditions, keys,
// candidates and eight matches.
inline constexpr int64_t kLaneBytesPerFeature = 1024;
// ... and more for points of several cameras: all but the descriptor of the keypoints of each camera but one.
inline constexpr int64_t kTrackBytesPerFeature = (kMaxTrackCameras - 1) * 6 * 4;
// ... and more on CUDA, which pins the keypoints of both images of a pair, by levels, and their matches beside the
// keypoints of a single image. Counted for 12 levels: 1154.
inline constexpr int64_t kCudaPairBytesPerFeature = 1280;
// ... and more on CUDA lanes that decode JPEG: files of at most a byte for each pixel of the largest picture, in pinned
// memory that grows by half as much again.
inline constexpr int64_t kCudaJpegBytesPerPixel = 2;
// ... and tables, of each lane.
inline constexpr int64_t kCudaJpegBytes = 64 << 10;
// ... and 32 plans for single images and as many for each image of pairs (cuda/pipeline_prepare.cc), of each CUDA lane.
// Measured: 460 KB each, at most.
inline constexpr int64_t kCudaPlansBytes = int64_t{48} << 20;
// What gRPC takes for each byte of a message that it receives or has just received, at most. In DATA frames of 24
// bytes, the smallest that become slices of their own: the bytes as they came, with headers of 9 (33/24); the list of
// slices of 32 bytes, which grows by half (48/24); its copy (32/24); and the message put together (1).
inline constexpr int64_t kReceiptBytesPerByte = 6;
// A frame's lists of pieces when they are at their longest (kMaxPieces), and the rest of it.
inline constexpr int64_t kFrameBytes = 400 << 10;
// gRPC's list of the same number of slices.
inline constexpr int64_t kSliceListBytes = 400 << 10;
// A dropped or rejected frame that waits for its turn in the order of replies.
inline constexpr int64_t kDroppedFrameBytes = 4 << 10;
// ... and the list of its options' pieces, which a call of Detect may cut smaller.
inline constexpr int64_t kOptionsBytes = 3 << 20;
// A keypoint in a reply: five floats, octave, descriptor.
inline constexpr int64_t kReplyBytesPerFeature = 5 * 4 + 1 + 32;
// What a reply to a match has for each of the server's features: eight matches of each query, and the keypoints of an
// image, which has half as many.
inline constexpr int64_t kMatchReplyBytesPerFeature = 8 * (3 + 3 + 2) + (kReplyBytesPerFeature + 1) / 2;
// A descriptor that a stream keeps, with its keypoint; twice more while a set is changed.
inline constexpr int64_t kKeptBytesPerFeature = 3 * (64 + 16);

// Of a stream that follows points, for each pixel of its frames: the last and the next image of each camera, whose
// pyramids double the bytes of narrow ones, and those of other sizes that they replace. Templates count as pixels.
inline constexpr int64_t kTrackBytesPerPixel = 8;
// ... and for each track: as it is kept, with a vector's reserve.
inline constexpr int64_t kTrackBytes = 2 * 64;
// ... and in a reply, where as many may end as begin: id, age, state, seven floats, age of the template.
inline constexpr int64_t kTrackReplyBytes = 2 * (10 + 5 + 1 + 7 * 4 + 5);

// Of a stream that locates a camera, for each pixel of both images: these and that of the last keyframe, with rows
// in units of 64 pixels, and those of another lane that they replace. Lanes find the features, in memory of theirs.
inline constexpr int64_t kLocalizeBytesPerPixel = 8;

// `backend`: that of the lanes, not kAuto.
MemoryBound ComputeMemoryBound(const ServerOptions& options, int lanes, Backend backend = Backend::kCpu);

// Empty if ComputeMemoryBound() is within `usable`. Otherwise both, in MiB, and the flags, with their values, that make
// up most of the bound: "3993 MiB are allowed by the limits, but --memory-limit is 2048 MiB; most by ...". Pure.
std::string MemoryExcess(const ServerOptions& options, int lanes, Backend backend, const UsableMemory& usable);

}  // namespace glint

#endif  // GLINT_SERVER_MEMORY_MEMORY_BOUND_H_
