// Sequences of messages of LocalizeStream against a server in this process (session.h): pairs of a camera that can be
// located, others, and requests about maps, which are gone when the stream has ended.
// Input: steps, each a byte for what to do, and numbers or bytes for how.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "glint/v1/localization.pb.h"
#include "tests/fuzz/targets/session.h"
#include "tests/fuzz/targets/stereo_texture.h"

namespace glint {
namespace {

using fuzz::Input;
using fuzz::StereoTexture;

constexpr int kPlaces = 16;
constexpr int kFewestFeatures = 60;

// One of eight is any value there is: NaN, infinities, the huge and the tiny.
double Double(Input* input, double usual) {
  const auto number = input->Number<uint8_t>();
  if (number % 8 != 7) return usual * (1 + number / 8 * 0.01);
  const auto bits = input->Number<uint64_t>();
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

void SetProjections(Input* input, double focal, double centre_x, double centre_y, v1::StereoCamera* camera) {
  for (int side = 0; side < 2; ++side) {
    const double shift = side == 0 ? 0 : -focal * StereoTexture::kBaseline;
    auto* const values = side == 0 ? camera->mutable_left_projection() : camera->mutable_right_projection();
    for (const double v : {focal, 0.0, centre_x, shift, 0.0, focal, centre_y, 0.0, 0.0, 0.0, 1.0, 0.0}) values->Add(v);
  }
  const auto which = input->Number<uint8_t>();
  if (which % 4 == 0) camera->mutable_right_projection()->Set(which / 4 % 12, Double(input, 1));
  if (which % 16 == 5) camera->mutable_left_projection()->RemoveLast();
}

// Of raw images, mostly in place of the camera.
void SetRig(Input* input, v1::LocalizeStreamOptions* options) {
  const slam::StereoCamera usual = StereoTexture::Camera();
  v1::StereoRig* const rig = options->mutable_rig();
  for (v1::Camera* const camera : {rig->mutable_left(), rig->mutable_right()}) {
    camera->set_width(static_cast<uint32_t>(usual.image.width));
    camera->set_height(static_cast<uint32_t>(usual.image.height));
    camera->set_fx(Double(input, usual.focal_length));
    camera->set_fy(usual.focal_length);
    camera->set_cx(usual.centre_x);
    camera->set_cy(Double(input, usual.centre_y));
    const auto lens = input->Number<uint8_t>();
    if (lens % 4 == 1) camera->mutable_radial_tangential()->set_k1(Double(input, -0.1));
    if (lens % 4 == 2) camera->mutable_kannala_brandt()->set_k2(Double(input, 0.01));
    if (lens % 4 == 3) camera->mutable_double_sphere()->set_xi(Double(input, -0.2));
  }
  const auto which = input->Number<uint8_t>();
  v1::RigidTransform* const transform = rig->mutable_right_from_left();
  for (int i = 0; i < 9 && (which & 1) != 0; ++i) transform->add_rotation(Double(input, i % 4 == 0 ? 1 : 0));
  transform->set_x(Double(input, -usual.baseline));
  if ((which & 2) != 0) rig->mutable_rectify()->set_width(input->Number<uint8_t>());
  if ((which & 2) != 0) rig->mutable_rectify()->set_height(input->Number<uint8_t>());
  if ((which & 4) != 0) rig->mutable_rectify()->set_focal_length(Double(input, usual.focal_length));
  if ((which & 8) != 0) rig->mutable_rectify()->set_max_field(Double(input, 90));
  if ((which & 48) != 0) options->clear_camera();
}

void SetImu(Input* input, v1::InertialSensor* imu) {
  const auto which = input->Number<uint8_t>();
  v1::RigidTransform* const mounting = imu->mutable_camera_from_imu();
  mounting->set_x(0.1);
  if ((which & 1) != 0) mounting->set_y(Double(input, 0.1));
  if ((which & 2) != 0) imu->set_gyroscope_noise_density(Double(input, 1e-3));
  if ((which & 4) != 0) imu->set_gravity(Double(input, 9.81));
  if ((which & 8) != 0) imu->set_imu_time_minus_camera_time_ns(input->Number<int32_t>());
  if ((which & 16) != 0) imu->set_gyroscope_range(Double(input, 10));
  if ((which & 32) != 0) imu->set_noise_inflation(Double(input, 2));
  if ((which & 192) == 192) imu->clear_camera_from_imu();
  // Inputs have no clock, so pairs wait for a moment only.
  imu->set_max_wait_for_readings_ns((which & 192) == 64 ? input->Number<int32_t>() % 2'000'000 : 1'000'000);
}

// Of a camera at rest whose y points down, mostly, up to a time of the input, as pairs have.
void SetReadings(Input* input, v1::ImuReadings* readings) {
  const auto which = input->Number<uint8_t>();
  const int count = which % 32;
  int64_t time = input->Number<int16_t>() * int64_t{10'000'000};
  if ((which & 96) == 96) time = input->Number<int64_t>();
  for (int i = 0; i < count; ++i) {
    readings->add_gyroscope_time_ns(time);
    time = static_cast<int64_t>(static_cast<uint64_t>(time) + 1'000'000);
    for (const double usual : {1e-3, -1e-3, 0.0}) readings->add_angular_velocity(usual * (i % 7));
    for (const double usual : {0.0, -9.81, 1e-3}) readings->add_acceleration(usual * (1 + i % 5 * 1e-3));
  }
  if ((which & 128) == 0) return;
  const auto odd = input->Number<uint8_t>();
  if (count > 0) readings->set_angular_velocity(odd % (3 * count), Double(input, 1));
  if (odd % 4 == 1) readings->add_acceleration(Double(input, 1));
  if (odd % 4 == 2) readings->add_accelerometer_time_ns(input->Number<int64_t>());
  if (odd % 4 == 3) readings->clear_angular_velocity();
}

void SetOptions(Input* input, v1::LocalizeStreamOptions* options) {
  const auto which = input->Number<uint16_t>();
  v1::DetectorOptions* const detector = options->mutable_detector();
  if ((which & 1) == 0) detector->set_preset("orb");
  detector->set_levels(2);
  detector->set_max_features(kFewestFeatures + input->Number<uint8_t>() % 64);
  if ((which & 2) != 0) detector->set_descriptor_kind(v1::DESCRIPTOR_NONE);
  v1::StereoCamera* const camera = options->mutable_camera();
  const slam::StereoCamera usual = StereoTexture::Camera();
  camera->set_width(static_cast<uint32_t>((which & 4) == 0 ? usual.image.width : input->Number<uint8_t>()));
  camera->set_height(static_cast<uint32_t>(usual.image.height));
  const bool unusual = (which & 8) != 0;
  const double focal = unusual ? Double(input, usual.focal_length) : usual.focal_length;
  if ((which & 16) == 0) {
    camera->set_focal_length(focal);
    camera->set_centre_x(unusual ? Double(input, usual.centre_x) : usual.centre_x);
    camera->set_centre_y(usual.centre_y);
    camera->set_baseline(unusual ? Double(input, usual.baseline) : usual.baseline);
  } else {
    SetProjections(input, focal, usual.centre_x, usual.centre_y, camera);
  }
  if ((which & 32) != 0) camera->mutable_rig_rotation()->set_y(Double(input, 0.001));
  options->set_refine_rig(static_cast<v1::RigRefinement>(which >> 6 & 3));
  const int mode = which >> 8 & 3;
  if (mode == 3) SetImu(input, options->mutable_imu());
  if (mode < 3) options->set_mode(static_cast<v1::LocalizeMode>(mode));
  options->set_overload_policy(static_cast<v1::OverloadPolicy>(which >> 10 & 7));
  if ((which & 1 << 13) != 0) options->set_max_in_flight(input->Number<uint8_t>() % 6);
  if ((which & 1 << 14) != 0) options->set_max_age_ns(input->Number<int32_t>());
  if (unusual && input->Number<uint8_t>() % 4 == 0) return SetRig(input, options);
  if ((which & 1 << 15) == 0) return;
  v1::DepthCamera* const depth = options->mutable_depth();
  depth->set_unit(Double(input, 0.001));
  depth->set_nearest(Double(input, 0));
  depth->set_farthest(Double(input, 0));
  if (input->Number<uint8_t>() % 4 == 0) return;
  options->set_refine_rig(v1::RIG_REFINEMENT_OFF);
  camera->clear_right_projection();
  camera->set_baseline(usual.baseline);
}

void SetRaw(uint32_t width, std::string data, v1::Image* image) {
  v1::RawImage* const raw = image->mutable_raw();
  raw->set_format(v1::PIXEL_FORMAT_GRAY8);
  raw->set_width(width);
  raw->set_height(static_cast<uint32_t>(StereoTexture::kShape.height));
  *raw->mutable_data() = std::move(data);
}

// Both images at each place, made once.
const std::string& ImageAt(int place, int side) {
  static const auto* const images = [] {
    auto* const made = new std::vector<std::string>();
    for (int i = 0; i < 2 * kPlaces; ++i) {
      Image image;
      StereoTexture::Draw(i / 2, i % 2, &image);
      std::string bytes;
      for (int y = 0; y < image.height(); ++y) {
        bytes.append(reinterpret_cast<const char*>(image.row(y)), static_cast<size_t>(image.width()));
      }
      made->push_back(std::move(bytes));
    }
    return made;
  }();
  return (*images)[static_cast<size_t>(2 * place + side)];
}

std::string SideBySide(int place) {
  constexpr auto kRow = static_cast<size_t>(StereoTexture::kShape.width);
  std::string both;
  for (size_t at = 0; at < ImageAt(place, 0).size(); at += kRow) {
    both.append(ImageAt(place, 0), at, kRow).append(ImageAt(place, 1), at, kRow);
  }
  return both;
}

// Flat, so that it is right where nothing is seen in the images that contradicts it.
void SetDepth(Input* input, v1::Image* depth) {
  const auto sample = input->Number<uint16_t>();
  std::string samples;
  for (int i = 0; i < StereoTexture::kShape.pixels(); ++i) {
    samples.push_back(static_cast<char>(sample & 255));
    samples.push_back(static_cast<char>(sample >> 8));
  }
  SetRaw(static_cast<uint32_t>(StereoTexture::kShape.width), std::move(samples), depth);
  depth->mutable_raw()->set_format(v1::PIXEL_FORMAT_GRAY16);
}

enum Form {
  kTwoImages,
  kTwoImagesAgain,
  kSideBySide,
  kExchanged,
  kNotLikeEachOther,
  kSmall,
  kDepth,
  kDepthOfAnyForm,
  kForms
};

void SetPair(Input* input, v1::LocalizePair* pair) {
  const auto which = input->Number<uint8_t>();
  const int place = which % kPlaces;
  pair->set_frame_id(which);
  const auto time = input->Number<int16_t>();
  pair->set_time_ns(time % 16 == 15 ? input->Number<int64_t>() : time * int64_t{10'000'000});
  if (which >= kPlaces * kForms) SetReadings(input, pair->mutable_imu());
  const auto width = static_cast<uint32_t>(StereoTexture::kShape.width);
  switch (which / kPlaces % kForms) {
    case kSideBySide:
      return SetRaw(2 * width, SideBySide(place), pair->mutable_left());
    case kExchanged:
      SetRaw(width, ImageAt(place, 1), pair->mutable_left());
      return SetRaw(width, ImageAt(place, 0), pair->mutable_right());
    case kNotLikeEachOther:
      SetRaw(width, ImageAt(place, 0), pair->mutable_left());
      return SetRaw(width, std::string(ImageAt(place, 1).size(), '\x55'), pair->mutable_right());
    case kDepth:
      SetRaw(width, ImageAt(place, 0), pair->mutable_left());
      return SetDepth(input, pair->mutable_depth());
    case kDepthOfAnyForm:
      SetRaw(width, ImageAt(place, 0), pair->mutable_left());
      if (input->Number<uint8_t>() % 4 == 0) SetRaw(width, ImageAt(place, 1), pair->mutable_right());
      return fuzz::SetImage(input, pair->mutable_depth());
    case kSmall:
      fuzz::SetImage(input, pair->mutable_left());
      return fuzz::SetImage(input, pair->mutable_right());
    default:
      SetRaw(width, ImageAt(place, 0), pair->mutable_left());
      SetRaw(width, ImageAt(place, 1), pair->mutable_right());
  }
}

std::string Name(Input* input) {
  constexpr const char* kNames[] = {"a", "b", "c", "foreign", "none", "", "..", ".hidden", "a/b", "../maps/a", "a\n"};
  const auto which = input->Number<uint8_t>();
  if (which % 8 == 7) return fuzz::ToString(input->Take(which / 8 * 3));
  return kNames[which % std::size(kNames)];
}

enum Step { kBytes, kOptions, kPair, kMorePairs, kRelocalize, kGetMap, kSaveMap, kLoadMap, kDamaged, kSteps };

std::string Message(int step, Input* input) {
  if (step == kBytes) return fuzz::ToString(input->Take(input->Number<uint16_t>() % 2000));
  v1::LocalizeStreamRequest request;
  switch (step) {
    case kOptions:
      SetOptions(input, request.mutable_options());
      break;
    case kRelocalize:
      SetPair(input, request.mutable_relocalize());
      break;
    case kGetMap: {
      request.mutable_get_map()->set_frame_id(1);
      request.mutable_get_map()->mutable_from()->set_keyframe(input->Number<uint8_t>());
      const auto which = input->Number<uint8_t>();
      if (which % 2 == 0) request.mutable_get_map()->mutable_from()->set_point(~uint64_t{0});
      if (which % 8 == 7) SetReadings(input, request.mutable_add_imu()->mutable_readings());
      if (which % 8 == 7) request.mutable_add_imu()->set_poses(which % 16 == 15);
      break;
    }
    case kSaveMap:
      request.mutable_save_map()->set_name(Name(input));
      break;
    case kLoadMap:
      request.mutable_load_map()->set_name(Name(input));
      break;
    default:
      SetPair(input, request.mutable_pair());
  }
  const std::string bytes = request.SerializeAsString();
  return step == kDamaged ? fuzz::Damage(input, bytes) : bytes;
}

void CheckLocation(const v1::Location& location) {
  const v1::Pose& pose = location.pose();
  const double length = pose.qx() * pose.qx() + pose.qy() * pose.qy() + pose.qz() * pose.qz() + pose.qw() * pose.qw();
  FUZZ_CHECK(std::abs(length - 1) < 1e-6 && pose.qw() >= 0);
  FUZZ_CHECK(std::isfinite(pose.x()) && std::isfinite(pose.y()) && std::isfinite(pose.z()));
  const bool is_located =
      location.status() == v1::LOCATION_STATUS_TRACKING || location.status() == v1::LOCATION_STATUS_RELOCALIZED;
  const bool may_be_continued = location.status() == v1::LOCATION_STATUS_COASTING && location.has_inertial();
  FUZZ_CHECK(location.covariance_size() == (is_located ? 21 : 0) ||
             (may_be_continued && location.covariance_size() == 21));
  FUZZ_CHECK(std::all_of(location.covariance().begin(), location.covariance().end(),
                         [](double v) { return std::isfinite(v); }));
  FUZZ_CHECK(location.inliers() <= location.matches() && location.matches() <= location.keypoints());
  FUZZ_CHECK(std::isfinite(location.reprojection_error()) && location.reprojection_error() >= 0);
  const v1::Inertial& imu = location.inertial();
  for (const v1::Vector& v : {imu.velocity(), imu.gyroscope_bias(), imu.accelerometer_bias()}) {
    FUZZ_CHECK(std::isfinite(v.x()) && std::isfinite(v.y()) && std::isfinite(v.z()));
  }
  for (const double v : {imu.velocity_sigma(), imu.gyroscope_bias_sigma(), imu.accelerometer_bias_sigma(),
                         imu.rotation_innovation(), imu.position_innovation(), static_cast<double>(imu.blind_ns())}) {
    FUZZ_CHECK(std::isfinite(v) && v >= 0);
  }
  FUZZ_CHECK(location.has_inertial() == (imu.status() != v1::INERTIAL_STATUS_UNSPECIFIED));
  for (const v1::Warning& warning : location.warnings()) {
    FUZZ_CHECK(warning.kind() != v1::WARNING_KIND_UNSPECIFIED && std::isfinite(warning.figure()));
    FUZZ_CHECK(!warning.unit().empty() && !warning.text().empty());
  }
}

void CheckPoses(const v1::ImuPoses& poses) {
  const int count = poses.time_ns_size();
  FUZZ_CHECK(std::is_sorted(poses.time_ns().begin(), poses.time_ns().end()));
  FUZZ_CHECK(poses.pose_size() == 7 * count && poses.velocity_size() == 3 * count);
  FUZZ_CHECK(poses.covariance_size() == 21 * count);
  for (const auto* values : {&poses.pose(), &poses.velocity(), &poses.covariance()}) {
    FUZZ_CHECK(std::all_of(values->begin(), values->end(), [](double v) { return std::isfinite(v); }));
  }
}

void Check(const std::string& reply) {
  v1::LocalizeStreamResponse response;
  FUZZ_CHECK(response.ParseFromString(reply));
  if (response.status().code() != 0) {
    FUZZ_CHECK(response.answer_case() == v1::LocalizeStreamResponse::ANSWER_NOT_SET);
    FUZZ_CHECK(!response.status().message().empty());
    FUZZ_CHECK(reply.find("glint-fuzz-") == std::string::npos);  // the server's folders
  } else {
    FUZZ_CHECK(response.answer_case() != v1::LocalizeStreamResponse::ANSWER_NOT_SET);
  }
  if (response.has_location()) CheckLocation(response.location());
  CheckPoses(response.imu().poses());
  const v1::MapPart& map = response.map();
  FUZZ_CHECK(map.point_id_size() == map.x_size() && map.x_size() == map.y_size() && map.x_size() == map.z_size());
  for (int i = 1; i < map.point_id_size(); ++i) FUZZ_CHECK(map.point_id(i - 1) < map.point_id(i));
  for (int i = 1; i < map.keyframes_size(); ++i) FUZZ_CHECK(map.keyframes(i - 1).id() < map.keyframes(i).id());
}

constexpr fuzz::Method kLocalizeStream = {"/glint.v1.Localization/LocalizeStream", kSteps, Message, Check};

}  // namespace
}  // namespace glint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const google::protobuf::LogSilencer quiet;
  static glint::fuzz::Session* const session = new glint::fuzz::Session();  // not destroyed: libFuzzer ends by exit()
  session->ClearMaps();
  session->Stream(glint::kLocalizeStream, glint::fuzz::Input(data, size));
  return 0;
}
