#include "server/rpc/info_call.h"

#include <algorithm>

#include "features/options.h"

namespace glint {
namespace {

v1::GetServerInfoResponse Describe(const ServerEnv& env, const std::string& shared_memory_socket) {
  v1::GetServerInfoResponse info;
  info.set_version(ServerVersion());
  info.set_backend(BackendName(env.lanes.backend));
  info.set_device(env.lanes.device);
  info.set_simd(env.lanes.simd);
  info.set_lanes(static_cast<uint32_t>(env.lanes.lanes.size()));
  info.set_queue_capacity_frames(static_cast<uint32_t>(env.options.queue_capacity));
  info.mutable_limits()->set_max_image_pixels(env.options.lanes.max_image_pixels);
  info.mutable_limits()->set_max_features(env.options.max_features);
  info.mutable_limits()->set_max_message_bytes(env.options.max_message_bytes);
  info.mutable_limits()->set_max_sessions(env.options.max_sessions);
  for (const auto& lane : env.lanes.lanes) {
    const auto& devices = info.devices();
    if (std::find(devices.begin(), devices.end(), lane->device()) == devices.end()) info.add_devices(lane->device());
  }
  info.set_memory_bound_bytes(env.memory_bound.total());
  for (const std::string& name : PresetNames()) info.add_presets(name);
  info.set_shared_memory_socket(shared_memory_socket);
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
