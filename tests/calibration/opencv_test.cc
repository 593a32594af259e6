// Matrices of OpenCV's programs, by the names that people give them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/calibration/turned_rig.h"
#include "tests/calibration/written_files.h"

namespace glint::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kHeader[] = "%YAML:1.0\n---\n";

std::string Matrix(const std::string& name, int rows, const std::vector<double>& values) {
  return absl::StrCat(name, ": !!opencv-matrix\n   rows: ", rows, "\n   cols: ", values.size() / rows,
                      "\n   dt: d\n   data: [ ", Numbers(values, ",\n       "), " ]\n");
}
std::string XmlMatrix(const std::string& name, int rows, const std::vector<double>& values) {
  return absl::StrCat("<", name, " type_id=\"opencv-matrix\">\n  <rows>", rows, "</rows>\n  <cols>",
                      values.size() / rows, "</cols>\n  <dt>d</dt>\n  <data>\n    ", Numbers(values, " "), "</data></",
                      name, ">\n");
}
std::string List(const std::string& name, int rows, const std::vector<double>& values) {
  std::string text = name + ":\n";
  for (size_t i = 0; i < values.size(); i += values.size() / rows) {
    const auto row = values.begin() + static_cast<ptrdiff_t>(i);
    absl::StrAppend(&text, "- [", Numbers({row, row + static_cast<ptrdiff_t>(values.size() / rows)}), "]\n");
  }
  return text;
}

const std::vector<double> kK1 = {458.654, 0, 367.215, 0, 457.296, 248.375, 0, 0, 1};
const std::vector<double> kK2 = {457.587, 0, 379.999, 0, 456.134, 255.238, 0, 0, 1};
const std::vector<double> kD1 = {-0.283, 0.074, 0.00019, 1.76e-5, 0.012};
const std::vector<double> kD2 = {-0.285, 0.073, -0.00012, -3.5e-5, 0.011};

RigidTransform RightFromLeft() { return LeftFromRight().Inverse(); }

// In the order K1 D1 K2 D2 R T.
template <typename Write>
std::string Stereo(const std::vector<std::string>& names, Write write) {
  const RigidTransform pose = RightFromLeft();
  return write(names[0], 3, kK1) + write(names[1], 1, kD1) + write(names[2], 3, kK2) + write(names[3], 5, kD2) +
         write(names[4], 3, ByRows(pose.rotation)) + write(names[5], 3, Of(pose.translation));
}
const std::vector<std::string> kNames = {"M1", "D1", "M2", "D2", "R", "T"};

void ExpectStereo(const calibration::Calibration& read) {
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  EXPECT_EQ(read.format, "opencv");
  EXPECT_THAT(read.warnings, IsEmpty());
  EXPECT_TRUE(read.unit_is_unknown);
  EXPECT_FALSE(read.rectified);
  const auto& [left, right] = std::tie(read.rig.cameras[0], read.rig.cameras[1]);
  EXPECT_THAT((std::vector<double>{left.camera.fx, left.camera.fy, left.camera.cx, left.camera.cy}),
              ElementsAre(458.654, 457.296, 367.215, 248.375));
  EXPECT_EQ(right.camera.fx, 457.587);
  EXPECT_EQ(right.camera.model, CameraModel::kRadialTangential);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(right.camera.lens[i], kD2[i]);
  ExpectSame(SecondInFirst(read.rig), LeftFromRight());
}

