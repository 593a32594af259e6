// Streams of raw pairs: they are answered as the rectified images that the reference makes of them, and rigs, images
// and limits that cannot be are refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/rig_wire.h"
#include "features/camera/rectification.h"
#include "features/camera/stereo_rig.h"
#include "features/reference/remap.h"
#include "glint/v1/matching.grpc.pb.h"
#include "server/pixels/rectification.h"
#include "server/wire/stereo_rig.h"
#include "tests/server/harness.h"
#include "tests/server/localize_client.h"
#include "tests/server/localize_pairs.h"
#include "tests/server/raw_wall.h"
#include "tests/support/images.h"

namespace glint::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr Shape kRaw = {320, 200};
constexpr double kStepMetres = 0.16;

// Two lenses that bend a wide field inwards, turned to each other by a degree or so; the right camera is a bit lower.
StereoRig Rig() {
  StereoRig rig;
  rig.left = {CameraModel::kRadialTangential, kRaw, 200, 202, 158, 103, {-0.28, 0.07, 0.0002, -0.0003, 0}};
  rig.right = {CameraModel::kRadialTangential, kRaw, 199, 201, 163, 97, {-0.27, 0.06, -0.0001, 0.0002, 0}};
  rig.right_from_left.rotation =
      (Eigen::AngleAxisd(0.02, Eigen::Vector3d::UnitY()) * Eigen::AngleAxisd(-0.015, Eigen::Vector3d::UnitZ()))
          .toRotationMatrix();
  rig.right_from_left.translation = {-0.2, 0.004, 0.003};
  return rig;
}

v1::StereoRig RigProto() {
  const StereoRig rig = Rig();
  v1::StereoRig proto;
  SetCamera(rig.left, proto.mutable_left());
  SetCamera(rig.right, proto.mutable_right());
  SetTransform(rig.right_from_left, proto.mutable_right_from_left());
  return proto;
}

// After `steps` along the wall.
Pair RawPair(int steps = 0) {
  const StereoRig rig = Rig();
  RigidTransform world_from_left;
  world_from_left.translation.x() = steps * kStepMetres;
  return {Seen(rig.left, world_from_left), Seen(rig.right, world_from_left * rig.right_from_left.Inverse())};
}

RectifiedPair Rectified() {
  const StereoRig rig = Rig();
  return *RectifyPair(rig.left, rig.right, rig.right_from_left, rig.rectify);
}

// As the reference rectifies it.
Pair Rectify(const Pair& raw) {
  const StereoRig rig = Rig();
  const RectifiedPair to = Rectified();
  Pair pair;
  reference::Remap(raw.left, MakeRemapTable(rig.left, to.rectified_from_left, to.camera), &pair.left);
  reference::Remap(raw.right, MakeRemapTable(rig.right, to.rectified_from_right, to.camera), &pair.right);
  return pair;
}

enum class Form { kTwo, kSideBySide, kColour };

void SetImage(const Image& image, bool colour, v1::Image* proto) {
  SetGray(image.width(), image.height(), 0, proto);
  std::string data;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) data.append(colour ? 3 : 1, static_cast<char>(image.row(y)[x]));
  }
  proto->mutable_raw()->set_data(std::move(data));
  if (colour) proto->mutable_raw()->set_format(v1::PIXEL_FORMAT_BGR8);
}

// A LocalizePair or a StereoPair.
template <typename PairProto>
void SetPair(const Pair& pair, Form form, PairProto* proto) {
  if (form != Form::kSideBySide) {
    SetImage(pair.left, form == Form::kColour, proto->mutable_left());
    SetImage(pair.right, form == Form::kColour, proto->mutable_right());
    return;
  }
  Image both(2 * pair.left.width(), pair.left.height());
  for (int y = 0; y < both.height(); ++y) {
    std::memcpy(both.row(y), pair.left.row(y), static_cast<size_t>(pair.left.width()));
    std::memcpy(both.row(y) + pair.left.width(), pair.right.row(y), static_cast<size_t>(pair.left.width()));
  }
  SetImage(both, false, proto->mutable_left());
  proto->clear_right();
}

