// Formats of one page each, and files that are known though they are not read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "features/camera/lens_math.h"
#include "tests/calibration/turned_rig.h"

namespace glint::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::string Transforms(const std::string& fields) {
  return absl::StrCat("{", fields, R"(, "frames": [{"file_path": "a.jpg", "transform_matrix": [[1, 0, 0, 3], )",
                      "[0, 1, 0, 2], [0, 0, 1, 1], [0, 0, 0, 1]]}]}");
}
constexpr char kFields[] = R"("w": 1080.0, "h": 1920, "fl_x": 1027.75, "fl_y": 1026.5, "cx": 481.25, "cy": 983.5, )";

TEST(Nerfstudio, OneCameraWithoutItsPicturesPoses) {
  const auto read = Read(Transforms(absl::StrCat(kFields, R"("k1": 0.12, "k2": -0.02, "p1": 0.003, "p2": 0.0004)")));
  EXPECT_EQ(read.format, "nerfstudio");
  ASSERT_THAT(read.rig.cameras, SizeIs(1));
  ExpectSame(read.rig.cameras[0].camera, Camera{CameraModel::kRadialTangential,
                                                {1080, 1920},
                                                1027.75,
                                                1026.5,
                                                481.25,
                                                983.5,
                                                {0.12, -0.02, 0.003, 0.0004, 0}});
  EXPECT_THAT(read.notes, ElementsAre("file: frames: are poses of pictures, and left out: the file is of one camera"));
  const std::string lens = R"("k1": 0.1, "k2": 0.02, "k3": 0.003, "k4": 0.0004, )";
  for (const char* model : {R"("camera_model": "OPENCV_FISHEYE")", R"("is_fisheye": true)"}) {
    const Camera camera = Read(Transforms(absl::StrCat(kFields, lens, model))).rig.cameras.at(0).camera;
    EXPECT_EQ(camera.model, CameraModel::kKannalaBrandt);
    EXPECT_EQ(camera.lens, (LensCoefficients{0.1, 0.02, 0.003, 0.0004}));
  }
  EXPECT_THAT(ErrorOf(Transforms(absl::StrCat(kFields, lens, R"("camera_model": "OPENCV")"))),
              HasSubstr("file: k4: 0.0004 is not 0"));
  EXPECT_THAT(ErrorOf(Transforms(absl::StrCat(kFields, R"("camera_model": "EQUIRECTANGULAR")"))),
              HasSubstr("file: camera_model: \"EQUIRECTANGULAR\" is not one of PINHOLE"));
}

TEST(Nerfstudio, AnAngleIsEnoughWhereTheSizeIsKnown) {
  const std::string angle = Transforms(R"("camera_angle_x": 1.5707963267948966)");
  EXPECT_THAT(ErrorOf(angle), HasSubstr("file: camera_angle_x: says no pixels without w"));
  const Camera camera = Read(angle, OfImage(800, 600)).rig.cameras.at(0).camera;
  EXPECT_NEAR(camera.fx, 400, 1e-9);
  EXPECT_NEAR(camera.fy, 400, 1e-9);
  EXPECT_EQ(camera.cy, 300);
}

TEST(TextMatrix, NineNumbersInOneLineOrInRows) {
  for (const char* text : {"754.5 0.0 489.25 0.0 755.5 265.125 0.0 0.0 1.0\n", "754.5 0 489.25\n0 755.5 265.125\n0 0 1",
                           "# K\n754.5,0,489.25,0\n0,755.5,265.125,0\n0,0,1,0\n0,0,0,1\n"}) {
    const auto read = Read(text, OfImage(960, 540));
    EXPECT_EQ(read.format, "matrix");
    ASSERT_THAT(read.rig.cameras, SizeIs(1)) << text;
    ExpectSame(read.rig.cameras[0].camera, Camera{CameraModel::kPinhole, {960, 540}, 754.5, 755.5, 489.25, 265.125});
  }
  const auto lens = Read("517.3 516.5 318.6 255.3 0.2624 -0.9531 -0.0054 0.0026 1.1633\n").rig.cameras.at(0).camera;
  EXPECT_EQ(lens.model, CameraModel::kRadialTangential);
  EXPECT_EQ(lens.lens, (LensCoefficients{0.2624, -0.9531, -0.0054, 0.0026, 1.1633}));
}

TEST(TextMatrix, ABaselineMakesItARectifiedPair) {
  const auto read = Read("754.5 0.0 489.25 0.0 754.5 265.125 0.0 0.0 1.0\n0.0625\n");
  EXPECT_TRUE(read.rectified);
  EXPECT_FALSE(read.unit_is_unknown);
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  ExpectSame(SecondInFirst(read.rig), {Eigen::Matrix3d::Identity(), {0.0625, 0, 0}});
  EXPECT_THAT(read.notes, ElementsAre(HasSubstr("baseline: beside one camera")));
  EXPECT_THAT(ErrorOf("754 0 489 0 754 265 0 0 1\n-1\n"), HasSubstr("file: baseline: -1 is not above 0"));
}