TEST(OpenCv, NamesThatPeopleChoose) {
  const std::vector<std::string> all[] = {
      kNames,
      {"K1", "D1", "K2", "D2", "R", "T"},
      {"K0", "D0", "K1", "D1", "R", "T"},
      {"mtx_l", "dist_l", "mtx_r", "dist_r", "R", "T"},
      {"cameraMatrixL", "distCoeffsL", "cameraMatrixR", "distCoeffsR", "R", "T"},
      {"Left_Camera_Matrix", "Left_Distortion_Coefficients", "Right_Camera_Matrix", "Right_Distortion_Coefficients",
       "Rotation_Matrix", "Translation_Vector"},
      {"leftK", "leftD", "rightK", "rightD", "stereo_R", "stereo_T"},
      {"KL", "DL", "KR", "DR", "rotation", "translation"},
      {"camera_matrix_1", "dist_coeffs_1", "camera_matrix_2", "dist_coeffs_2", "R_left_to_right", "T_left_to_right"},
      {"intrinsics_left", "distortion_left", "intrinsics_right", "distortion_right", "rot", "trans"},
      {"mtxl", "distl", "mtxr", "distr", "R", "T"},
      {"leftcam_mtx", "leftcam_dist", "rightcam_mtx", "rightcam_dist", "R", "T"},
      {"K_L", "D_L", "K_R", "D_R", "Rmat", "trans"},
      {"my_lens_left", "my_dist_left", "my_lens_right", "my_dist_right", "R", "T"}};
  for (const auto& names : all) {
    SCOPED_TRACE(names[0]);
    ExpectStereo(Read(kHeader + Stereo(names, Matrix)));
    ExpectStereo(Read(Stereo(names, List)));
    ExpectStereo(
        Read("<?xml version=\"1.0\"?>\n<opencv_storage>\n" + Stereo(names, XmlMatrix) + "</opencv_storage>\n"));
  }
}

TEST(OpenCv, NamesThatDoNotSayLeftAndRightAreRefused) {
  const std::vector<std::string> own = {"mtx_iphone", "dist_iphone", "mtx_webcam", "dist_webcam", "R", "T"};
  EXPECT_THAT(ErrorOf(kHeader + Stereo(own, Matrix)),
              HasSubstr("file: mtx_iphone, mtx_webcam: are of several cameras, of which the names do not say left"));
  const std::vector<std::string> one_of_them = {"mtx_left", "dist_left", "mtx_webcam", "dist_webcam", "R", "T"};
  EXPECT_THAT(ErrorOf(kHeader + Stereo(one_of_them, Matrix)), HasSubstr("mtx_left, mtx_webcam: are of several"));
  EXPECT_THAT(ErrorOf(kHeader + Matrix("Kc", 3, kK1) + Matrix("kc", 1, kD1) + Matrix("Kp", 3, kK2)),
              HasSubstr("file: Kc, Kp: are of several cameras"));
  // The same one twice is one.
  const auto twice = Read(kHeader + Matrix("camera_matrix", 3, kK1) + Matrix("K_of_lens", 3, kK1));
  EXPECT_THAT(twice.rig.cameras, SizeIs(1));
}

TEST(OpenCv, CamerasBesideThePair) {
  const std::string other = Matrix("K_rgb", 3, {600, 0, 320, 0, 600, 240, 0, 0, 1});
  const std::vector<std::string> names = {"K_l", "D_l", "K_r", "D_r", "R", "T"};
  const auto read = Read(kHeader + other + Stereo(names, Matrix));
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  EXPECT_EQ(read.rig.cameras[0].camera.fx, 458.654);
  EXPECT_THAT(read.warnings, ElementsAre(HasSubstr("K_rgb: is of a camera beside the pair, and left out")));
  const std::string third = Matrix("K3", 3, {600, 0, 320, 0, 600, 240, 0, 0, 1});
  const std::vector<std::string> numbers = {"K1", "D1", "K2", "D2", "R", "T"};
  EXPECT_THAT(ErrorOf(kHeader + Stereo(numbers, Matrix) + third), HasSubstr("file: K3: is of a third camera"));
}

