#include "server/rpc/info_call.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "features/options.h"
#include "glint/v1/server.pb.h"

namespace glint {
namespace {

void SetLimits(const ServerEnv& env, v1::ServerLimits* limits) {
  const ServerOptions& o = env.options;
  limits->set_max_image_pixels(o.lanes.max_image_pixels);
  limits->set_max_features(o.max_features);
  limits->set_max_message_bytes(o.max_message_bytes);
  limits->set_max_match_pairs(o.max_match_pairs);
  limits->set_max_sessions(o.max_sessions);
  limits->set_max_sessions_per_client(env.sessions.share());
  limits->set_max_in_flight(o.max_in_flight);
  limits->set_max_detect_calls(o.max_detect_calls);
  limits->set_max_track_streams(o.max_track_streams);
  limits->set_max_track_cameras(o.max_track_cameras);
  limits->set_max_tracks(o.max_tracks);
  limits->set_max_track_pixels(o.max_track_pixels);
  limits->set_max_localize_streams(o.max_localize_streams);
  limits->set_max_localize_pixels(o.max_localize_pixels);
  limits->set_max_map_keyframes(o.max_map_keyframes);
  limits->set_max_map_points(o.max_map_points);
  limits->set_max_map_bytes(o.max_map_bytes);
  limits->set_max_rectification_bytes(o.max_rectification_bytes);
  limits->set_stream_first_message_timeout_ns(absl::ToInt64Nanoseconds(o.stream_first_message_timeout));
  limits->set_stream_idle_timeout_ns(absl::ToInt64Nanoseconds(o.stream_idle_timeout));
  if (!o.shared_memory.enabled) return;
  limits->set_max_shared_memory_bytes(o.shared_memory.max_bytes);
  limits->set_max_shared_memory_regions(o.shared_memory.max_regions);
}

v1::GetServerInfoResponse Describe(const ServerEnv& env, const std::string& shared_memory_socket) {
  v1::GetServerInfoResponse info;
  info.set_version(ServerVersion());
  info.set_backend(BackendName(env.lanes.backend));
  info.set_device(env.lanes.device);
  info.set_simd(env.lanes.simd);
  info.set_lanes(static_cast<int>(env.lanes.lanes.size()));
  info.set_queue_capacity_frames(env.options.queue_capacity);
  SetLimits(env, info.mutable_limits());
  for (const auto& lane : env.lanes.lanes) {
    const auto& devices = info.devices();
    if (std::find(devices.begin(), devices.end(), lane->device()) == devices.end()) info.add_devices(lane->device());
  }
  info.set_memory_bound_bytes(env.memory_bound.total());
  for (const std::string& name : PresetNames()) info.add_presets(name);
  info.set_shared_memory_socket(shared_memory_socket);
  for (const OperationMethod& row : OperationMethods()) info.add_methods(absl::StrCat(row.service, "/", row.name));
  info.set_has_cuda(GLINT_HAVE_CUDA != 0);
  info.set_has_map_directory(!env.options.map_directory.empty());
  info.set_has_calibration_directory(!env.options.calibration_directory.empty());
  info.set_usable_processors(env.machine.processors.share);
  info.set_processors_source(env.machine.processors.source);
  info.set_usable_memory_bytes(env.machine.memory.bytes);
  info.set_memory_source(env.machine.memory.source);
  info.set_max_threads(env.machine.threads.most);
  info.set_threads_source(env.machine.threads.source);
  return info;
}

}  // namespace

void InfoCall::Request(Service* service, grpc::ServerCompletionQueue* queue) {
  (new InfoCall(service, queue))->SmallCall::Request(AsyncService::kGetServerInfo);
}

InfoCall::Answer InfoCall::Serve(const std::string& message) {
  Answer answer;
  if (v1::GetServerInfoRequest request; !request.ParseFromString(message)) {
    answer.status = absl::InvalidArgumentError("request: not a serialized glint.v1.GetServerInfoRequest");
    return answer;
  }
  answer.reply = Describe(*service()->env(), service()->shared_memory_socket()).SerializeAsString();
  return answer;
}

}  // namespace glint
