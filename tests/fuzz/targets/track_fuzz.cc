// Sequences of messages of TrackStream against a server in this process (session.h): frames of several cameras with
// predictions, points of the client, and edits.
// Input: steps, each a byte for what to do, and numbers or bytes for how.
#include <google/protobuf/stubs/logging.h>

#include <cmath>
#include <cstring>
#include <string>

#include "glint/v1/tracking.pb.h"
#include "tests/fuzz/targets/session.h"

namespace glint {
namespace {

using fuzz::Input;

// Quarters of a pixel around those of an image; one of eight is any value there is: NaN, infinities, the huge and tiny.
float Float(Input* input) {
  const auto number = input->Number<uint8_t>();
  if (number % 8 != 7) return static_cast<float>(number) / 4 - 2;
  const auto bits = input->Number<uint32_t>();
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

template <typename Field>
void Fill(int count, Input* input, Field* field) {
  for (int i = 0; i < count; ++i) field->Add(Float(input));
}

void SetOptions(Input* input, v1::TrackStreamOptions* options) {
  options->mutable_detector()->set_preset(input->Number<uint8_t>() % 2 == 0 ? "fast_grid" : "orb");
  options->mutable_detector()->set_max_features(1 + input->Number<uint8_t>() % 64);
  options->set_cameras(input->Number<uint8_t>() % 10);
  options->set_target(input->Number<uint8_t>() % 64);
  options->set_overload_policy(static_cast<v1::OverloadPolicy>(input->Number<uint8_t>() % 6));
  const auto which = input->Number<uint16_t>();
  options->set_predict((which & 1) != 0);
  if ((which & 2) != 0) options->set_redetection(v1::REDETECTION_ON_REQUEST);
  if ((which & 4) != 0) options->set_track_template(static_cast<v1::TrackTemplate>(input->Number<uint8_t>() % 4));
  if ((which & 8) != 0) options->set_template_frames(input->Number<uint8_t>() % 10);
  if ((which & 16) != 0) options->set_min_share(Float(input));
  v1::TrackOptions* const track = options->mutable_track();
  track->set_max_iterations(5);
  if ((which & 32) != 0) track->set_intensity(static_cast<v1::IntensityModel>(input->Number<uint8_t>() % 6));
  if ((which & 64) != 0) track->set_levels(input->Number<uint8_t>() % 10);
  if ((which & 128) != 0) track->set_patch_size(input->Number<uint8_t>() % 34);
  if ((which & 256) != 0) track->set_max_backward_error(Float(input));
  if ((which & 512) != 0) track->set_max_residual(Float(input));
  track->set_require_convergence((which & 1024) != 0);
  if ((which & 2048) != 0) {
    for (int i = input->Number<uint8_t>() % 10; i > 0; --i) fuzz::SetImage(input, options->add_masks());
  }
  if ((which & 4096) != 0) {
    v1::ImageRegion* const region = options->mutable_region();
    region->set_x(input->Number<uint8_t>() % 64);
    region->set_y(input->Number<uint8_t>() % 64);
    region->set_width(input->Number<uint8_t>() % 64);
    region->set_height(input->Number<uint8_t>() % 64);
  }
  if ((which & 8192) == 0) return;
  for (int i = input->Number<uint8_t>() % 10; i > 0; --i) {
    v1::Camera* const camera = options->add_calibrations();
    camera->set_width(input->Number<uint8_t>() % 64);
    camera->set_height(input->Number<uint8_t>() % 64);
    for (auto set : {&v1::Camera::set_fx, &v1::Camera::set_fy, &v1::Camera::set_cx, &v1::Camera::set_cy}) {
      (camera->*set)(Float(input));
    }
    camera->mutable_kannala_brandt()->set_k1(Float(input));
  }
}

// Arrays of one length, or y one longer.
template <typename Positions>
void SetPositions(int count, bool uneven, Input* input, Positions* to) {
  Fill(count, input, to->mutable_x());
  Fill(uneven ? count + 1 : count, input, to->mutable_y());
}

void SetFrame(Input* input, v1::TrackFrame* frame) {
  frame->set_frame_id(input->Number<uint8_t>());
  frame->set_time_ns(input->Number<int8_t>());
  const auto which = input->Number<uint8_t>();
  frame->set_detect((which & 1) != 0);
  const int images = input->Number<uint8_t>() % 10;
  for (int i = 0; i < images; ++i) {
    if (i > 0 && (which & 2) != 0) {
      *frame->add_images() = frame->images(0);
    } else {
      fuzz::SetImage(input, frame->add_images());
    }
  }
  for (int i = 0; i < which >> 6; ++i) {
    v1::TrackPrediction* const prediction = frame->add_predictions();
    prediction->set_camera(input->Number<uint8_t>() % 4);
    Fill((which & 4) != 0 ? 9 : 0, input, prediction->mutable_homography());
    const int ids = (which & 8) != 0 ? input->Number<uint8_t>() % 16 : 0;
    for (int id = 0; id < ids; ++id) prediction->add_ids(input->Number<uint8_t>());
    SetPositions(ids, (which & 16) != 0, input, prediction);
  }
  if ((which & 32) == 0) return;
  for (int i = 0; i < images; ++i) fuzz::SetImage(input, frame->add_masks());
}

enum Step { kBytes, kOptions, kFrame, kAdd, kForget, kReset, kDamagedFrame, kSteps };

std::string Message(int step, Input* input) {
  if (step == kBytes) return fuzz::ToString(input->Take(input->Number<uint16_t>() % 2000));
  v1::TrackStreamRequest request;
  if (step == kOptions) {
    SetOptions(input, request.mutable_options());
  } else if (step == kAdd) {
    const auto which = input->Number<uint8_t>();
    request.mutable_add_points()->set_camera(which % 8);
    SetPositions(input->Number<uint8_t>() % 16, which >= 128, input, request.mutable_add_points());
  } else if (step == kForget) {
    const int ids = input->Number<uint8_t>() % 8;
    for (int i = 0; i < ids; ++i) request.mutable_forget_tracks()->add_ids(input->Number<uint8_t>());
  } else if (step == kReset) {
    const auto camera = input->Number<uint8_t>();
    request.mutable_reset_tracks();
    if (camera < 16) request.mutable_reset_tracks()->set_camera(camera);
  } else {
    SetFrame(input, request.mutable_frame());
  }
  const std::string bytes = request.SerializeAsString();
  return step == kDamagedFrame ? fuzz::Damage(input, bytes) : bytes;
}

void Check(const std::string& reply) {
  v1::TrackStreamResponse response;
  FUZZ_CHECK(response.ParseFromString(reply));
  FUZZ_CHECK((response.status().code() == 0) == (response.answer_case() != v1::TrackStreamResponse::ANSWER_NOT_SET));
  const v1::TrackResult& result = response.has_edited() ? response.edited() : response.tracks();
  for (const v1::CameraTracks& tracks : result.cameras()) {
    for (const int size :
         {tracks.age_size(), tracks.x_size(), tracks.y_size(), tracks.last_x_size(), tracks.last_y_size(),
          tracks.state_size(), tracks.residual_size(), tracks.gain_size(), tracks.offset_size()}) {
      FUZZ_CHECK(size == tracks.id_size());
    }
    FUZZ_CHECK(tracks.template_age_size() == 0 || tracks.template_age_size() == tracks.id_size());
    FUZZ_CHECK(tracks.ray_x_size() == 0 || tracks.ray_x_size() == tracks.id_size());
    FUZZ_CHECK(tracks.ray_y_size() == tracks.ray_x_size() && tracks.ray_z_size() == tracks.ray_x_size());
    for (int i = 0; i < tracks.ray_x_size(); ++i) {
      const double x = tracks.ray_x(i), y = tracks.ray_y(i), z = tracks.ray_z(i), length = x * x + y * y + z * z;
      FUZZ_CHECK(length == 0 || std::abs(length - 1) < 1e-5);
    }
    for (int i = 1; i < tracks.id_size(); ++i) FUZZ_CHECK(tracks.id(i - 1) < tracks.id(i));
    for (int i = 0; i < tracks.id_size(); ++i) {
      if (tracks.state(i) != v1::TRACK_STATE_TRACKED) continue;
      FUZZ_CHECK(tracks.x(i) >= -1 && tracks.x(i) <= 64 && tracks.y(i) >= -1 && tracks.y(i) <= 64);
    }
  }
}

constexpr fuzz::Method kTrackStream = {"/glint.v1.FeatureTracking/TrackStream", kSteps, Message, Check};

}  // namespace
}  // namespace glint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const google::protobuf::LogSilencer quiet;
  static glint::fuzz::Session* const session = new glint::fuzz::Session();  // not destroyed: libFuzzer ends by exit()
  session->Stream(glint::kTrackStream, glint::fuzz::Input(data, size));
  return 0;
}