void ExpectRectified(const v1::RectifiedCamera& found) {
  const RectifiedPair expected = Rectified();
  EXPECT_EQ(found.width(), static_cast<uint32_t>(expected.camera.image.width));
  EXPECT_EQ(found.height(), static_cast<uint32_t>(expected.camera.image.height));
  EXPECT_EQ(found.focal_length(), expected.camera.fx);
  EXPECT_EQ(found.centre_x(), expected.camera.cx);
  EXPECT_EQ(found.centre_y(), expected.camera.cy);
  EXPECT_EQ(found.baseline(), expected.baseline);
  EXPECT_EQ(found.uncovered(), 0);
  ASSERT_EQ(found.rectified_from_left_size(), 9);
  ASSERT_EQ(found.rectified_from_right_size(), 9);
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(found.rectified_from_left(i), expected.rectified_from_left(i / 3, i % 3));
    EXPECT_EQ(found.rectified_from_right(i), expected.rectified_from_right(i / 3, i % 3));
  }
}

class RawPairsTest : public ::testing::Test {
 protected:
  static constexpr int kFeatures = 300;
  using StereoStream = grpc::ClientReaderWriter<v1::StereoStreamRequest, v1::StereoStreamResponse>;

  void Start(int64_t max_rectification_bytes = int64_t{42} << 20) {
    ServerOptions options = TestOptions();
    options.lanes.max_image_pixels = 1 << 20;
    options.max_rectification_bytes = max_rectification_bytes;
    options.map_directory = directory_;
    std::filesystem::create_directories(directory_);
    server_ = std::make_unique<TestServer>(options);
    localize_ = std::make_unique<LocalizeClient>(server_->channel());
    matching_ = v1::FeatureMatching::NewStub(server_->channel());
  }
  ~RawPairsTest() override { std::filesystem::remove_all(directory_); }

  template <typename Options>
  static Options WithDetector() {
    Options options;
    options.mutable_detector()->set_preset("orb");
    options.mutable_detector()->set_max_features(kFeatures);
    return options;
  }
  static v1::StereoStreamOptions RawStereo() {
    auto options = WithDetector<v1::StereoStreamOptions>();
    *options.mutable_rig() = RigProto();
    return options;
  }
  static v1::LocalizeStreamOptions RawLocalize() {
    auto options = WithDetector<v1::LocalizeStreamOptions>();
    *options.mutable_rig() = RigProto();
    return options;
  }

  // An open stream, one message after the other.
  struct StereoCall {
    grpc::ClientContext context;
    std::unique_ptr<StereoStream> stream;

    v1::StereoStreamResponse Ask(const Pair& pair, Form form) {
      v1::StereoStreamRequest request;
      SetPair(pair, form, request.mutable_pair());
      EXPECT_TRUE(stream->Write(request));
      v1::StereoStreamResponse response;
      EXPECT_TRUE(stream->Read(&response));
      return response;
    }
    grpc::Status Finish() {
      stream->WritesDone();
      v1::StereoStreamResponse response;
      while (stream->Read(&response)) {
      }
      return stream->Finish();
    }
  };
  std::unique_ptr<StereoCall> Open(const v1::StereoStreamOptions& options) {
    auto call = std::make_unique<StereoCall>();
    call->stream = matching_->StereoStream(&call->context);
    v1::StereoStreamRequest first;
    *first.mutable_options() = options;
    call->stream->Write(first);
    return call;
  }

  // Why streams with this rig end; both operations say the same.
  std::string Refusal(const v1::StereoRig& rig, grpc::StatusCode code = grpc::StatusCode::INVALID_ARGUMENT) {
    v1::StereoStreamOptions stereo = RawStereo();
    *stereo.mutable_rig() = rig;
    const grpc::Status status = Open(stereo)->Finish();
    EXPECT_EQ(status.error_code(), code);
    v1::LocalizeStreamOptions localize = RawLocalize();
    *localize.mutable_rig() = rig;
    EXPECT_EQ(localize_->Refusal(localize), status.error_message());
    return status.error_message();
  }

  const std::string directory_ = absl::StrCat(::testing::TempDir(), "glint-raw-maps-", getpid());
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<LocalizeClient> localize_;
  std::unique_ptr<v1::FeatureMatching::Stub> matching_;
};

