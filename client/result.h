// Results of the client: plain values, named as in proto/glint/v1.
#ifndef GLINT_CLIENT_RESULT_H_
#define GLINT_CLIENT_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "features/types.h"
#include "features/warning.h"
#include "proto/terms.h"

namespace glint::client {

// Times of one frame on the server, nanoseconds. The parts follow each other within `total`.
struct Timings {
  int64_t receive_ns = 0;    // message bytes into a parsed frame
  int64_t queue_ns = 0;      // waiting for a lane
  int64_t decode_ns = 0;     // encoded pixels to grey ones
  int64_t upload_ns = 0;     // out of the message to the device, or to the CPU lane's memory; colours become grey
  int64_t detect_ns = 0;     // all stages of the detector; on a GPU upload + detect is exact, their parts are not
  int64_t match_ns = 0;      // of descriptors, or of the images of a pair
  int64_t track_ns = 0;      // pyramids and tracking of points
  int64_t locate_ns = 0;     // matching with the map, and the pose
  int64_t adjust_ns = 0;     // after the pose: keyframes, adjustment, loops; requests about the map
  int64_t download_ns = 0;   // back from the device, and into arrays
  int64_t serialize_ns = 0;  // the answer into the reply's bytes
  int64_t order_ns = 0;      // waiting for the replies of earlier frames of the stream
  int64_t total_ns = 0;      // all of these: first byte of the frame parsed to reply handed to gRPC

  // What detect_ns is made of; 0 is not measured apart.
  int64_t pyramid_ns = 0;
  int64_t corners_ns = 0;  // test, score, suppression
  int64_t select_ns = 0;   // ranking and ordering
  int64_t orient_ns = 0;
  int64_t describe_ns = 0;  // blur and descriptor

  int lane = 0;         // counted from 0
  std::string device;   // "cpu", "cuda:0"
  int queue_depth = 0;  // frames that were waiting when this one joined them
};

// What keypoints see with a calibrated camera: element i is that of keypoint i, a unit vector in camera coordinates (x
// to the right, y down, z ahead), with the lens undone; (0, 0, 0) outside the camera's model. Without a camera empty.
struct Rays {
  std::vector<float> x, y, z;

  void Clear() {
    for (auto* values : {&x, &y, &z}) values->clear();
  }
};

// The answer to one image. Every array of `features` has the same length.
struct Detection {
  Features features;
  Rays rays;                      // of a call or stream with a camera
  std::vector<Warning> warnings;  // what makes the image or its mask doubtful
  Timings timings;
  absl::Duration round_trip;  // as the client saw it: from the call, or the Write(), to the answer
};

using glint::DropReason;

// The answer to one frame of a stream. Without OK, the frame failed and `detection` has no features; the stream lives
// on.
struct FrameResult {
  uint64_t frame_id = 0;
  absl::Status status;
  // Of a good frame that the server dropped, as the stream's options asked for.
  DropReason drop_reason = DropReason::kNone;
  absl::Duration retry_after;  // of kRejected: when it might be taken
  Detection detection;
};

// What the server accepts at most; glint.v1.ServerLimits has the details and the flags.
struct ServerLimits {
  int64_t max_image_pixels = 0;  // of an image; of both images of a pair together
  int max_features = 0;          // of a frame; each image of a pair has half of it
  int64_t max_message_bytes = 0;
  int max_sessions = 0;  // streams open at a time
  int max_sessions_per_client = 0;
  int max_in_flight = 0;     // unanswered frames of a stream
  int max_detect_calls = 0;  // unary calls with images at a time
  int max_track_streams = 0;
  int max_track_cameras = 0;
  int max_tracks = 0;            // of a stream
  int64_t max_track_pixels = 0;  // of all images of a frame
  int max_localize_streams = 0;
  int64_t max_localize_pixels = 0;  // of both images of a pair
  int max_map_keyframes = 0;
  int max_map_points = 0;
  int64_t max_map_bytes = 0;
  absl::Duration stream_first_message_timeout;
  absl::Duration stream_idle_timeout;
  int64_t max_shared_memory_bytes = 0;
  int max_shared_memory_regions = 0;
  int64_t max_match_pairs = 0;  // of descriptors that one match may compare
  int64_t max_rectification_bytes = 0;
};

// GetServerInfoResponse: version, device and limits of the server.
struct ServerInfo {
  std::string version;
  std::string backend;  // "cpu" or "cuda"
  std::string device;   // in words
  std::string simd;     // "AVX2"
  int lanes = 0;
  int queue_capacity_frames = 0;
  ServerLimits limits;
  std::vector<std::string> presets;
  std::string shared_memory_socket;  // its path on the server; empty: no shared memory
  std::vector<std::string> devices;  // "cpu", or "cuda:0", "cuda:1"
  int64_t memory_bound_bytes = 0;    // host memory that its limits allow it to take
  std::vector<std::string> methods;  // that it serves: "glint.v1.FeatureDetection/DetectStream"
  bool has_cuda = false;             // built with the CUDA backend
  bool has_map_directory = false;    // LocalizeStream can save and load maps
  // What its machine or container lets the server have, each with what sets it. 0 and empty: an older server.
  double usable_processors = 0;  // seconds of processors per second
  std::string processors_source;
  int64_t usable_memory_bytes = 0;
  std::string memory_source;
  int64_t max_threads = 0;  // threads and processes together
  std::string threads_source;
  bool has_calibration_directory = false;  // it knows cameras by name
};

// grpc.health.v1's answer. A server that does not know the service answers NOT_FOUND instead.
enum class Health { kUnknown, kServing, kNotServing };

// Of a call or stream that the server has refused with RESOURCE_EXHAUSTED for now: the time after which it may go well.
// Nothing: the status does not say.
std::optional<absl::Duration> RetryAfterOf(const absl::Status& status);

}  // namespace glint::client

#endif  // GLINT_CLIENT_RESULT_H_
