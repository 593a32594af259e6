// Rigs that streams name: they are what the files say now, the same as by value, and nothing outside of the directory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <Eigen/Geometry>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/rig_wire.h"
#include "features/camera/stereo_rig.h"
#include "features/error.h"
#include "server/wire/stereo_rig.h"

namespace glint::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kPixels = 1 << 20;

// Right from left: a turn of half a degree about y, and 11 cm.
RigidTransform Pose() {
  RigidTransform pose;
  pose.rotation = Eigen::AngleAxisd(0.01, Eigen::Vector3d::UnitY()).toRotationMatrix();
  pose.translation = {-0.11, 0.0005, 0.001};
  return pose;
}

// A 4x4 matrix, row by row.
std::string Elements(const RigidTransform& t, const char* between) {
  std::string text;
  for (int row = 0; row < 3; ++row) {
    const auto r = t.rotation.row(row);
    absl::StrAppendFormat(&text, "%.17g, %.17g, %.17g, %.17g%s", r(0), r(1), r(2), t.translation(row), between);
  }
  return absl::StrCat(text, "0.0, 0.0, 0.0, 1.0");
}

std::string Chain(const std::string& pose, const std::string& lens = "radtan", double fx = 200) {
  std::string text;
  for (const int camera : {0, 1}) {
    absl::StrAppend(&text, "cam", camera, ":\n", camera == 0 ? "" : pose, "  camera_model: pinhole\n",
                    "  distortion_coeffs: ", lens == "none" ? "[]" : "[-0.28, 0.07, 0.0002, -0.0003]",
                    "\n  distortion_model: ", lens, "\n  intrinsics: [", fx, ", 201.0, 158.5, 103.25]\n",
                    "  resolution: [320, 200]\n  rostopic: /cam", camera, "/image_raw\n");
  }
  return text;
}

// Kalibr's camchain.yaml.
std::string Kalibr(const RigidTransform& right_from_left = Pose(), const std::string& lens = "radtan",
                   double fx = 200) {
  return Chain(absl::StrCat("  T_cn_cnm1:\n  - [", Elements(right_from_left, "]\n  - ["), "]\n"), lens, fx);
}

class NamedRigsTest : public ::testing::Test {
 protected:
  NamedRigsTest() { fs::create_directories(folder_); }
  ~NamedRigsTest() override { fs::remove_all(root_); }

  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(folder_ + "/" + name).parent_path());
    std::ofstream(folder_ + "/" + name) << text;
  }
  // EuRoC's sensor.yaml: where the camera is in the body.
  void WriteSensor(const std::string& folder, const RigidTransform& body_from_camera) const {
    Write(folder + "/sensor.yaml",
          absl::StrCat("sensor_type: camera\nT_BS:\n  cols: 4\n  rows: 4\n  data: [", Elements(body_from_camera, ",\n"),
                       "]\nresolution: [320, 200]\ncamera_model: pinhole\nintrinsics: [200, 201, 158.5, 103.25]\n"
                       "distortion_model: radial-tangential\n"
                       "distortion_coefficients: [-0.28, 0.07, 0.0002, -0.0003]\n"));
  }

  static v1::StereoRig Named(const std::string& name) {
    v1::StereoRig rig;
    rig.set_name(name);
    return rig;
  }
  absl::StatusOr<std::shared_ptr<const Rectification>> Get(const v1::StereoRig& rig) {
    return rectifications_.Get(rig, kPixels);
  }
  std::shared_ptr<const Rectification> Got(const std::string& name) {
    auto got = Get(Named(name));
    EXPECT_TRUE(got.ok()) << got.status();
    return got.ok() ? *got : nullptr;
  }
  // The text of an error of "rig.name", which has no path of the server.
  std::string Refusal(const std::string& name, absl::StatusCode code = absl::StatusCode::kFailedPrecondition) {
    const absl::Status status = Get(Named(name)).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr(root_)));
    const auto info = ErrorInfoOf(status);
    if (info.has_value()) {
      EXPECT_EQ(info->field, "rig.name");
    }
    return std::string(status.message());
  }

  const std::string root_ = absl::StrCat(::testing::TempDir(), "glint-rigs-", getpid());
  const std::string folder_ = root_ + "/rigs";
  std::vector<std::pair<std::string, std::string>> warnings_;
  Rectifications rectifications_{int64_t{1} << 30, folder_, [this](absl::string_view name, const std::string& warning) {
                                   warnings_.emplace_back(name, warning);
                                 }};
};