TEST_F(RawPairsTest, StereoIsThatOfTheRectifiedImages) {
  Start();
  const Pair raw = RawPair();
  const RectifiedPair to = Rectified();
  auto rectified_options = WithDetector<v1::StereoStreamOptions>();
  rectified_options.mutable_stereo()->set_focal_length(to.camera.fx);
  rectified_options.mutable_stereo()->set_baseline(to.baseline);
  auto rectified = Open(rectified_options);
  const v1::StereoStreamResponse expected = rectified->Ask(Rectify(raw), Form::kTwo);
  const v1::StereoMatches& matches = expected.result().matches();
  ASSERT_GT(matches.left_size(), 60);
  EXPECT_FALSE(expected.result().has_rectified());
  EXPECT_EQ(expected.result().warnings_size(), 0);

  auto stream = Open(RawStereo());
  for (const Form form : {Form::kTwo, Form::kSideBySide, Form::kColour}) {
    v1::StereoStreamResponse response = stream->Ask(raw, form);
    EXPECT_EQ(response.status().message(), "");
    ExpectRectified(response.result().rectified());
    response.mutable_result()->clear_rectified();
    EXPECT_EQ(response.result().SerializeAsString(), expected.result().SerializeAsString());
  }
  // The wall stands where it is: in a plane of the left camera's.
  int near = 0;
  for (int i = 0; i < matches.left_size(); ++i) {
    const uint32_t left = matches.left(i);
    const Eigen::Vector3d ray((expected.result().left().x(static_cast<int>(left)) - to.camera.cx) / to.camera.fx,
                              (expected.result().left().y(static_cast<int>(left)) - to.camera.cy) / to.camera.fx, 1);
    const Eigen::Vector3d point = to.rectified_from_left.transpose() * (ray * matches.depth(i));
    near += std::abs(point.z() - kWallMetres) < 0.4;
  }
  EXPECT_GT(near, 0.8 * matches.left_size());
}

TEST_F(RawPairsTest, PosesAreThoseOfTheRectifiedImages) {
  Start();
  const RectifiedPair to = Rectified();
  auto rectified_options = WithDetector<v1::LocalizeStreamOptions>();
  v1::StereoCamera* const camera = rectified_options.mutable_camera();
  camera->set_width(static_cast<uint32_t>(to.camera.image.width));
  camera->set_height(static_cast<uint32_t>(to.camera.image.height));
  camera->set_focal_length(to.camera.fx);
  camera->set_centre_x(to.camera.cx);
  camera->set_centre_y(to.camera.cy);
  camera->set_baseline(to.baseline);
  const auto rectified = localize_->Open(rectified_options);
  const auto stream = localize_->Open(RawLocalize());
  v1::LocalizeStreamResponse response;
  for (int i = 0; i < 6; ++i) {
    const Pair raw = RawPair(i);
    v1::LocalizeStreamRequest request;
    request.mutable_pair()->set_time_ns((i + 1) * kFrameNs);
    SetPair(Rectify(raw), Form::kTwo, request.mutable_pair());
    v1::LocalizeStreamResponse expected = rectified->Ask(request);
    SetPair(raw, i % 2 == 0 ? Form::kTwo : Form::kSideBySide, request.mutable_pair());
    response = stream->Ask(request);
    EXPECT_EQ(response.status().message(), "");
    ExpectRectified(response.location().rectified());
    EXPECT_FALSE(expected.location().has_rectified());
    v1::LocalizeStreamResponse same = response;
    same.mutable_location()->clear_rectified();
    same.clear_timings();
    expected.clear_timings();
    EXPECT_EQ(same.SerializeAsString(), expected.SerializeAsString()) << i;
  }
  EXPECT_EQ(response.location().status(), v1::LOCATION_STATUS_TRACKING);
  // The pose is the rectified left camera's, which the rig's motion along x is turned into.
  const v1::Pose& pose = response.location().pose();
  const Eigen::Vector3d moved = to.rectified_from_left * Eigen::Vector3d(5 * kStepMetres, 0, 0);
  EXPECT_LT((Eigen::Vector3d(pose.x(), pose.y(), pose.z()) - moved).norm(), 0.05);

  // Its map is the rectified camera's.
  v1::LocalizeStreamRequest save, load;
  save.mutable_save_map()->set_name("raw");
  load.mutable_load_map()->set_name("raw");
  EXPECT_EQ(stream->Ask(save).status().message(), "");
  EXPECT_EQ(rectified->Ask(load).status().message(), "");
  EXPECT_EQ(localize_->Open(RawLocalize())->Ask(load).status().message(), "");
  v1::LocalizeStreamOptions other = RawLocalize();
  other.mutable_rig()->mutable_rectify()->set_focal_length(1.1 * to.camera.fx);
  localize_->Open(other)->ExpectError(load, grpc::StatusCode::INVALID_ARGUMENT, "camera");
}