TEST(OpenCv, LensesBesideMatricesOfTheSameLetter) {
  for (const char* lens : {"k", "kc"}) {
    const auto read = Read(kHeader + Matrix("K", 3, kK1) + Matrix(lens, 5, kD1));
    ASSERT_THAT(read.rig.cameras, SizeIs(1));
    EXPECT_EQ(read.rig.cameras[0].camera.model, CameraModel::kRadialTangential) << lens;
    EXPECT_EQ(read.rig.cameras[0].camera.lens[0], kD1[0]) << lens;
  }
  const std::vector<double> fisheye = {0.02, -0.01, 0.003, -0.0004};
  const auto read = Read(kHeader + Matrix("K_LEFT", 3, kK1) + Matrix("D_LEFT_FE", 1, fisheye));
  EXPECT_EQ(read.rig.cameras[0].camera.model, CameraModel::kKannalaBrandt);
  const auto omni = Read(kHeader + Matrix("Kl", 3, kK1) + Matrix("Dl", 1, {-0.3, 0.1, 0.001, 0.002}) + "xil: 2.5\n" +
                         Matrix("Kr", 3, kK2) + Matrix("Dr", 1, {-0.3, 0.1, 0.001, 0.002}) + "xir: 2.4\n" +
                         Matrix("R", 3, ByRows(Eigen::Matrix3d::Identity())) + Matrix("T", 3, {-0.1, 0, 0}));
  ASSERT_THAT(omni.rig.cameras, SizeIs(2));
  EXPECT_EQ(omni.rig.cameras[1].camera.model, CameraModel::kOmni);
  EXPECT_EQ(omni.rig.cameras[1].camera.lens[0], 2.4);
}

TEST(OpenCv, RotationVectorsAndTheOtherDirection) {
  const RigidTransform left_from_right = LeftFromRight();
  const Eigen::AngleAxisd turn(RightFromLeft().rotation);
  const std::string cameras = Matrix("K1", 3, kK1) + Matrix("D1", 1, kD1) + Matrix("K2", 3, kK2) + Matrix("D2", 1, kD2);
  ExpectStereo(Read(kHeader + cameras + Matrix("R", 3, Of(turn.angle() * turn.axis())) + "T: [ " +
                    Numbers(Of(RightFromLeft().translation)) + " ]\n"));
  ExpectStereo(Read(kHeader + Stereo(kNames, Matrix) + Matrix("rvec", 3, Of(turn.angle() * turn.axis()))));
  ExpectStereo(Read(kHeader + cameras + Matrix("R_right_to_left", 3, ByRows(left_from_right.rotation)) +
                    Matrix("T_right_to_left", 3, Of(left_from_right.translation))));
}

TEST(OpenCv, ImageSizes) {
  for (const char* size : {"image_width: 752\nimage_height: 480\n", "Image_Width: 752.\nImage_Height: 480.\n",
                           "calibImageSize: [ 752, 480 ]\n", "imageSize:\n   - 752\n   - 480\n",
                           "resolution: !!opencv-matrix\n   rows: 1\n   cols: 2\n   dt: i\n   data: [ 752, 480 ]\n",
                           "width: 752\nheight: 480\n", "img_size: {width: 752, height: 480}\n",
                           "boardSize: [ 9, 6 ]\nimage_shape: [ 480, 752 ]\n"}) {
    const auto read = Read(kHeader + std::string(size) + Stereo(kNames, Matrix));
    ExpectStereo(read);
    EXPECT_EQ(read.rig.cameras[1].camera.image, (Shape{752, 480})) << size;
  }
  const auto none = Read(kHeader + std::string("board_width: 9\nboard_height: 6\n") + Stereo(kNames, Matrix));
  EXPECT_EQ(none.rig.cameras[0].camera.image, Shape{});
}

std::vector<double> Projection(double f, double cx, double cy, double t) {
  return {f, 0, cx, t, 0, f, cy, 0, 0, 0, 1, 0};
}

TEST(OpenCv, ProjectionsAloneAreOfRectifiedImages) {
  const std::string one = kHeader + Matrix("P1", 3, Projection(435.2, 367.4, 252.2, 0));
  const auto equal = Read(one + Matrix("P2", 3, Projection(435.2, 367.4, 252.2, -47.9)));
  ASSERT_THAT(equal.rig.cameras, SizeIs(2));
  EXPECT_TRUE(equal.rectified);
  ExpectSame(SecondInFirst(equal.rig), {Eigen::Matrix3d::Identity(), {47.9 / 435.2, 0, 0}});
  const auto shifted = Read(one + Matrix("P2", 3, Projection(435.2, 361.0, 252.2, -47.9)));
  EXPECT_TRUE(shifted.rectified);
  EXPECT_EQ(shifted.rig.cameras[1].camera.cx, 361.0);
  ExpectSame(SecondInFirst(shifted.rig), {Eigen::Matrix3d::Identity(), {47.9 / 435.2, 0, 0}});
  EXPECT_THAT(ErrorOf(one + Matrix("P2", 3, Projection(435.2, 367.4, 252.2, 0))), HasSubstr("T: missing"));
}

