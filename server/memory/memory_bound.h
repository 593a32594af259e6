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
// A connection without calls, its handshake among it, and with TLS. Measured: 24 and 115 KiB.
inline constexpr int64_t kConnectionBytes = int64_t{32} << 10;
inline constexpr int64_t kTlsConnectionBytes = int64_t{128} << 10;
// A call that gRPC has received and nobody has asked for (server/net/http2_guard.h). Measured: 22 KiB.
inline constexpr int64_t kUnansweredCallBytes = int64_t{24} << 10;

struct MemoryBound {
  int64_t pending = 0;         // messages of queued frames and of those on lanes
  int64_t receipt = 0;         // per stream: a message in receipt or waiting for the queue
  int64_t detect = 0;          // per call of Detect: its message in receipt
  int64_t metadata = 0;        // per stream and call of Detect: headers
  int64_t small = 0;           // calls without an image
  int64_t connections = 0;     // per connection: buffers, and calls that have not been asked for
  int64_t detect_replies = 0;  // per call of Detect
  int64_t replies = 0;         // per stream: replies that wait for the client
  int64_t masks = 0;           // per stream: masks, as received and decoded or rectified
  int64_t sets = 0;            // per stream: kept descriptors
  int64_t tracks = 0;          // per tracking stream: images with pyramids, tracks, replies
  int64_t maps = 0;            // per localization stream: map, images, readings of an inertial sensor
  int64_t rectification = 0;   // tables of streams with raw images
  int64_t frames = 0;          // per frame, without its message; pooled ones included
  int64_t lanes = 0;           // per lane: pixels, pyramid, results

  // Quota of gRPC for what clients send: messages once or twice, and windows. gRPC's lists of the pieces of a message,
  // which a client can make longer than the message, are not in it, but in the terms above.
  int64_t quota = 0;

  int64_t total() const {
    return pending + receipt + detect + metadata + small + connections + detect_replies + replies + masks + sets +
           tracks + maps + rectification + frames + lanes;
  }
};

// Bytes of a lane per pixel of the largest image, at most: decoded and grey pixels, the codec's coefficients, pyramid,
// scores and candidates, whose lists reserve more, in pages that are never touched. Measured without decoding: 47
// resident (BFROST, 12 levels with factor 1.05). An image and its depths are two images to --max-image-pixels and take
// no more: depths have two bytes a pixel, and nothing is detected in them.
inline constexpr int64_t kLaneBytesPerPixel = 64;
// Additional bytes of a lane with several threads, per pixel of the largest image: they detect in both images of a pair
// in parallel, each with a pipeline of its own; both together are one image to --max-image-pixels. Measured: 42, at
// most, without masks, whose levels are 7.4 of the largest pyramid (tests/server/memory_test.cc).
inline constexpr int64_t kPairBytesPerPixel = 56;
// Bytes of a lane per keypoint: x, y, size, angle, response, octave, descriptor, ray, and their ranking; and for
// matching as many descriptors, of kSetBytesPerDescriptor: both sets out of the message, one of them packed again,
// conditions, keys, candidates and eight matches.
inline constexpr int64_t kLaneBytesPerFeature = 1024;
// Additional bytes of a lane per keypoint for tracking with several cameras: all but the descriptor of the keypoints of
// each camera but one.
inline constexpr int64_t kTrackBytesPerFeature = (kMaxTrackCameras - 1) * 6 * 4;
// Additional bytes of a CUDA lane per keypoint, for pinned memory: the keypoints of both images of a pair, by levels,
// and their matches beside the keypoints of a single image. Counted for 12 levels: 1154.
inline constexpr int64_t kCudaPairBytesPerFeature = 1280;
// Additional bytes of a CUDA lane that decodes JPEG, per pixel of the largest image: files of at most a byte a pixel,
// in pinned memory that grows by half.
inline constexpr int64_t kCudaJpegBytesPerPixel = 2;
// Tables of a CUDA lane that decodes JPEG.
inline constexpr int64_t kCudaJpegBytes = 64 << 10;
// Plans of a CUDA lane: 32 for single images and as many for each image of pairs (cuda/pipeline_prepare.cc). Measured:
// 460 KB each, at most.
inline constexpr int64_t kCudaPlansBytes = int64_t{48} << 20;
// Device memory of one CUDA pipeline, per pixel of the largest image, per keypoint, and beside these: levels, masks,
// scores and candidates, their bins and ties (tests/cuda/memory_test.cc: all presets, up to 12 levels with
// factor 1.05).
inline constexpr int64_t kPipelineBytesPerPixel = 80;
inline constexpr int64_t kPipelineBytesPerFeature = 264;
inline constexpr int64_t kPipelineBytes = int64_t{16} << 20;
// Additional bytes of a CUDA lane on an integrated GPU, whose memory is the host's. What both map is counted above, and
// once. Per pixel: the pipeline of single images, both of a pair, whose images have half of the pixels each, a JPEG
// file with its coefficients, and registered depths, with four bytes for each of half of the pixels. Per keypoint: the
// same pipelines, 1280 for the descriptors that a pair keeps, and 2240 for matching and stereo. Beside these: three
// pipelines, twice 16 MiB of descriptors of tied keypoints, and as much for the graphs of plans as on the host.
inline constexpr int64_t kIntegratedBytesPerPixel = 2 * kPipelineBytesPerPixel + 8 + 2 + 2;
// Tables of raw images on it, in parts of --max-rectification-bytes: of two rigs and of two single images, which packed
// take up to 7/4 of what the host counts; and those of two depth cameras, which take as much as there.
inline constexpr int64_t IntegratedTableBytes(int64_t max_rectification_bytes) {
  return (2 + 2) * max_rectification_bytes / 4 * 7 + 2 * max_rectification_bytes;
}
inline constexpr int64_t kIntegratedBytesPerFeature = 2 * kPipelineBytesPerFeature + 1280 + 2240;
inline constexpr int64_t kIntegratedBytes = 3 * kPipelineBytes + (int64_t{32} << 20) + kCudaPlansBytes;
// Bytes of gRPC per byte of a message in receipt or just received, at most. In DATA frames of 24 bytes, the smallest
// that become slices of their own: the bytes with headers of 9 (33/24); the list of slices of 32 bytes, which grows by
// half (48/24); its copy (32/24); and the concatenated message (1).
inline constexpr int64_t kReceiptBytesPerByte = 6;
// A frame, with the lists of pieces of its message (kMaxPieces) and of the images in it, which share these pieces: four
// lists at their longest, or as many as a frame of a tracking stream may have of the usual length.
inline constexpr int64_t kFrameBytes = 400 << 10;
// What a frame of a tracking stream may have more while it is in use: lists of its other images.
inline constexpr int64_t kMoreListsBytes = (2 * kMaxTrackCameras - 4) * (16 << 10);
// gRPC's list of the same number of slices.
inline constexpr int64_t kSliceListBytes = 400 << 10;
// A dropped or rejected frame that waits for its turn in the order of replies.
inline constexpr int64_t kDroppedFrameBytes = 4 << 10;
// Options of a call of Detect: the list of their pieces, which a client may make small.
inline constexpr int64_t kOptionsBytes = 3 << 20;
// A keypoint in a reply: five floats, octave, descriptor, and the three floats of a ray.
inline constexpr int64_t kReplyBytesPerFeature = 5 * 4 + 1 + 32 + 3 * 4;
// Bytes of the longest reply of detection or matching per feature of the server's limit `max_features`: eight matches
// of each query, of two indices and a distance, and keypoints of images, which have half as many each. Either both
// sides are images, or there are as many queries in the message, beside one image.
inline constexpr int64_t ReplyBytesPerFeature(int max_features) {
  const int64_t matches = 8 * ((max_features > 1 << 14 ? 3 + 3 : 2 + 2) + 2);
  const int64_t two_images = matches / 2 + kReplyBytesPerFeature;
  const int64_t one_image = matches + (kReplyBytesPerFeature + 1) / 2;
  return two_images > one_image ? two_images : one_image;
}
// A descriptor that a stream keeps, with its keypoint; three times while a set is changed.
inline constexpr int64_t kKeptBytesPerFeature = 3 * (64 + 16);