TEST_F(RawPairsTest, ImagesOfAnotherSizeFailAlone) {
  Start();
  const Pair raw = RawPair();
  Pair other;
  other.left = Image::CopyOf(ImageView{raw.left.row(0), 310, 200, raw.left.stride()});
  other.right = Image::CopyOf(ImageView{raw.right.row(0), 310, 200, raw.right.stride()});
  auto stream = Open(RawStereo());
  const v1::StereoStreamResponse refused = stream->Ask(other, Form::kTwo);
  EXPECT_EQ(refused.status().code(), static_cast<int>(grpc::StatusCode::INVALID_ARGUMENT));
  EXPECT_EQ(refused.status().message(), "left: 310x200 pixels, but the rig's cameras have 320x200");
  EXPECT_EQ(stream->Ask(raw, Form::kTwo).status().message(), "");
  EXPECT_EQ(stream->Ask(raw, Form::kSideBySide).status().message(), "");
  EXPECT_EQ(stream->Ask(other, Form::kSideBySide).status().message(), refused.status().message());
  v1::LocalizeStreamRequest request;
  SetPair(other, Form::kTwo, request.mutable_pair());
  localize_->Open(RawLocalize())->ExpectError(request, grpc::StatusCode::INVALID_ARGUMENT, refused.status().message());
}

TEST_F(RawPairsTest, RigsThatCannotBeAreRefusedByField) {
  Start();
  const double nan = std::nan("");
  const auto with = [](const std::function<void(v1::StereoRig*)>& change) {
    v1::StereoRig rig = RigProto();
    change(&rig);
    return rig;
  };
  const std::vector<std::pair<std::string, v1::StereoRig>> cases = {
      {"rig.left.width: 0 is not in 1..16384", with([](auto* rig) { rig->clear_left(); })},
      {"rig.right.height: -1 is not in 1..16384", with([](auto* rig) { rig->mutable_right()->set_height(1u << 31); })},
      {"rig.left.fx: 0 is not in 32..3200", with([](auto* rig) { rig->mutable_left()->clear_fx(); })},
      {"rig.left.cy: nan is not in", with([&](auto* rig) { rig->mutable_left()->set_cy(nan); })},
      {"rig.right: 320x190 pixels, but the left camera has 320x200",
       with([](auto* rig) { rig->mutable_right()->set_height(190); })},
      {"rig.left.radial_tangential.p1: 7 is not in -1..1",
       with([](auto* rig) { rig->mutable_left()->mutable_radial_tangential()->set_p1(7); })},
      {"rig.left.radial_tangential.k1: ",  // the coefficients fold the image
       with([](auto* rig) { rig->mutable_left()->mutable_radial_tangential()->set_k1(-9); })},
      {"rig.right.double_sphere.alpha: 2 is not in 0..1",
       with([](auto* rig) { rig->mutable_right()->mutable_double_sphere()->set_alpha(2); })},
      {"rig.right_from_left.rotation: 8 elements are not the 9 of a 3x3 matrix",
       with([](auto* rig) { rig->mutable_right_from_left()->mutable_rotation()->RemoveLast(); })},
      {"rig.right_from_left.rotation: is no rotation: its product",
       with([](auto* rig) { rig->mutable_right_from_left()->set_rotation(0, 1.1); })},
      {"rig.right_from_left.rotation: is no rotation",
       with([&](auto* rig) { rig->mutable_right_from_left()->set_rotation(4, nan); })},
      {"rig.right_from_left.rotation: is a mirror, not a rotation: ", with([](auto* rig) {
         for (double& value : *rig->mutable_right_from_left()->mutable_rotation()) value = -value;
       })},
      {"rig.right_from_left.x: nan is not in -1000..1000",
       with([&](auto* rig) { rig->mutable_right_from_left()->set_x(nan); })},
      {"rig.right_from_left: a baseline of 0 m is not in 0.001..100: are x, y and z metres?",
       with([](auto* rig) { rig->clear_right_from_left(); })},
      {"rig.right_from_left: a baseline of 200", with([](auto* rig) { rig->mutable_right_from_left()->set_x(-200); })},
      {"rig.right_from_left: ", with([](auto* rig) { rig->mutable_right_from_left()->set_x(0.2); })},  // exchanged
      {"rig.rectify.height: 0 is not in 1..16384", with([](auto* rig) { rig->mutable_rectify()->set_width(9); })},
      {"rig.rectify.focal_length: 31 is not in 32..3200",
       with([](auto* rig) { rig->mutable_rectify()->set_focal_length(31); })},
      {"rig.rectify.max_field: 9 is not in 10..150", with([](auto* rig) { rig->mutable_rectify()->set_max_field(9); })},
  };
  for (const auto& [error, rig] : cases) EXPECT_THAT(Refusal(rig), StartsWith(error));
  EXPECT_THAT(Refusal(with([](auto* rig) {
                        rig->mutable_rectify()->set_width(1024);
                        rig->mutable_rectify()->set_height(1024);
                      }),
                      grpc::StatusCode::RESOURCE_EXHAUSTED),
              StartsWith("rig.rectify: 2097152 pixels of both images are over this server's limit of 1048576"));
}

