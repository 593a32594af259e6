// Every metric of the server: its name, and the help text that goes with it on the page.
#ifndef GLINT_SERVER_METRICS_NAMES_H_
#define GLINT_SERVER_METRICS_NAMES_H_

namespace glint::metric {

struct Name {
  const char* name;
  const char* help;
};

// Calls of glint.v1.FeatureDetection, by grpc_type, grpc_service, grpc_method (and grpc_code), as other gRPC servers
// name them.
inline constexpr Name kGrpcStarted = {"grpc_server_started_total", "Calls that arrived."};
inline constexpr Name kGrpcHandled = {"grpc_server_handled_total", "Calls that ended, by status code."};
inline constexpr Name kGrpcHandlingSeconds = {"grpc_server_handling_seconds",
                                              "Time from a call's arrival to its end; for streams, their whole life."};
inline constexpr Name kGrpcMessagesReceived = {"grpc_server_msg_received_total", "Messages received."};
inline constexpr Name kGrpcMessagesSent = {"grpc_server_msg_sent_total", "Messages sent."};

inline constexpr Name kFrames = {"glint_frames_total",
                                 "Frames answered or given up, by operation and result (a gRPC status code)."};
inline constexpr Name kFrameDuration = {"glint_frame_duration_seconds",
                                        "Time from a frame's message to its reply handed to gRPC, by operation."};
inline constexpr Name kStageDuration = {
    "glint_stage_duration_seconds",
    "Time of good frames in each stage: receive, queue, decode, upload, detect, download."};
inline constexpr Name kKeypoints = {"glint_keypoints_per_frame", "Keypoints in each good frame."};
inline constexpr Name kFrameBytes = {"glint_frame_bytes_total", "Bytes of pixels or picture files, by encoding."};
inline constexpr Name kCopiedBytes = {"glint_frame_copied_bytes_total",
                                      "Bytes of raw pixels copied on their way from a message to a lane's memory."};
inline constexpr Name kQueueFrames = {"glint_queue_frames", "Frames that wait for a lane."};
inline constexpr Name kQueueCapacity = {"glint_queue_capacity_frames", "Frames that may wait for a lane."};
inline constexpr Name kSessions = {"glint_sessions", "Streams that are open."};
inline constexpr Name kLanes = {"glint_lanes", "Frames that can be worked on at the same time."};
inline constexpr Name kLanesBusy = {"glint_lanes_busy", "Lanes that work on a frame."};
inline constexpr Name kBuildInfo = {"glint_build_info", "Always 1; the labels say what runs here."};

inline constexpr Name kTlsCertificateExpiry = {"glint_tls_certificate_expiry_timestamp_seconds",
                                               "End of the certificate's validity, Unix time; only with TLS."};

inline constexpr Name kProcessCpu = {"process_cpu_seconds_total", "User and system processor time."};
inline constexpr Name kProcessResident = {"process_resident_memory_bytes", "Resident memory."};
inline constexpr Name kProcessVirtual = {"process_virtual_memory_bytes", "Virtual memory."};
inline constexpr Name kProcessOpenFds = {"process_open_fds", "Open file descriptors."};
inline constexpr Name kProcessMaxFds = {"process_max_fds", "File descriptors that may be open."};
inline constexpr Name kProcessThreads = {"process_threads", "Threads."};
inline constexpr Name kProcessStart = {"process_start_time_seconds", "Start of the process, Unix time."};

}  // namespace glint::metric

#endif  // GLINT_SERVER_METRICS_NAMES_H_