// Bytes of a tracking stream per pixel of its frames: the last and the next image of each camera, whose pyramids double
// the bytes of narrow ones, and images of other sizes that they replace. Templates count as pixels.
inline constexpr int64_t kTrackBytesPerPixel = 8;
// Bytes of a tracking stream per track, with a vector's reserve; with rays in the answer to an edit.
inline constexpr int64_t kTrackBytes = 2 * (64 + 3 * 4);
// Bytes of a tracking reply per track; as many tracks may end as begin: id, age, state, seven floats, age of the
// template, and the three floats of a ray.
inline constexpr int64_t kTrackReplyBytes = 2 * (10 + 5 + 1 + 7 * 4 + 5 + 3 * 4);

// Bytes of a localization stream per pixel of both images: the images and those of the last keyframe, with rows padded
// to 64 pixels, and those of another lane that they replace; two masks. Features are in the memory of lanes.
inline constexpr int64_t kLocalizeBytesPerPixel = 9;

// Bytes of a localization stream for an inertial sensor, whether it has one or not. Of each of gyroscope and
// accelerometer: 16384 readings that wait for their turn (40 bytes), 65536 for the last 16384, which are moved now and
// then (32), and twice 4096 of a message (32). Of both: three times the samples between two pairs, 16384 (56), and 72
// times 1024 of them: between the keyframes of the window, those of its adjustment, and the last poses.
// Poses at the times of 4096 and 512 readings (272); what is made of them is a reply.
inline constexpr int64_t kInertialBytes = int64_t{14} << 20;

// Lanes of a server, as the bound knows them.
struct BoundedLanes {
  int count = 0;
  Backend backend = Backend::kCpu;  // not kAuto
  bool integrated = false;          // all on GPUs that share the host's memory
};
BoundedLanes LanesToBound(const LaneSet& lanes);

// Memory bound of a server with these lanes.
MemoryBound ComputeMemoryBound(const ServerOptions& options, const BoundedLanes& lanes);
inline MemoryBound ComputeMemoryBound(const ServerOptions& options, int lanes, Backend backend = Backend::kCpu) {
  return ComputeMemoryBound(options, {lanes, backend});
}

// Empty if ComputeMemoryBound() is within `usable`. Otherwise a text with both, in MiB, and the flags, with their
// values, that contribute most: "3993 MiB are allowed by the limits, but --memory-limit is 2048 MiB; most by ...".
// Pure.
std::string MemoryExcess(const ServerOptions& options, const BoundedLanes& lanes, const UsableMemory& usable);

}  // namespace glint

#endif  // GLINT_SERVER_MEMORY_MEMORY_BOUND_H_