TEST_F(RawPairsTest, ARigIsInPlaceOfARectifiedCamera) {
  Start();
  v1::LocalizeStreamOptions localize = RawLocalize();
  localize.mutable_camera()->set_focal_length(200);
  EXPECT_EQ(localize_->Refusal(localize), "camera: is rectified, and `rig` is raw: give either");
  localize.clear_camera();
  localize.mutable_depth()->set_unit(0.001);
  EXPECT_THAT(localize_->Refusal(localize), StartsWith("depth: "));
  localize.clear_depth();
  localize.set_refine_rig(v1::RIG_REFINEMENT_FIXED);
  EXPECT_THAT(localize_->Refusal(localize), StartsWith("refine_rig: "));
  v1::StereoStreamOptions stereo = RawStereo();
  stereo.mutable_stereo()->set_focal_length(200);
  stereo.mutable_stereo()->set_baseline(1);
  EXPECT_THAT(Open(stereo)->Finish().error_message(), StartsWith("stereo.focal_length: "));
}

TEST_F(RawPairsTest, StreamsShareTablesOfWhichThereIsALimit) {
  Start(RectificationBytes(kRaw));
  const Pair raw = RawPair();
  auto first = Open(RawStereo());
  EXPECT_EQ(first->Ask(raw, Form::kTwo).status().message(), "");
  const auto same = localize_->Open(RawLocalize());
  v1::LocalizeStreamRequest request;
  SetPair(raw, Form::kTwo, request.mutable_pair());
  EXPECT_EQ(same->Ask(request).status().message(), "");
  v1::StereoRig other = RigProto();
  other.mutable_right_from_left()->set_x(-0.21);
  EXPECT_THAT(Refusal(other, grpc::StatusCode::RESOURCE_EXHAUSTED),
              StartsWith(absl::StrCat("rig: ", 2 * RectificationBytes(kRaw),
                                      " bytes of tables of all streams are over "
                                      "this server's limit of ",
                                      RectificationBytes(kRaw), " (--max-rectification-bytes)")));
  EXPECT_TRUE(first->Finish().ok());
  EXPECT_TRUE(same->Finish().ok());
  v1::StereoStreamOptions options = RawStereo();
  *options.mutable_rig() = other;
  // The ended streams let go of theirs once their clients know of it.
  std::string error;
  for (int i = 0; i < 100 && (i == 0 || !error.empty()); ++i) error = Open(options)->Finish().error_message();
  EXPECT_EQ(error, "");
}

TEST(RectificationTest, TakesNoMoreThanIsCounted) {
  const auto bytes_of = [](const auto& values) { return static_cast<int64_t>(values.capacity() * sizeof(values[0])); };
  for (const Shape shape : {kRaw, Shape{33, 7}, Shape{160, 100}}) {
    StereoRig rig = Rig();
    rig.rectify.image = shape;
    const auto rectified = RectifyPair(rig.left, rig.right, rig.right_from_left, rig.rectify);
    ASSERT_TRUE(rectified.ok()) << rectified.status();
    const Rectification rectification(rig, *rectified);
    int64_t bytes = 0;
    for (const RemapTable* table : {&rectification.tables().left, &rectification.tables().right}) {
      const RemapBlocks& b = table->blocks;
      bytes += bytes_of(table->entries) + bytes_of(b.origins) + bytes_of(b.pixels) + bytes_of(b.first_exception) +
               bytes_of(b.exceptions);
    }
    EXPECT_LE(bytes, RectificationBytes(shape)) << shape.width;
    EXPECT_GE(bytes, RectificationBytes(shape) / 2) << shape.width;
  }
}