TEST(TextMatrix, OtherNumbersAreNone) {
  for (const char* text : {"1 2 3\n4 5 6\n7 8 9\n", "1 0 0 0.3\n0 1 0 0\n0 0 1 0\n0 0 0 1\n",
                           "1280 720 30 60 1 2 3 4\n", "700 0 300\n0 700 200\n0 0 1\n1 2 3\n", "754.5 0 489\n",
                           "640 480 320 240\n", "0 0 640 480\n", "100 100 5 5\n", "12 13 60 61\n"}) {
    EXPECT_THAT(ErrorOf(text), HasSubstr("no calibration that Glint knows")) << text;
  }
}

TEST(TextMatrix, FourNumbersAreACameraWithoutALens) {
  const auto read = Read("726.25 727.5 359.25 202.5\n");
  EXPECT_EQ(read.format, "matrix");
  ExpectSame(read.rig.cameras.at(0).camera, Camera{CameraModel::kPinhole, {0, 0}, 726.25, 727.5, 359.25, 202.5});
}

// SVO's and FAST-LIVO's.
TEST(Vikit, ModelsAndShares) {
  const std::string size = "cam_width: 1280\ncam_height: 1024\n";
  const std::string pixels = "scale: 0.5\ncam_fx: 1293.5\ncam_fy: 1292.5\ncam_cx: 626.75\ncam_cy: 522.25\n";
  const auto pinhole = Read(absl::StrCat("cam_model: Pinhole\n", size, pixels,
                                         "cam_d0: -0.07\ncam_d1: 0.12\ncam_d2: -0.001\ncam_d3: 0.0002\n"));
  EXPECT_EQ(pinhole.format, "vikit");
  Camera expected = {CameraModel::kRadialTangential, {1280, 1024}, 1293.5, 1292.5, 626.75, 522.25};
  expected.lens = {-0.07, 0.12, -0.001, 0.0002, 0};
  ExpectSame(pinhole.rig.cameras.at(0).camera, expected);
  const auto fisheye =
      Read(absl::StrCat("cam_model: EquidistantCamera\n", size, pixels, "k1: 0.1\nk2: 0.02\nk4: 0.004\n"))
          .rig.cameras.at(0)
          .camera;
  EXPECT_EQ(fisheye.model, CameraModel::kKannalaBrandt);
  EXPECT_EQ(fisheye.lens, (LensCoefficients{0.1, 0.02, 0, 0.004}));
  const std::string shares = "cam_fx: 0.5\ncam_fy: 0.75\ncam_cx: 0.5\ncam_cy: 0.5\ncam_d0: 0.875\n";
  const auto atan = Read(absl::StrCat("cam_model: ATAN\n", size, shares)).rig.cameras.at(0).camera;
  ExpectSame(atan, Camera{CameraModel::kFov, {1280, 1024}, 640, 768, 639.5, 511.5, {0.875}});
  EXPECT_THAT(ErrorOf(absl::StrCat("cam_model: Ocam\n", size, pixels)),
              HasSubstr("file: cam_model: \"Ocam\" is not one of Pinhole, ATAN"));
  EXPECT_THAT(ErrorOf(absl::StrCat("cam_model: Pinhole\n", size)), HasSubstr("file: cam_fx: "));
}

TEST(Dso, ModelsAndShares) {
  const std::string tail = "\n752 480\ncrop\n640 480\n";
  const auto pinhole = Read("Pinhole 501.5 500.5 421.75 167.5 0 0 0 0" + tail);
  EXPECT_EQ(pinhole.format, "dso");
  ExpectSame(pinhole.rig.cameras.at(0).camera, Camera{CameraModel::kPinhole, {752, 480}, 501.5, 500.5, 421.75, 167.5});
  for (const char* model : {"RadTan ", ""}) {
    const auto read = Read(absl::StrCat(model, "458.5 457.5 367.25 248.5 -0.28 0.07 0.0002 0.00002", tail));
    Camera expected = {CameraModel::kRadialTangential, {752, 480}, 458.5, 457.5, 367.25, 248.5};
    expected.lens = {-0.28, 0.07, 0.0002, 0.00002};
    ExpectSame(read.rig.cameras.at(0).camera, expected);
  }
  const auto fisheye =
      Read("EquiDistant 190.5 190.5 254 256 0.003 0.0007 -0.002 0.0002" + tail).rig.cameras.at(0).camera;
  EXPECT_EQ(fisheye.model, CameraModel::kKannalaBrandt);
  // Shares of the size count from the image's corner.
  const auto share = Read("0.5 0.75 0.5 0.5 0.875\n1280 1024\ncrop\n640 480\n").rig.cameras.at(0).camera;
  ExpectSame(share, Camera{CameraModel::kFov, {1280, 1024}, 640, 768, 639.5, 511.5, {0.875}});
  EXPECT_THAT(ErrorOf("Sphere 501.5 500.5 421.75 167.5 0" + tail), HasSubstr("\"sphere\" is not one of"));
}

