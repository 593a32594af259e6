// Options of a server, set by its user. The flags of glint-server (server/config/flags.h) are these fields. With the
// default limits, ComputeMemoryBound() (server/memory/memory_bound.h) is below 4 GiB on machines of up to four
// processors.
#ifndef GLINT_SERVER_CONFIG_OPTIONS_H_
#define GLINT_SERVER_CONFIG_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "features/limits.h"
#include "lane/lane.h"
#include "server/base/log.h"
#include "server/config/client_limits.h"
#include "server/config/track_limits.h"
#include "server/net/connection_options.h"
#include "server/net/tls.h"
#include "server/shm/shared_memory.h"

namespace glint {

// Clients that may use gRPC reflection: none, those on the same machine, or all.
enum class Reflection { kOff, kLoopback, kOn };

struct ServerOptions {
  // "HOST:PORT" (port 0: any free one) or "unix:PATH". May be empty: then only InProcessChannel() reaches the server.
  std::vector<std::string> listen = {"127.0.0.1:50051"};
  // The only client is in this process, whose user has no flags: errors say what can be done there (ForClient()).
  bool in_process = false;
  // "HOST:PORT" of /metrics, /healthz and /readyz; empty: none.
  std::string metrics_listen = "127.0.0.1:9464";

  TlsFiles tls;                  // of the TCP addresses in `listen`
  bool allow_plaintext = false;  // no warning for an address without TLS that other machines can reach
  std::string access_file;       // access rules (server/access/access_rules.h); empty: everyone may call everything

  LaneOptions lanes;  // lanes.max_image_pixels is the limit of an image
  // Frames that wait for a lane, over all streams and calls, >= 1. Streams stop being read when it is reached; calls
  // of Detect are refused.
  int queue_capacity = 64;
  // Bytes of messages whose frames wait for a lane or are on one, >= max_message_bytes. At the limit, as for
  // queue_capacity, streams are not read and calls of Detect are refused.
  int64_t max_pending_bytes = int64_t{64} << 20;
  // Processors for the lanes' threads, and for the threads of gRPC and its completion queues; empty: all. In the range
  // 0..kMaxCpu, each one that the process may use.
  std::vector<int> lane_cpus, completion_cpus;
  int cpu_dma_latency_us =
      -1;                    // while the server lives (server/base/placement.h), 0..kMaxCpuDmaLatencyUs; -1: as it is
  int max_features = 16384;  // of one frame, 1..kMaxFeatures
  // Pairs of descriptors that one match may compare (server/wire/match_pairs.h), 1..kMaxMatchPairsCeiling. The default
  // takes about a second of one processor.
  int64_t max_match_pairs = int64_t{1} << 30;
  // Size of one serialized message, in and out. The default holds a pair of 1920x1080 with three bytes a pixel.
  int max_message_bytes = 13 << 20;
  int max_detect_calls = 4;                                   // calls of Detect from their arrival to their end
  absl::Duration detect_receive_timeout = absl::Seconds(10);  // from such a call's arrival to that of all its message
  absl::Duration detect_reply_timeout = absl::Seconds(10);    // for the client to take its reply
  // Calls without a picture (health, GetServerInfo, shared memory, reflection) whose message is awaited; also, open
  // streams of reflection.
  int max_small_calls = 64;
  absl::Duration small_call_timeout =
      absl::Seconds(5);     // for each message of theirs, and for the client to take a reply
  int max_watchers = 1024;  // calls of Health.Watch open at the same time
  Reflection reflection = Reflection::kOn;
  int max_sessions = 10;  // streams open at the same time
  // Of one client, an identity or a peer. 0: ShareOfOnePeer(max_sessions), of which those beyond
  // KeptByOnePeer(max_sessions) make way for other clients where all are taken (server/session/places.h).
  int max_sessions_per_peer = 0;
  int max_track_streams = 4;                       // of these, tracking streams; 0: tracking is off
  int max_track_cameras = kMaxTrackCameras;        // images per frame of a tracking stream, 1..kMaxTrackCameras
  int max_tracks = 4096;                           // points of a tracking stream, 1..kMaxTrackPoints
  int64_t max_track_pixels = int64_t{4} << 20;     // of all images of its frame, rows padded to 64 pixels
  int max_localize_streams = 2;                    // of the streams, localization streams; 0: localization is off
  int64_t max_localize_pixels = int64_t{4} << 20;  // of both images of a localization stream
  int max_map_keyframes = 8192;                    // of its map
  int max_map_points = 1 << 21;                    // of its map
  int64_t max_map_bytes = int64_t{451} << 20;      // memory of its map
  std::string map_directory;                       // folder for saved maps; empty: none
  int max_maps = 64;                               // files in map_directory
  std::string calibration_directory;               // folder of rigs that clients name; empty: none
  // Tables of all streams with raw images together, 0..kMaxRectificationBytes; 0: raw images are off.
  int64_t max_rectification_bytes = int64_t{42} << 20;
  ClientLimits client_limits;
  // Time from a stream's start to the end of its first message.
  absl::Duration stream_first_message_timeout = absl::Seconds(10);
  // Time that a stream may be idle: without a frame from its client, or with a reply that the client does not read. The
  // time does not run while the server owes replies.
  absl::Duration stream_idle_timeout = absl::Minutes(5);
  ConnectionOptions connections;
  int max_in_flight = 8;              // unanswered frames of one stream
  SharedMemoryOptions shared_memory;  // needs a unix:PATH in `listen`
  // Host memory that the process may use, bytes: Server::Create() fails if the limits allow more (MemoryExcess()); 0:
  // what FindUsableMemory() finds, and Create() does not fail.
  int64_t memory_limit = 0;
  // A lane that works on one frame for longer hangs: the server is NOT_SERVING until the frame is finished.
  absl::Duration lane_timeout = absl::Seconds(30);
  // A lane that hangs for longer than this after `lane_timeout` is given up: Server::Wait() returns an error.
  absl::Duration lane_grace = absl::Minutes(1);
  absl::Duration drain_timeout = absl::Seconds(10);
  LogFormat log_format = LogFormat::kText;