TEST(OpenCv, RawCamerasBesideTheirProjections) {
  const RigidTransform turn1 = Turned(0.003, -0.004, 0.005, {0, 0, 0});
  const Eigen::Matrix3d turn2 = turn1.rotation * LeftFromRight().rotation;
  const Eigen::Vector3d shift = turn2 * RightFromLeft().translation;
  const std::vector<double> p2 = {435, 0,   367, 435 * shift.x() + 367 * shift.z(),
                                  0,   435, 252, 435 * shift.y() + 252 * shift.z(),
                                  0,   0,   1,   shift.z()};
  const std::string rectification = Matrix("R1", 3, ByRows(turn1.rotation)) + Matrix("R2", 3, ByRows(turn2)) +
                                    Matrix("P1", 3, Projection(435, 367, 252, 0)) + Matrix("P2", 3, p2) +
                                    Matrix("Q", 4, std::vector<double>(16, 1.0));
  const std::string stereo = Stereo(kNames, Matrix);
  const auto read = Read(kHeader + stereo + rectification);
  ExpectStereo(read);
  ExpectSame({*read.rig.cameras[0].rectified_from_camera, {0, 0, 0}}, turn1);
  EXPECT_EQ((*read.rig.cameras[1].projection)(0, 3), p2[3]);
  // The poses follow from the rectification alone, too.
  const auto without = Read(kHeader + stereo.substr(0, stereo.find("R:")) + rectification);
  ExpectSame(SecondInFirst(without.rig), LeftFromRight());
  // Millimetres in one of them.
  std::vector<double> longer = p2;
  for (const int i : {3, 7, 11}) longer[i] *= 1000;
  const auto differs = Read(kHeader + stereo + Without(rectification, Matrix("P2", 3, p2), Matrix("P2", 3, longer)));
  EXPECT_THAT(differs.warnings, ElementsAre(HasSubstr("P2: the rectification differs from R and T")));
  ExpectSame(SecondInFirst(differs.rig), LeftFromRight());
}

TEST(OpenCv, FilesOfOneCameraAndTheirPoses) {
  const auto camera = [](const std::vector<double>& k, const std::vector<double>& d) {
    return kHeader + Matrix("camera_matrix", 3, k) + Matrix("distortion_coefficients", 5, d) +
           "avg_reprojection_error: 0.21\n";
  };
  const std::string poses =
      kHeader + Matrix("R", 3, ByRows(RightFromLeft().rotation)) + Matrix("T", 3, Of(RightFromLeft().translation));
  const auto three = ReadTogether({{"b.yml", camera(kK1, kD1)}, {"a.yml", camera(kK2, kD2)}, {"c.yml", poses}});
  ASSERT_TRUE(three.ok()) << three.status();
  ExpectStereo(*three);
  const std::string intrinsics =
      kHeader + Matrix("M1", 3, kK1) + Matrix("D1", 1, kD1) + Matrix("M2", 3, kK2) + Matrix("D2", 1, kD2);
  const auto two = ReadTogether({{"extrinsics.yml", poses}, {"intrinsics.yml", intrinsics}});
  ASSERT_TRUE(two.ok()) << two.status();
  ExpectStereo(*two);
  const auto apart = ReadTogether({{"l.yml", camera(kK1, kD1)}, {"r.yml", camera(kK2, kD2)}});
  EXPECT_THAT(std::string(apart.status().message()), AllOf(HasSubstr("r.yml"), HasSubstr("T: missing")));
  const auto one = Read(camera(kK1, kD1));
  ASSERT_THAT(one.rig.cameras, SizeIs(1));
  EXPECT_FALSE(one.unit_is_unknown);
}

