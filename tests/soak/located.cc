#include "tests/soak/located.h"

#include <grpcpp/grpcpp.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "glint/v1/localization.grpc.pb.h"
#include "glint/v1/tracking.grpc.pb.h"

namespace glint::soak {
namespace {

using testing::Random;

constexpr int kWidth = 320, kHeight = 200;
constexpr int kStep = 8, kDisparity = 10;  // pixels: from frame to frame, between the images
constexpr int64_t kFrameNs = 100'000'000;

// A wall of noise in squares of 4 pixels, seen from `x` pixels further along it.
void SetWall(int x, v1::Image* image) {
  v1::RawImage* const raw = image->mutable_raw();
  raw->set_format(v1::PIXEL_FORMAT_GRAY8);
  raw->set_width(kWidth);
  raw->set_height(kHeight);
  std::string* const data = raw->mutable_data();
  data->resize(static_cast<size_t>(kWidth * kHeight));
  for (int i = 0; i < kWidth * kHeight; ++i) {
    uint32_t noise = static_cast<uint32_t>((i % kWidth + x) / 4) * 2654435761u;
    noise ^= static_cast<uint32_t>(i / kWidth / 4) * 2246822519u;
    noise = (noise ^ noise >> 15) * 3266489917u;
    (*data)[static_cast<size_t>(i)] = static_cast<char>(noise >> 24);
  }
}

v1::TrackStreamRequest FollowOptions(Random* random) {
  v1::TrackStreamRequest request;
  v1::TrackStreamOptions* const options = request.mutable_options();
  options->set_target(random->Uniform(20, 300));
  options->set_predict(random->OneIn(2));
  return request;
}

v1::TrackStreamRequest FollowFrame(int i) {
  v1::TrackStreamRequest request;
  request.mutable_frame()->set_frame_id(static_cast<uint64_t>(i));
  SetWall(kStep * i, request.mutable_frame()->add_images());
  return request;
}

v1::LocalizeStreamRequest LocateOptions(Random* random) {
  v1::LocalizeStreamRequest request;
  v1::LocalizeStreamOptions* const options = request.mutable_options();
  options->mutable_detector()->set_preset("orb");
  options->mutable_detector()->set_max_features(300);
  v1::StereoCamera* const camera = options->mutable_camera();
  camera->set_width(kWidth);
  camera->set_height(kHeight);
  camera->set_focal_length(200);
  camera->set_centre_x(kWidth / 2);
  camera->set_centre_y(kHeight / 2);
  camera->set_baseline(0.2);
  if (random->OneIn(2)) options->set_mode(v1::LOCALIZE_MODE_REALTIME);
  return request;
}

v1::LocalizeStreamRequest LocatePair(int i) {
  v1::LocalizeStreamRequest request;
  v1::LocalizePair* const pair = request.mutable_pair();
  pair->set_frame_id(static_cast<uint64_t>(i));
  pair->set_time_ns((i + 1) * kFrameNs);
  SetWall(kStep * i, pair->mutable_left());
  SetWall(kStep * i + kDisparity, pair->mutable_right());
  return request;
}

// `Stream`: a ClientReaderWriter; `frame`: its i-th message after the options. The next is written when the last one is
// answered.
template <typename Response, typename Stream, typename Request, typename Frame>
void Run(grpc::ClientContext* context, Stream* stream, const Request& options, Frame frame, bool cancel,
         const Habits& habits, Random* random, Doing* doing, Tally* tally) {
  stream->Write(options);
  ++tally->streams;
  if (cancel) ++tally->cancelled_streams;
  const int frames = random->Uniform(2, 12);
  const int cancel_after = cancel ? random->Uniform(0, frames - 1) : frames;
  int64_t ok = 0, bad = 0;
  bool is_open = true;
  Response reply;
  for (int i = 0; is_open && i < frames; ++i) {
    is_open = stream->Write(frame(i));
    if (!is_open) break;
    ++tally->sent;
    if (i == cancel_after) context->TryCancel();
    if (i == 0) stream->WaitForInitialMetadata();  // as client/stream.cc
    is_open = stream->Read(&reply);
    if (!is_open) break;
    ++tally->answers;
    ++doing->answered;
    const int code = reply.status().code();
    ++(code == 0 ? ok : bad);
    const bool excused = habits.faults && code == grpc::StatusCode::RESOURCE_EXHAUSTED;
    if (reply.frame_id() != static_cast<uint64_t>(i) || (code != 0 && !excused)) {
      tally->Blame(absl::StrCat("frame ", i, ": answered as ", reply.frame_id(), " with code ", code, ", ",
                                reply.status().message()));
    }
  }
  stream->WritesDone();
  while (stream->Read(&reply)) tally->Blame("an answer without a frame");
  const grpc::Status status = stream->Finish();
  if (cancel) return;
  if (!status.ok() || ok + bad != frames) {
    tally->Blame(absl::StrCat(frames, " frames, ", ok + bad, " answered, then ", status.error_code(), ": ",
                              status.error_message()));
    return;
  }
  tally->written += frames;
  tally->ok += ok;
  tally->bad += bad;
}

}  // namespace

void FollowPoints(const std::shared_ptr<grpc::Channel>& channel, bool cancel, const Habits& habits, Random* random,
                  Doing* doing, Tally* tally) {
  doing->what = "follows points";
  grpc::ClientContext context;
  const auto stub = v1::FeatureTracking::NewStub(channel);
  const auto stream = stub->TrackStream(&context);
  Run<v1::TrackStreamResponse>(&context, stream.get(), FollowOptions(random), FollowFrame, cancel, habits, random,
                               doing, tally);
}

void LocateCamera(const std::shared_ptr<grpc::Channel>& channel, bool cancel, const Habits& habits, Random* random,
                  Doing* doing, Tally* tally) {
  doing->what = "locates a camera";
  grpc::ClientContext context;
  const auto stub = v1::Localization::NewStub(channel);
  const auto stream = stub->LocalizeStream(&context);
  Run<v1::LocalizeStreamResponse>(&context, stream.get(), LocateOptions(random), LocatePair, cancel, habits, random,
                                  doing, tally);
}

}  // namespace glint::soak