  // Creates the lanes. Tests replace it.
  std::function<absl::StatusOr<LaneSet>(const LaneOptions&)> create_lanes = CreateLanes;
};

// Upper (and lower) bounds of the flags.
inline constexpr int kMaxDevice = 1023;
inline constexpr int kMaxCpuDmaLatencyUs = 1'000'000;
inline constexpr int kMaxQueueCapacity = 1 << 16;
inline constexpr int64_t kMaxMatchPairsCeiling = int64_t{1} << 40;
inline constexpr int kMaxDetectCallsCeiling = 1 << 16;
inline constexpr int kMaxSmallCallsCeiling = 1 << 16;
inline constexpr int kMaxWatchersCeiling = 1 << 20;
inline constexpr int kMaxSessionsCeiling = 1 << 16;
inline constexpr int kMaxInFlightCeiling = 1 << 12;
inline constexpr int64_t kMinTrackPixels = 64;
inline constexpr int64_t kMinMapBytes = int64_t{16} << 20;  // half of it is the index of an empty map
inline constexpr int64_t kMaxMapBytesCeiling = int64_t{1} << 40;
inline constexpr int kMaxMapKeyframesCeiling = 1 << 20;
inline constexpr int kMaxMapPointsCeiling = 1 << 28;
inline constexpr int kMaxMapsCeiling = 1 << 20;
inline constexpr int64_t kMaxRectificationBytes = int64_t{1} << 40;
inline constexpr int kMaxMessageBytesFloor = 1 << 10;
inline constexpr int64_t kMemoryLimitFloor = int64_t{1} << 26;
inline constexpr int64_t kMaxSharedMemoryBytes = int64_t{1} << 44;
inline constexpr int kMaxSharedMemoryRegions = 1 << 12;

// This build's version, "0.1.0".
const char* ServerVersion();

// Checks all options. INVALID_ARGUMENT names the flag, its value and its range.
absl::Status ValidateServerOptions(const ServerOptions& options);

}  // namespace glint

#endif  // GLINT_SERVER_CONFIG_OPTIONS_H_