TEST(OpenCv, OtherLenses) {
  const std::string k = Matrix("K", 3, {190.9, 0, 254.9, 0, 190.9, 256.8, 0, 0, 1});
  const std::string d = Matrix("D", 4, {0.0034, 0.0007, -0.002, 0.0002});
  EXPECT_EQ(Read(kHeader + k + d + "fisheye_model: 1\n").rig.cameras[0].camera.model, CameraModel::kKannalaBrandt);
  EXPECT_EQ(Read(kHeader + k + d + "distortion_model: equidistant\n").rig.cameras[0].camera.model,
            CameraModel::kKannalaBrandt);
  const auto unsaid = Read(kHeader + k + d);
  EXPECT_EQ(unsaid.rig.cameras[0].camera.model, CameraModel::kRadialTangential);
  EXPECT_THAT(unsaid.warnings, ElementsAre(HasSubstr("D: 4 coefficients are taken as k1 k2 p1 p2")));
  const auto omni = Read(kHeader + k + d + "xi: 1.25\n").rig.cameras[0].camera;
  EXPECT_EQ(omni.model, CameraModel::kOmni);
  EXPECT_EQ(omni.lens[0], 1.25);
  EXPECT_EQ(omni.lens[3], -0.002);
  const std::vector<double> rational = {0.1, 0.2, 0.001, 0.002, 0.03, 0.4, 0.05, 0.06, 0, 0, 0, 0, 0, 0};
  const auto eight = Read(kHeader + k + Matrix("D", 1, rational)).rig.cameras[0].camera;
  EXPECT_EQ(eight.model, CameraModel::kRational);
  EXPECT_EQ(eight.lens[7], 0.06);
  std::vector<double> prism = {0.1, 0.2, 0.001, 0.002, 0.03, 0.4, 0.05, 0.06, 0.007, 0.0008, -0.009, 0.0001};
  const auto twelve = Read(kHeader + k + Matrix("D", 1, prism)).rig.cameras[0].camera;
  EXPECT_EQ(twelve.model, CameraModel::kThinPrism);
  EXPECT_EQ(twelve.lens[11], 0.0001);
  EXPECT_EQ(twelve.lens[13], 0);
  prism.insert(prism.end(), {0.02, -0.03});
  EXPECT_EQ(Read(kHeader + k + Matrix("D", 1, prism)).rig.cameras[0].camera.lens[13], -0.03);
}

TEST(OpenCv, MatricesOfOtherUse) {
  const std::string other = Matrix("newCameraMatrix_l", 3, {400, 0, 370, 0, 400, 250, 0, 0, 1}) +
                            Matrix("K_undistorted_r", 3, {400, 0, 370, 0, 400, 250, 0, 0, 1}) +
                            Matrix("E", 3, {0, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 0}) +
                            Matrix("F", 3, {0, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 1}) +
                            Matrix("rvecs", 1, {0.1, 0.2, 0.3}) + Matrix("tvecs", 1, {10, 20, 700}) +
                            "square_size: 0.025\nroi1: [ 3, 4, 700, 400 ]\nreprojection_error: 0.3\n";
  ExpectStereo(Read(kHeader + other + Stereo(kNames, Matrix)));
}

TEST(OpenCv, NumbersWithNames) {
  const auto read = Read(R"({"width": 752, "height": 480, "fx": 458.6, "fy": 457.2, "cx": 367.2, "cy": 248.3,
                            "k1": -0.28, "k2": 0.07, "p1": 0.0002, "p2": 0.00002})");
  ASSERT_THAT(read.rig.cameras, SizeIs(1));
  EXPECT_EQ(read.rig.cameras[0].camera.cy, 248.3);
  EXPECT_EQ(read.rig.cameras[0].camera.lens[1], 0.07);
  EXPECT_EQ(read.rig.cameras[0].camera.image, (Shape{752, 480}));
}