TEST_F(NamedRigsTest, AChainOfKalibrIsTheRigByValue) {
  Write("front.yaml", Kalibr());
  const auto front = Got("front");
  ASSERT_NE(front, nullptr);
  const StereoRig& rig = front->rig();
  for (const Camera& camera : {rig.left, rig.right}) {
    EXPECT_EQ(camera.model, CameraModel::kRadialTangential);
    EXPECT_EQ(camera.image, (Shape{320, 200}));
    EXPECT_EQ(std::vector({camera.fx, camera.fy, camera.cx, camera.cy}), std::vector({200.0, 201.0, 158.5, 103.25}));
    EXPECT_EQ(std::vector({camera.lens[0], camera.lens[1], camera.lens[2], camera.lens[3], camera.lens[4]}),
              std::vector({-0.28, 0.07, 0.0002, -0.0003, 0.0}));
  }
  EXPECT_LT((rig.right_from_left.rotation - Pose().rotation).norm(), 1e-12);
  EXPECT_LT((rig.right_from_left.translation - Pose().translation).norm(), 1e-12);

  // By its whole name and by value: the same tables.
  EXPECT_EQ(Got("front.yaml"), front);
  v1::StereoRig by_value;
  client::ToWire(rig, &by_value);
  const auto same = Get(by_value);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(*same, front);
  // What the rectified images are to be like is the stream's.
  v1::StereoRig smaller = Named("front");
  smaller.mutable_rectify()->set_width(160);
  smaller.mutable_rectify()->set_height(100);
  const auto other = Get(smaller);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ((*other)->rectified().camera.image, (Shape{160, 100}));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(NamedRigsTest, AFolderOfEurocIsOne) {
  const RigidTransform body_from_left = {Eigen::AngleAxisd(1.5, Eigen::Vector3d::UnitZ()).toRotationMatrix(),
                                         {0.1, 0.2, 0.3}};
  WriteSensor("drone/mav0/cam0", body_from_left);
  WriteSensor("drone/mav0/cam1", body_from_left * Pose().Inverse());
  const auto drone = Got("drone");
  ASSERT_NE(drone, nullptr);
  EXPECT_EQ(drone->rig().left.fy, 201);
  EXPECT_LT((drone->rig().right_from_left.rotation - Pose().rotation).norm(), 1e-12);
  EXPECT_LT((drone->rig().right_from_left.translation - Pose().translation).norm(), 1e-12);
}

TEST_F(NamedRigsTest, CamerasThatAreRectifiedStayAsTheyAre) {
  RigidTransform beside;
  beside.translation.x() = -0.11;
  std::string text = Kalibr(beside, "none", 201);
  Write("rectified.yaml", text);
  const auto rectified = Got("rectified");
  ASSERT_NE(rectified, nullptr);
  EXPECT_EQ(rectified->rig().left.model, CameraModel::kPinhole);
  EXPECT_LT((rectified->rectified().rectified_from_left - Eigen::Matrix3d::Identity()).norm(), 1e-12);
  EXPECT_NEAR(rectified->rectified().baseline, 0.11, 1e-12);
}

TEST_F(NamedRigsTest, ANewFileIsTheNextStreams) {
  Write("front.yaml", Kalibr());
  const auto before = Got("front");
  ASSERT_NE(before, nullptr);
  Write("front.yaml", Kalibr(Pose(), "radtan", 202));
  const auto after = Got("front");
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(before->rig().left.fx, 200);
  EXPECT_EQ(after->rig().left.fx, 202);
}

TEST_F(NamedRigsTest, NamesLeadNowhereElse) {
  Write("front.yaml", Kalibr());
  Write(".hidden.yaml", Kalibr());
  Write("../outside.yaml", Kalibr());
  for (const std::string& name :
       {std::string("../outside.yaml"), std::string("../outside"), std::string(".hidden"), std::string(".."),
        std::string("/etc"), std::string("a/b"), std::string("a b"), std::string("front\0", 6), std::string(65, 'a')}) {
    EXPECT_THAT(Refusal(name, absl::StatusCode::kInvalidArgument),
                HasSubstr("\" is not 1..64 letters, digits, '_', '-' and '.', which is not the first"));
  }
  EXPECT_EQ(Refusal(std::string(64, 'a'), absl::StatusCode::kNotFound),
            absl::StrCat("rig.name: there is no calibration \"", std::string(64, 'a'),
                         "\"; this server has front.yaml, ..."));
  EXPECT_THAT(Refusal("fron", absl::StatusCode::kNotFound), StartsWith("rig.name: there is no calibration \"fron\""));
  // Links are of whoever may write there.
  fs::create_symlink("../outside.yaml", folder_ + "/link");
  EXPECT_EQ(Got("link"), Got("front"));
  // An empty name is none.
  EXPECT_THAT(std::string(Get(Named("")).status().message()), StartsWith("rig.left.width: 0 is not in"));

  for (const auto set :
       {+[](v1::StereoRig* rig) { rig->mutable_left(); }, +[](v1::StereoRig* rig) { rig->mutable_right(); },
        +[](v1::StereoRig* rig) { rig->mutable_right_from_left(); }}) {
    v1::StereoRig both = Named("front");
    set(&both);
    EXPECT_EQ(
        Get(both).status(),
        WithField("rig", ContradictionError("name", "is in place of left, right and right_from_left: give either")));
  }
}

TEST_F(NamedRigsTest, OfSeveralFilesTheWholeNameIsWanted) {
  Write("front.yaml", Kalibr());
  Write("front.json", Kalibr());
  EXPECT_EQ(Refusal("front"),
            "rig.name: \"front\": is one of several files: give the whole name of front.json, front.yaml");
  ASSERT_NE(Got("front.yaml"), nullptr);
  Write("front", Kalibr(Pose(), "radtan", 203));
  const auto exact = Got("front");
  ASSERT_NE(exact, nullptr);
  EXPECT_EQ(exact->rig().left.fx, 203);
}

TEST_F(NamedRigsTest, WhatIsNoRigIsRefused) {
  const std::string one = Kalibr().substr(0, Kalibr().find("cam1:"));
  Write("one.yaml", one);
  EXPECT_EQ(Refusal("one"), "rig.name: \"one\": has 1 of 2 cameras");
  Write("notes.txt", "nothing of cameras\n");
  EXPECT_THAT(Refusal("notes"), StartsWith("rig.name: \"notes\": notes.txt: no calibration that Glint knows"));
  Write("broken.yaml", "cam0: [\n");
  EXPECT_THAT(Refusal("broken"), StartsWith("rig.name: \"broken\": broken.yaml: "));
  fs::create_directories(folder_ + "/empty");
  EXPECT_THAT(Refusal("empty"), StartsWith("rig.name: \"empty\": empty: no calibration that Glint knows"));
  ASSERT_EQ(mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_THAT(Refusal("pipe"), StartsWith("rig.name: \"pipe\": pipe: cannot be read"));
  // OpenCV's matrices, whose lengths are squares of a board or whatever else.
  const auto matrix = [](const char* name, int rows, int cols, const char* data) {
    return absl::StrCat(name, ": !!opencv-matrix\n   rows: ", rows, "\n   cols: ", cols, "\n   dt: d\n   data: [", data,
                        "]\n");
  };
  std::string opencv = "%YAML:1.0\n---\nimage_width: 320\nimage_height: 200\n";
  for (const char* side : {"1", "2"}) {
    opencv += matrix(absl::StrCat("K", side).c_str(), 3, 3, "200., 0., 158.5, 0., 201., 103.25, 0., 0., 1.");
    opencv += matrix(absl::StrCat("D", side).c_str(), 1, 5, "-0.28, 0.07, 0.0002, -0.0003, 0.");
  }
  opencv += matrix("R", 3, 3, "1., 0., 0., 0., 1., 0., 0., 0., 1.") + matrix("T", 3, 1, "-0.11, 0., 0.");
  Write("opencv.yml", opencv);
  EXPECT_THAT(Refusal("opencv"), StartsWith("rig.name: \"opencv\": files of opencv do not say the unit"));
  // No size of the images.
  std::string sizeless = Kalibr();
  for (size_t at; (at = sizeless.find("  resolution: [320, 200]\n")) != std::string::npos;) sizeless.erase(at, 25);
  Write("sizeless.yaml", sizeless);
  EXPECT_EQ(Refusal("sizeless"), "rig.name: \"sizeless\": cam0: the file does not say the size of its images");
  // What `glint calibration` calls an error, and what the wire refuses by value.
  Write("millimetres.yaml", Kalibr(Pose(), "radtan", 3.6));
  EXPECT_THAT(Refusal("millimetres"), StartsWith("rig.name: \"millimetres\": cam0: fx 3.6 is not 0.1 to 10 times"));
  RigidTransform above = Pose();
  above.translation = {0.001, -0.11, 0};
  Write("above.yaml", Kalibr(above));
  EXPECT_THAT(Refusal("above"), HasSubstr("the right camera sits at"));
  RigidTransform wide = Pose();
  wide.translation.x() = -110;
  Write("wide.yaml", Kalibr(wide));
  EXPECT_THAT(Refusal("wide"), StartsWith("rig.name: \"wide\": right_from_left: a baseline of 110"));
  EXPECT_THAT(Refusal("gone", absl::StatusCode::kNotFound), StartsWith("rig.name: there is no calibration"));
  // What is wrong with the stream's options is not the file's fault.
  Write("front.yaml", Kalibr());
  v1::StereoRig rig = Named("front");
  rig.mutable_rectify()->set_focal_length(31);
  EXPECT_EQ(Get(rig).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Get(rig).status().message(), "rig.rectify.focal_length: 31 is not in 32..3200");
}

TEST_F(NamedRigsTest, DoubtsAreSaidOnceForEachRigThatIsNew) {
  RigidTransform wide = Pose();
  wide.translation.x() = -3;
  Write("wide.yaml", Kalibr(wide));
  const auto first = Got("wide"), second = Got("wide");
  EXPECT_EQ(first, second);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(warnings_[0].first, "wide");
  EXPECT_THAT(warnings_[0].second, StartsWith("cam0, cam1: a baseline of 3 m is not 0.005 to 2 m"));
}

TEST_F(NamedRigsTest, WithoutADirectoryThereAreNone) {
  Rectifications none(int64_t{1} << 30);
  const absl::Status status = none.Get(Named("front"), kPixels).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "rig.name: this server has no calibrations (--calibration-directory)");
  fs::remove_all(folder_);
  EXPECT_THAT(Refusal("front", absl::StatusCode::kUnavailable), StartsWith("rig.name: the calibration directory: "));
}

}  // namespace
}  // namespace glint::testing
