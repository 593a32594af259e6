// Every metric of the server: its name, and the help text that goes with it on the page.
#ifndef GLINT_SERVER_BASE_NAMES_H_
#define GLINT_SERVER_BASE_NAMES_H_

namespace glint::metric {

struct Name {
  const char* name;
  const char* help;
};

// Calls of glint.v1.Server, FeatureDetection, FeatureMatching, FeatureTracking and Localization, by grpc_type,
// grpc_service, grpc_method (and grpc_code), as other gRPC servers name them.
inline constexpr Name kGrpcStarted = {"grpc_server_started_total", "Calls that arrived."};
inline constexpr Name kGrpcHandled = {"grpc_server_handled_total", "Calls that ended, by status code."};
inline constexpr Name kGrpcHandlingSeconds = {"grpc_server_handling_seconds",
                                              "Time from a call's arrival to its end; for streams, their whole life."};
inline constexpr Name kGrpcMessagesReceived = {"grpc_server_msg_received_total", "Messages received."};
inline constexpr Name kGrpcMessagesSent = {"grpc_server_msg_sent_total", "Messages sent."};

inline constexpr Name kFrames = {"glint_frames_total",
                                 "Frames answered or given up, by operation and result (a gRPC status code)."};
inline constexpr Name kSmallCallsRefused = {
    "glint_small_calls_refused_total",
    "Calls without a picture that were not answered, by reason: too_many, displaced, late, too_large."};
inline constexpr Name kPlacesRefused = {
    "glint_places_refused_total", "Calls that found no place, by kind: unary, stream, small, watcher, reflection."};
inline constexpr Name kPlacesPreempted = {
    "glint_places_preempted_total", "Calls that lost their place to one of a client that had fewer, by kind likewise."};
inline constexpr Name kFramesDropped = {
    "glint_frames_dropped_total", "Good frames that were not worked on, by reason: superseded, expired, rejected."};
inline constexpr Name kJpegs = {"glint_jpegs_total", "JPEG files of good frames, by what decoded them: gpu, cpu."};
inline constexpr Name kJpegFallbacks = {
    "glint_jpeg_fallbacks_total",
    "JPEG frames that a lane's GPU left to the CPU, by reason: kind, sampling, colour, tables, header, size, scan, "
    "range, sync, memory, region."};
inline constexpr Name kFramesInFlight = {"glint_frames_in_flight", "Frames that were read and not answered yet."};
inline constexpr Name kFrameDuration = {"glint_frame_duration_seconds",
                                        "Time from a frame's message to its reply handed to gRPC, by operation."};
inline constexpr Name kStageDuration = {
    "glint_stage_duration_seconds",
    "Time of good frames in each stage: receive, queue, decode, upload, detect, match, track, locate, adjust, "
    "download, serialize, order."};
inline constexpr Name kKeypoints = {"glint_keypoints_per_frame", "Keypoints in each good frame."};
inline constexpr Name kTracks = {"glint_tracks", "Points that are followed."};
inline constexpr Name kTrackStreams = {"glint_track_streams", "Streams that follow points."};
inline constexpr Name kTracksBegun = {"glint_tracks_begun_total", "Points that were detected or added to be followed."};
inline constexpr Name kTracksEnded = {
    "glint_tracks_ended_total",
    "Points that are not followed any more, by reason: flat, out_of_image, moved_too_far, not_converged, "
    "high_residual, backward_error, image_resized, last_frame_lost, reset, forgotten, masked."};
inline constexpr Name kTrackAge = {"glint_track_age_frames",
                                   "Frames that a point had been followed for when it ended."};
inline constexpr Name kLocalizeStreams = {"glint_localize_streams", "Streams that locate cameras."};
inline constexpr Name kLocations = {"glint_locations_total",
                                    "Pairs that were located or not, by status: initializing, tracking, coasting, "
                                    "lost, relocalized."};
inline constexpr Name kKeyframes = {"glint_keyframes_total", "Pairs that became keyframes of a map."};
inline constexpr Name kKeyframesRefused = {"glint_keyframes_refused_total",
                                           "Keyframes that a full map had no room for."};
inline constexpr Name kLoopsClosed = {"glint_loops_closed_total", "Places that were seen again, and closed a loop."};
inline constexpr Name kImuReadings = {"glint_imu_readings_total", "Readings of inertial sensors that were received."};
inline constexpr Name kImuFaults = {"glint_imu_faults_total",
                                    "Readings of inertial sensors that were not used as they came, or did not come, by "
                                    "kind: late, duplicate, unsorted, missing, saturated, frozen, dropped."};
inline constexpr Name kPairsAheadOfReadings = {"glint_pairs_ahead_of_readings_total",
                                               "Pairs located before there was a reading of their inertial sensor"};
inline constexpr Name kInertialPairs = {"glint_inertial_pairs_total",
                                        "Pairs of streams with an inertial sensor, by what is known of it: "
                                        "initializing, ready, left_out."};
inline constexpr Name kMapKeyframes = {"glint_map_keyframes", "Keyframes of the maps of all streams."};
inline constexpr Name kMapPoints = {"glint_map_points", "Points of the maps of all streams."};
inline constexpr Name kMapBytes = {"glint_map_bytes", "Memory of the maps of all streams, in bytes."};
inline constexpr Name kFrameBytes = {"glint_frame_bytes_total", "Bytes of pixels or picture files, by encoding."};
inline constexpr Name kCopiedBytes = {"glint_frame_copied_bytes_total",
                                      "Bytes of raw pixels copied on their way from a message to a lane's memory."};
inline constexpr Name kQueueFrames = {"glint_queue_frames", "Frames that wait for a lane."};
inline constexpr Name kQueueCapacity = {"glint_queue_capacity_frames", "Frames that may wait for a lane."};
inline constexpr Name kPoolBytes = {"glint_pool_bytes",
                                    "Messages whose frames wait for a lane or are worked on, in bytes."};
inline constexpr Name kPoolLimit = {"glint_pool_limit_bytes", "What glint_pool_bytes may be at most."};
inline constexpr Name kMemoryBound = {"glint_memory_bound_bytes",
                                      "Host memory that the server's limits allow it to take."};
inline constexpr Name kAllocations = {"glint_frame_path_allocations_total",
                                      "Calls of operator new while streams' frames were parsed, lanes worked and "
                                      "replies were serialized, but for failed frames, where maps grow and "
                                      "where streams begin to follow points; constant once warm."};
inline constexpr Name kLastDeviceFrame = {"glint_last_device_frame_timestamp_seconds",
                                          "Unix time of the last good frame, by device."};
inline constexpr Name kDeviceLanes = {"glint_device_lanes", "Lanes that work, by device; 0 once it is lost."};
inline constexpr Name kCudaErrors = {"glint_cuda_errors_total", "Frames that failed by a CUDA error, by its name."};
inline constexpr Name kGpuUtilization = {"glint_gpu_utilization_ratio", "Load of the GPU, 0 to 1."};
inline constexpr Name kGpuMemoryUsed = {"glint_gpu_memory_used_bytes", "Memory in use on the GPU, by any process."};
inline constexpr Name kGpuMemoryTotal = {"glint_gpu_memory_total_bytes", "Memory of the GPU."};
inline constexpr Name kGpuTemperature = {"glint_gpu_temperature_celsius", "Temperature of the GPU."};
inline constexpr Name kGpuPower = {"glint_gpu_power_watts", "Power that the GPU draws."};
inline constexpr Name kEnergy = {"glint_energy_joules_total",
                                 "Energy since the server started, by source, as far as the machine shows it."};
inline constexpr Name kSessions = {"glint_sessions", "Streams that are open."};
inline constexpr Name kSessionsRefused = {"glint_sessions_refused_total",
                                          "Streams that were refused: max_sessions, max_sessions_per_peer, draining."};
inline constexpr Name kSessionsTimedOut = {
    "glint_sessions_timed_out_total",
    "Streams ended because their client was silent: first_message, idle, or reply, which it did not take."};
inline constexpr Name kClientRefusals = {
    "glint_client_refusals_total",
    "Frames refused because their client has its share: frames, bytes, frame_rate, lane_seconds."};
inline constexpr Name kAccessRefused = {"glint_access_refused_total",
                                        "Calls that --access-file does not allow: unauthenticated, permission_denied."};
inline constexpr Name kAccessRevoked = {"glint_access_revoked_total",
                                        "Calls that were ended because --access-file allows them no longer."};
inline constexpr Name kAccessReloads = {"glint_access_reloads_total",
                                        "Times that --access-file was read again: ok, error."};
inline constexpr Name kAccessIdentities = {"glint_access_identities", "Identities in --access-file."};
inline constexpr Name kLanes = {"glint_lanes", "Frames that can be worked on at the same time."};
inline constexpr Name kLanesBusy = {"glint_lanes_busy", "Lanes that work on a frame."};
inline constexpr Name kLogLinesDropped = {
    "glint_log_lines_dropped_total",
    "Lines that are not in the log: full, nobody read it in time; rate, too many of one reason."};
inline constexpr Name kLanesStuck = {"glint_lanes_stuck",
                                     "Lanes that have been at one frame for longer than they may."};
inline constexpr Name kTraceparentIgnored = {"glint_traceparent_ignored_total",
                                             "Calls whose traceparent was invalid, or there twice."};
inline constexpr Name kBuildInfo = {"glint_build_info", "Always 1; the labels say what runs here."};

inline constexpr Name kTlsCertificateExpiry = {"glint_tls_certificate_expiry_timestamp_seconds",
                                               "End of the certificate's validity, Unix time; only with TLS."};

inline constexpr Name kConnections = {"glint_connections",
                                      "Connections of gRPC, TLS handshakes that have begun among them."};
inline constexpr Name kConnectionsClosed = {
    "glint_connections_closed_total",
    "Connections that the server closed: limit, one too many; displaced, silent while another wanted its place; flood, "
    "more frames of one kind than are allowed before answers."};

inline constexpr Name kProcessCpu = {"process_cpu_seconds_total", "User and system processor time."};
inline constexpr Name kProcessResident = {"process_resident_memory_bytes", "Resident memory."};
inline constexpr Name kProcessVirtual = {"process_virtual_memory_bytes", "Virtual memory."};
inline constexpr Name kProcessOpenFds = {"process_open_fds", "Open file descriptors."};
inline constexpr Name kProcessMaxFds = {"process_max_fds", "File descriptors that may be open."};
inline constexpr Name kProcessThreads = {"process_threads", "Threads."};
inline constexpr Name kProcessStart = {"process_start_time_seconds", "Start of the process, Unix time."};

}  // namespace glint::metric

#endif  // GLINT_SERVER_BASE_NAMES_H_
