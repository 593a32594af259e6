#include "tests/client/fake_server.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace glint::client {

FakeServer::FakeServer() {
  std::string folder = ::testing::TempDir() + "glint-fake-XXXXXX";
  folder_ = mkdtemp(folder.data());
  address_ = "unix:" + folder_ + "/socket";
  Start();
}

void FakeServer::Start() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
  builder.RegisterService(this);
  builder.RegisterService(&info_);
  server_ = builder.BuildAndStart();
}

void FakeServer::Stop() {
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_ = nullptr;
}

FakeServer::~FakeServer() {
  if (server_ != nullptr) Stop();
  std::remove((folder_ + "/socket").c_str());
  rmdir(folder_.c_str());
}

Client FakeServer::Connect() {
  auto client = Client::Connect(address_);
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

grpc::Status FakeServer::Info::GetServerInfo(grpc::ServerContext*, const v1::GetServerInfoRequest*,
                                             v1::GetServerInfoResponse* response) {
  response->set_version("1.2.3");
  response->set_backend("cpu");
  response->set_device("a processor");
  response->set_simd("AVX2");
  response->set_lanes(2);
  response->set_queue_capacity_frames(3);
  v1::ServerLimits* const limits = response->mutable_limits();
  limits->set_max_image_pixels(4);
  limits->set_max_features(5);
  limits->set_max_message_bytes(6);
  limits->set_max_sessions(7);
  limits->set_max_sessions_per_client(8);
  limits->set_max_in_flight(9);
  limits->set_max_detect_calls(10);
  limits->set_max_track_streams(11);
  limits->set_max_track_cameras(12);
  limits->set_max_tracks(13);
  limits->set_max_track_pixels(14);
  limits->set_max_localize_streams(15);
  limits->set_max_localize_pixels(16);
  limits->set_max_map_keyframes(17);
  limits->set_max_map_points(18);
  limits->set_max_map_bytes(19);
  limits->set_stream_first_message_timeout_ns(20);
  limits->set_stream_idle_timeout_ns(21);
  limits->set_max_shared_memory_bytes(22);
  limits->set_max_shared_memory_regions(23);
  limits->set_max_match_pairs(25);
  limits->set_max_rectification_bytes(28);
  response->add_presets("orb");
  response->add_presets("oriented_fast");
  response->set_shared_memory_socket("/run/shm");
  response->add_devices("cuda:0");
  response->add_devices("cuda:1");
  response->set_memory_bound_bytes(24);
  response->add_methods("glint.v1.FeatureDetection/Detect");
  response->set_has_cuda(true);
  response->set_has_map_directory(true);
  response->set_has_calibration_directory(true);
  response->set_usable_processors(1.5);
  response->set_processors_source("a");
  response->set_usable_memory_bytes(26);
  response->set_memory_source("b");
  response->set_max_threads(27);
  response->set_threads_source("c");
  return grpc::Status::OK;
}

grpc::Status AnswerFrames(FakeServer::Stream* stream, int keypoints) {
  v1::DetectStreamRequest request;
  if (!stream->Read(&request)) return grpc::Status::CANCELLED;  // the client was quicker
  EXPECT_TRUE(request.has_options());
  v1::DetectStreamResponse response;
  SetKeypoints(keypoints, response.mutable_features());
  while (stream->Read(&request)) {
    response.set_frame_id(request.frame().frame_id());
    if (!stream->Write(response)) break;
  }
  return grpc::Status::OK;
}

void SetKeypoints(int count, v1::ImageFeatures* features) {
  for (int i = 0; i < count; ++i) {
    const float value = static_cast<float>(i);
    features->add_x(value + 0.1f);
    features->add_y(value + 0.2f);
    features->add_size(value + 0.3f);
    features->add_angle(value + 0.4f);
    features->add_response(value + 0.5f);
    features->add_octave(i);
  }
  features->set_descriptor_bytes(32);
  features->set_descriptors(std::string(static_cast<size_t>(count) * 32, '\x5a'));
}

}  // namespace glint::client