TEST(OpenCv, ErrorsNameTheField) {
  const std::string good = kHeader + Stereo(kNames, Matrix);
  EXPECT_THAT(ErrorOf(Without(good, "458.654", "-458.654")), HasSubstr("file: M1: the focal length -458.654"));
  EXPECT_THAT(ErrorOf(Without(good, Matrix("D2", 5, kD2), Matrix("D2", 1, {0.1, 0.2, 0.3}))),
              HasSubstr("file: D2: 3 coefficients"));
  EXPECT_THAT(ErrorOf(Without(good, Matrix("R", 3, ByRows(RightFromLeft().rotation)),
                              Matrix("R", 3, {2, 0, 0, 0, 1, 0, 0, 0, 1}))),
              HasSubstr("file: R: "));
  EXPECT_THAT(ErrorOf(good.substr(0, good.find("T:"))), HasSubstr("file: T: missing"));
  EXPECT_THAT(Read(good + Matrix("K1", 3, kK2)).warnings, ElementsAre(HasSubstr("file: K1: differs from M1")));
  EXPECT_THAT(ErrorOf(kHeader + Matrix("K", 3, {458, 0, 0, 0, 457, 0, 367, 248, 1})), HasSubstr("transposed"));
  EXPECT_THAT(ErrorOf("<?xml version=\"1.0\"?>\n<opencv_storage><images>a.png b.png</images></opencv_storage>"),
              HasSubstr("no calibration that Glint knows"));
}

TEST(OpenCv, ProjectionsAndCamerasByName) {
  calibration::ReadOptions options;
  options.cameras = "P2,P3";
  const std::string text = kHeader + Matrix("P1", 3, Projection(435, 367, 252, 0)) +
                           Matrix("P2", 3, Projection(435, 367, 252, -4.5)) +
                           Matrix("P3", 3, Projection(435, 367, 252, -48));
  const auto read = Read(text, options);
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  EXPECT_EQ(read.rig.cameras[1].name, "P3");
  EXPECT_NEAR(SecondInFirst(read.rig).translation.x(), 43.5 / 435, 1e-12);
  options.cameras = "camera2";
  EXPECT_EQ(Read(kHeader + Stereo(kNames, Matrix), options).rig.cameras.at(0).camera.fx, 457.587);
  options.cameras = "P7";
  EXPECT_THAT(ErrorOf(text, options), HasSubstr("P7"));
}

TEST(OpenCv, WritesWhatItReads) {
  const std::pair<CameraModel, std::vector<double>> lenses[] = {
      {CameraModel::kPinhole, {}},
      {CameraModel::kRadialTangential, {-0.28, 0.07, 0.0002, 0.00002, 0.01}},
      {CameraModel::kRational, {0.1, 0.2, 0.001, 0.002, 0.03, 0.4, 0.05, 0.06}},
      {CameraModel::kThinPrism, {0.1, 0.2, 0.001, 0.002, 0.03, 0.4, 0.05, 0.06, 0.007, 0.0008, -0.009, 0.0001}},
      {CameraModel::kThinPrism, {0.1, 0.2, 0, 0, 0.03, 0.4, 0.05, 0.06, 0, 0, 0, 0, 0.02, -0.03}},
      {CameraModel::kKannalaBrandt, {0.0034, 0.0007, -0.002, 0.0002}},
      {CameraModel::kOmni, {1.25, -0.2, 0.04, 0.001, -0.002}}};
  for (const auto& [model, lens] : lenses) {
    const auto rig = TurnedRig(model, lens);
    const auto files = FormatOf("opencv").write(rig);
    ASSERT_TRUE(files.ok()) << files.status();
    const auto read = Read(files->at(0).text);
    ASSERT_THAT(read.rig.cameras, SizeIs(2));
    for (int eye = 0; eye < 2; ++eye) ExpectSame(read.rig.cameras[eye].camera, rig.rig.cameras[eye].camera);
    ExpectSame(SecondInFirst(read.rig), LeftFromRight());
  }
  EXPECT_THAT(std::string(FormatOf("opencv").write(TurnedRig(CameraModel::kFov, {0.9})).status().message()),
              HasSubstr("no model"));
}

}  // namespace
}  // namespace glint::testing