// From the client's library to the server, and what the server made of it back.
TEST(StereoRigWire, IsTheSameOnBothSides) {
  const std::vector<std::pair<CameraModel, std::vector<double>>> lenses = {
      {CameraModel::kPinhole, {}},
      {CameraModel::kRadialTangential, {-0.1, 0.01, 0.001, -0.002, 0.003}},
      {CameraModel::kRational, {0.1, 0.01, 0.001, -0.002, 0.003, 0.15, 0.02, 0.004}},
      {CameraModel::kKannalaBrandt, {0.01, -0.002, 0.003, -0.004}},
      {CameraModel::kDoubleSphere, {-0.2, 0.55}},
      {CameraModel::kEucm, {0.6, 1.1}},
      {CameraModel::kFov, {0.9}},
      {CameraModel::kOmni, {0.8, -0.1, 0.01, 0.001, -0.002}},
      {CameraModel::kThinPrism,
       {0.1, 0.01, 0.001, -0.002, 0.003, 0.15, 0.02, 0.004, 0.001, -0.0002, 0.0003, -0.0004, 0.01, -0.02}}};
  ASSERT_EQ(lenses.size(), size_t{kCameraModels});
  Rectifications rectifications(int64_t{1} << 30);
  for (const auto& [model, coefficients] : lenses) {
    SCOPED_TRACE(NameOf(model));
    StereoRig rig = Rig();
    rig.left.model = rig.right.model = model;
    rig.left.lens.fill(0);
    std::copy(coefficients.begin(), coefficients.end(), rig.left.lens.begin());
    rig.right.lens = rig.left.lens;
    rig.rectify = {{160, 100}, 90, 100};
    v1::StereoRig wire;
    client::ToWire(rig, &wire);
    const auto shared = rectifications.Get(wire, 1 << 20);
    ASSERT_TRUE(shared.ok()) << shared.status();
    EXPECT_EQ(*rectifications.Get(wire, 1 << 20), *shared);  // not another one
    const StereoRig& got = (*shared)->rig();
    for (const auto& [sent, camera] : {std::pair(&rig.left, &got.left), std::pair(&rig.right, &got.right)}) {
      EXPECT_EQ(camera->model, model);
      EXPECT_EQ(camera->lens, sent->lens);
      EXPECT_EQ(camera->image, sent->image);
      EXPECT_EQ(std::vector({camera->fx, camera->fy, camera->cx, camera->cy}),
                std::vector({sent->fx, sent->fy, sent->cx, sent->cy}));
    }
    EXPECT_EQ(got.right_from_left.rotation, rig.right_from_left.rotation);
    EXPECT_EQ(got.right_from_left.translation, rig.right_from_left.translation);
    EXPECT_EQ(got.rectify.image, rig.rectify.image);
    EXPECT_EQ(std::pair(got.rectify.focal_length, got.rectify.max_field), std::pair(90.0, 100.0));

    const RectifiedPair& made = (*shared)->rectified();
    v1::RectifiedCamera answer;
    ToProto(made, &answer);
    const auto read = client::FromWire(answer);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->camera.image, made.camera.image);
    EXPECT_EQ(std::vector({read->camera.fx, read->camera.fy, read->camera.cx, read->camera.cy, read->baseline}),
              std::vector({made.camera.fx, made.camera.fy, made.camera.cx, made.camera.cy, made.baseline}));
    EXPECT_EQ(read->rectified_from_left, made.rectified_from_left);
    EXPECT_EQ(read->rectified_from_right, made.rectified_from_right);
    EXPECT_EQ(read->uncovered, made.uncovered);
    answer.mutable_rectified_from_left()->RemoveLast();
    EXPECT_EQ(client::FromWire(answer).status().code(), absl::StatusCode::kInternal);
  }
}

}  // namespace
}  // namespace glint::testing