std::string Rows(const RigidTransform& pose) {
  Eigen::Matrix<double, 3, 4, Eigen::RowMajor> m;
  m << pose.rotation, pose.translation;
  return absl::StrCat("[", Numbers({m.data(), m.data() + 12}), ", 0, 0, 0, 1]");
}

TEST(CameraLists, OkvisAndNcameraArePosesInTheBody) {
  const RigidTransform poses[] = {BodyFromLeft(), BodyFromLeft() * LeftFromRight()};
  std::string okvis = "%YAML:1.0\ncameras:\n", ncamera = "label: \"rig\"\ncameras:\n";
  for (int eye = 0; eye < 2; ++eye) {
    absl::StrAppend(&okvis, "     - {T_SC:\n        ", Rows(poses[eye]),
                    ",\n        image_dimension: [752, 480],\n        distortion_coefficients: [-0.28, 0.07, 0.0002, ",
                    "0.0001],\n        distortion_type: radialtangential,\n        focal_length: [458.654, 457.296],\n",
                    "        principal_point: [367.215, 248.375]}\n");
    absl::StrAppend(
        &ncamera, "- camera:\n    label: eye", eye,
        "\n    image_height: 480\n    image_width: 752\n    type: pinhole\n    intrinsics:\n      cols: 1\n",
        "      rows: 4\n      data: [458.654, 457.296, 367.215, 248.375]\n    distortion:\n",
        "      type: radial-tangential\n      parameters:\n        cols: 1\n        rows: 4\n",
        "        data: [-0.28, 0.07, 0.0002, 0.0001]\n  T_B_C:\n    cols: 4\n    rows: 4\n    data: ", Rows(poses[eye]),
        "\n");
  }
  for (const std::string& text : {okvis, ncamera}) {
    const auto read = Read(text);
    ASSERT_THAT(read.rig.cameras, SizeIs(2)) << text;
    EXPECT_THAT(read.warnings, IsEmpty());
    ExpectSame(SecondInFirst(read.rig), LeftFromRight(), 1e-9);
    ExpectSame(read.rig.cameras[0].rig_from_camera, BodyFromLeft(), 1e-9);
    Camera expected = RaggedCamera(CameraModel::kRadialTangential, {-0.28, 0.07, 0.0002, 0.0001});
    ExpectSame(read.rig.cameras[1].camera, expected);
  }
  EXPECT_TRUE(Read(okvis).rig.imu.has_value());
  EXPECT_EQ(Read(ncamera).rig.cameras[1].name, "eye1");
  EXPECT_THAT(ErrorOf(Without(okvis, "radialtangential", "bulging")), HasSubstr("file: cameras[0]/distortion: \"bulg"));
  EXPECT_THAT(ErrorOf(Without(ncamera, "type: pinhole", "type: omni")), HasSubstr("file: cameras[0]/type: \"omni\""));
}

TEST(OtherFiles, AreNamedWithWhatWouldDo) {
  const std::pair<std::string, const char*> files[] = {
      {std::string("PK\x03\x04\x14\0\0\0K1.npy", 14), "NumPy's: write K1, D1, K2, D2, R and T"},
      {std::string("\x89PNG\r\n\x1a\n\0\0", 10), "a picture"},
      {R"({"CalibrationInformation": {"Cameras": [{"Intrinsics": {"ModelParameters": [0.5]}}]}})", "an Azure Kinect"},
      {R"({"intrinsics": [{"intrinsicId": "5", "pxFocalLength": "3225.6"}]})", "Meshroom"},
      {"fc_left = [ 533.4 533.5 ];\ncc_left = [ 341.5 234.2 ];\n", "Bouguet"},
      {"target_type: aprilgrid\ntagCols: 6\ntagSize: 0.088\n", "Kalibr's target"}};
  for (const auto& [text, what] : files) {
    EXPECT_THAT(ErrorOf(text), AllOf(HasSubstr("file: no calibration that Glint knows; it seems to be "),
                                     HasSubstr(what), Not(HasSubstr("camchain, EuRoC"))));
  }
}

}  // namespace
}  // namespace glint::testing
