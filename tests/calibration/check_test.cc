// What glint::calibration says of calibrations that are right and of those that are wrong in a known way.
#include "calibration/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <random>

namespace glint::calibration {
namespace {

using Eigen::Vector3d;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Severity = Finding::Severity;

// A drone's: two wide lenses, turned by a degree, beside an inertial sensor.
Calibration Drone() {
  Calibration drone;
  drone.format = "kalibr";
  RigCamera left;
  left.name = "cam0";
  left.camera = {CameraModel::kRadialTangential,
                 {752, 480},
                 458.654,
                 457.296,
                 367.215,
                 248.375,
                 {-0.28340811, 0.07395907, 0.00019359, 1.76187114e-05, 0}};
  RigCamera right = left;
  right.name = "cam1";
  right.camera.fx = 457.587, right.camera.fy = 456.134, right.camera.cx = 379.999, right.camera.cy = 255.238;
  right.camera.lens = {-0.28368365, 0.07451284, -0.00010473, -3.55590700e-05, 0};
  right.rig_from_camera.rotation = Eigen::AngleAxisd(0.02, Vector3d(0.3, 1, 0.5).normalized()).toRotationMatrix();
  right.rig_from_camera.translation = {0.11, 0.0004, -0.0008};
  drone.rig.cameras = {left, right};
  return drone;
}

// Turns the rig's frame, as that of an inertial sensor is.
void PutIntoBody(Calibration* calibration) {
  RigidTransform body_from_rig;
  body_from_rig.rotation << 0, -1, 0, 1, 0, 0, 0, 0, 1;
  body_from_rig.translation = {-0.02, -0.06, 0.01};
  for (RigCamera& camera : calibration->rig.cameras) camera.rig_from_camera = body_from_rig * camera.rig_from_camera;
  calibration->rig.imu = RigImu{};
}

MATCHER_P2(Says, severity, text, "") { return arg.severity == severity && ::testing::Value(arg.text, HasSubstr(text)); }
auto Error(const char* text) { return Says(Severity::kError, text); }
auto Warning(const char* text) { return Says(Severity::kWarning, text); }

// What is said of a drone that `spoil` changed.
template <typename Spoil>
std::vector<Finding> Spoilt(const Spoil& spoil, const Shape& image = {}) {
  Calibration drone = Drone();
  spoil(&drone);
  return Check(drone, image);
}
Camera& Left(Calibration* c) { return c->rig.cameras[0].camera; }
RigCamera& Right(Calibration* c) { return c->rig.cameras[1]; }

TEST(Check, RightRigsAreNotAccused) {
  EXPECT_THAT(Check(Drone(), {752, 480}), IsEmpty());
  EXPECT_THAT(Spoilt(PutIntoBody), IsEmpty());
  const Camera cameras[] = {
      {CameraModel::kPinhole, {1226, 370}, 707.0912, 707.0912, 601.8873, 183.1104, {}},   // cut above and below
      {CameraModel::kPinhole, {512, 512}, 61.75, 61.75, 256, 256, {}},                    // a rectified fisheye
      {CameraModel::kPinhole, {2964, 1988}, 3979.911, 3979.911, 1244.772, 1019.507, {}},  // for near things
      {CameraModel::kRadialTangential, {640, 480}, 615, 615, 320, 240, {0.16, -0.49, -0.0007, 0.0006, 0.44}},
      {CameraModel::kRadialTangential, {640, 480}, 535, 539, 320, 247, {0.19, -0.63, 0.012, 0.013, 0.9}},
      {CameraModel::kRational, {1280, 800}, 794, 794, 638, 405, {7.7, -10.1, 0.0008, -0.0003, 2.5, 7.8, -8.9, 1.4}},
      {CameraModel::kKannalaBrandt, {512, 512}, 190.98, 190.97, 254.93, 256.9, {0.0034, 0.00077, -0.0021, 0.0002}},
      {CameraModel::kKannalaBrandt, {848, 800}, 286, 286, 421, 399, {-0.0071, 0.0458, -0.0432, 0.0076}},
      {CameraModel::kDoubleSphere, {512, 512}, 157, 157, 254, 256, {-0.18, 0.59}},
      {CameraModel::kFov, {1280, 1024}, 500, 500, 640, 512, {0.93}}};
  for (const Camera& camera : cameras) {
    const auto findings = Spoilt([&](Calibration* c) { Left(c) = Right(c).camera = camera; });
    EXPECT_THAT(findings, IsEmpty()) << camera.fx << ": " << (findings.empty() ? "" : findings[0].text);
  }
}

TEST(Check, CamerasThatLookApartAreNoPair) {
  const auto apart = [](Calibration* c) {
    Right(c).rig_from_camera.rotation = Eigen::AngleAxisd(1.6, Vector3d::UnitY()).toRotationMatrix();
    Right(c).rig_from_camera.translation = {-3, 0, 1};
  };
  EXPECT_THAT(Spoilt(apart), ElementsAre(Warning("cam0, cam1: look apart by 92 degrees: no stereo pair")));
  // Of three cameras two others may be.
  EXPECT_THAT(Spoilt([&](Calibration* c) {
                apart(c);
                c->rig.cameras.push_back(c->rig.cameras[0]);
              }),
              IsEmpty());
}

TEST(Check, PairsThatCannotBeRectified) {
  // Turned by 40 degrees about the vertical, narrow lenses see nothing in common straight before both.
  EXPECT_THAT(Spoilt([](Calibration* c) {
                for (RigCamera& camera : c->rig.cameras) {
                  camera.camera.model = CameraModel::kPinhole;
                  camera.camera.lens = {};
                  camera.camera.fx = camera.camera.fy = 3000;
                }
                Right(c).rig_from_camera.rotation = Eigen::AngleAxisd(-0.7, Vector3d::UnitY()).toRotationMatrix();
              }),
              ElementsAre(Warning("cam0, cam1: raw images of them cannot be rectified: ")));
}

TEST(Check, BaselinesInOtherUnits) {
  const auto scaled = [](double factor) {
    return Spoilt([&](Calibration* c) { Right(c).rig_from_camera.translation *= factor; });
  };
  EXPECT_THAT(scaled(1000), ElementsAre(Warning("probably millimetres (0.11 m)")));
  EXPECT_THAT(scaled(100), ElementsAre(Warning("probably centimetres (0.11 m)")));
  EXPECT_THAT(scaled(458.654), ElementsAre(Warning("the focal length times the baseline (0.11 m)")));
  EXPECT_THAT(scaled(1 / 458.654), ElementsAre(Warning("the baseline given where the focal length times")));
}

TEST(Check, CamerasInOtherPlaces) {
  const auto at = [](double x, double y, double z) {
    return Spoilt([&](Calibration* c) { Right(c).rig_from_camera.translation = {x, y, z}; });
  };
  EXPECT_THAT(at(-0.11, 0, 0), ElementsAre(Error("cam1 is 0.11 m to the left of cam0: they are exchanged")));
  EXPECT_THAT(at(0, -0.11, 0), ElementsAre(Warning("cam1 is 0.11 m above cam0: not side by side")));
  EXPECT_THAT(at(0, 0, 0.11), ElementsAre(Warning("before or behind cam0")));
  EXPECT_THAT(at(0, 0, 0), ElementsAre(Error("no distance between them")));
  EXPECT_THAT(Spoilt([](Calibration* c) { Right(c) = c->rig.cameras[0]; }), ElementsAre(Error("are identical")));
  EXPECT_THAT(Spoilt([](Calibration* c) {
                PutIntoBody(c);
                for (RigCamera& camera : c->rig.cameras) camera.rig_from_camera = camera.rig_from_camera.Inverse();
              }),
              ElementsAre(Error("probably given the wrong way")));
  EXPECT_THAT(Spoilt([](Calibration* c) {
                Right(c).rig_from_camera.rotation = Eigen::AngleAxisd(M_PI, Vector3d::UnitZ()).toRotationMatrix();
              }),
              ElementsAre(Warning("rolled by 180 degrees")));
}

TEST(Check, NumbersOfAnotherImageSize) {
  EXPECT_THAT(Check(Drone(), {1504, 960}),
              ElementsAre(Error("multiply fx, fy, cx and cy by 2"), Error("multiply fx, fy, cx and cy by 2")));
  EXPECT_THAT(Check(Drone(), {640, 480})[0], Error("calibrate with images of this size"));
  const auto sized = [](const Shape& shape) { return Spoilt([&](Calibration* c) { Left(c).image = shape; }); };
  EXPECT_THAT(sized({1504, 960}), ElementsAre(Warning("images of about 734x497")));
  EXPECT_THAT(sized({376, 240}), ElementsAre(Warning("images of about 734x497")));
  EXPECT_THAT(sized({480, 752}), ElementsAre(Warning("written as height, width")));
  EXPECT_THAT(sized({1504, 480}), ElementsAre(Warning("the size of both images side by side; one has 752x480")));
  EXPECT_THAT(Spoilt([](Calibration* c) { Left(c).cx = 760; }), ElementsAre(Error("lies outside")));
  EXPECT_THAT(Spoilt([](Calibration* c) { Left(c).cx = 90; }), ElementsAre(Warning("far from the middle")));
}

TEST(Check, LensesAndFocalLengthsThatCannotBe) {
  const auto lens = [](double k1, double k2, double p1, double p2, double k3) {
    return Spoilt([&](Calibration* c) { Left(c).lens = {k1, k2, p1, p2, k3}; });
  };
  EXPECT_THAT(lens(-0.28, 9092, 0, 0, 0), ElementsAre(Error("k2 9092 p1 0 p2 0 k3 0 folds the image or bends it")));
  EXPECT_THAT(lens(-1.5, 0, 0, 0, 0), ElementsAre(Error("folds the image")));
  EXPECT_THAT(Spoilt([](Calibration* c) {
                Left(c).model = CameraModel::kThinPrism;
                Left(c).lens[8] = -1;
              }),
              ElementsAre(Error("folds the image")));
  EXPECT_THAT(lens(-0.28, 0.07, 0.05, 0.0002, 0.0004), ElementsAre(Warning("cuVSLAM's order, k1 k2 k3 p1 p2")));
  EXPECT_THAT(lens(-0.28, 0.07, -0.013, 0.0002, 0.00002), ElementsAre(Warning("cuVSLAM's order, k1 k2 k3 p1 p2")));
  EXPECT_THAT(lens(-0.28, 0.07, -0.013, 0.0002, 0), IsEmpty());
  EXPECT_THAT(lens(-0.28, 0.07, -0.013, 0.0002, 0.002), IsEmpty());
  EXPECT_THAT(lens(-0.28, 0.07, 0.2, -0.15, 0), ElementsAre(Error("a fisheye's k3 and k4")));
  EXPECT_THAT(Spoilt([](Calibration* c) {
                c->format = "edex";
                Left(c).lens = {-0.28, 0.07, 0.0002, 0.05, 0.0004};
              }),
              ElementsAre(Warning("OpenCV's order, k1 k2 p1 p2 k3")));
  EXPECT_THAT(Spoilt([](Calibration* c) { Left(c).fy = -457; }), ElementsAre(Error("fy -457 is not above 0")));
  EXPECT_THAT(Spoilt([](Calibration* c) { Left(c).fx = Left(c).fy = 3.04; })[0], Error("Give pixels"));
  EXPECT_THAT(lens(-0.28, 0.07, 0.0002, 0.06, 0), ElementsAre(Warning("tangential terms of real lenses are below")));
  // Ends within the image's width, and beyond three quarters of its height.
  EXPECT_THAT(Spoilt([](Calibration* c) {
                Left(c) = {CameraModel::kRadialTangential, {640, 480}, 243.401, 243.401, 319.5, 239.5};
                Left(c).lens = {-0.252831, 0.0513613, 0, 0, -0.00411826};
              }),
              ElementsAre(Warning("ends 86 % of the way from the centre to an edge of the image")));
  EXPECT_THAT(Spoilt([](Calibration* c) {
                Right(c).camera.model = CameraModel::kPinhole;
                Right(c).camera.lens = {};
              }),
              ElementsAre(Warning("cam0, cam1: the right one has no distortion, and the other has radial-tangential")));
  EXPECT_THAT(Spoilt([](Calibration* c) { Left(c).fy = 900; }), ElementsAre(Warning("differ by over 15 %")));
}

TEST(Check, ProjectionsAndSensorsThatDisagree) {
  const auto projected = [](double right_focal_length, double baseline, double turn) {
    return Spoilt([&](Calibration* c) {
      Right(c).rig_from_camera.rotation.setIdentity();
      Eigen::Matrix<double, 3, 4> p = Eigen::Matrix<double, 3, 4>::Zero();
      p << 435, 0, 367, 0, 0, 435, 252, 0, 0, 0, 1, 0;
      for (RigCamera& camera : c->rig.cameras) {
        camera.projection = p;
        camera.rectified_from_camera = Eigen::AngleAxisd(turn, Vector3d::UnitY()).toRotationMatrix();
      }
      (*Right(c).projection)(0, 0) = right_focal_length;
      (*Right(c).projection)(0, 3) = -435 * baseline;
    });
  };
  EXPECT_THAT(projected(435, 0.11, 0), IsEmpty());
  EXPECT_THAT(projected(440, 0.11, 0), ElementsAre(Error("focal lengths of 435 and 440")));
  EXPECT_THAT(projected(435, 0.00011, 0), ElementsAre(Warning("a baseline of 0.00011, and the poses 0.11 m")));
  EXPECT_THAT(projected(435, 0.11, 0.2), ElementsAre(Error("11.9 degrees from their rows")));
  EXPECT_THAT(Spoilt([](Calibration* c) { c->rig.imu.emplace().rig_from_imu = c->rig.cameras[0].rig_from_camera; }),
              ElementsAre(Warning("imu: has place and axes of cam0")));
  EXPECT_THAT(Spoilt([](Calibration* c) {
                PutIntoBody(c);
                c->rig.imu->rig_from_imu.translation = {20, 30, 10};
                c->rig.imu->imu_time_minus_camera_time = -5.3;
              }),
              ElementsAre(Warning("millimetres or centimetres"), Warning("milliseconds or nanoseconds")));
}

// Matches of random points 1 to 20 m ahead, up to `spread` times that aside, with noise of a quarter pixel and a fifth
// of outliers.
std::vector<MatchedPixels> MatchesOf(const Calibration& truth, double spread = 0.7) {
  std::mt19937 generator(7);
  const auto uniform = [&generator](double low, double high) {
    return low + (high - low) * static_cast<double>(generator() % 100000) / 100000;
  };
  const RigCamera &left = truth.rig.cameras[0], &right = truth.rig.cameras[1];
  std::vector<MatchedPixels> matches;
  while (matches.size() < 300) {
    const double z = uniform(1, 20);
    const Vector3d in_left(z * uniform(-spread, spread), z * uniform(-spread, spread), z);
    MatchedPixels m;
    if (!Project(left.camera, in_left, &m.left) ||
        !Project(right.camera, (right.rig_from_camera.Inverse() * left.rig_from_camera) * in_left, &m.right)) {
      continue;
    }
    m.left += Eigen::Vector2d(uniform(-0.4, 0.4), uniform(-0.4, 0.4));
    if (matches.size() % 5 == 0) m.right = {uniform(0, 752), uniform(0, 480)};
    matches.push_back(m);
  }
  return matches;
}

std::vector<Finding> JudgedBy(const std::vector<MatchedPixels>& matches, const Calibration& calibration) {
  return Judge(ReadByMatches(calibration, matches));
}

TEST(Readings, TheRightOneIsNotAccused) {
  const auto readings = ReadByMatches(Drone(), MatchesOf(Drone()));
  ASSERT_FALSE(readings.empty());
  EXPECT_EQ(readings[0].name, "as it stands");
  EXPECT_LT(readings[0].median_error, 0.3);
  EXPECT_GT(readings[0].in_front, 0.8);
  EXPECT_THAT(Judge(readings), IsEmpty());
}

TEST(Readings, TellWrongOnesApart) {
  const std::vector<MatchedPixels> matches = MatchesOf(Drone());
  Calibration wrong = Drone();
  RigidTransform* pose = &wrong.rig.cameras[1].rig_from_camera;
  *pose = pose->Inverse();
  EXPECT_THAT(JudgedBy(matches, wrong), ElementsAre(Error("the pose of cam1 to cam0 inverted")));

  wrong = Drone();
  std::swap(wrong.rig.cameras[0], wrong.rig.cameras[1]);
  EXPECT_THAT(JudgedBy(matches, wrong), ElementsAre(Error("the cameras exchanged")));

  wrong = Drone();
  PutIntoBody(&wrong);
  EXPECT_THAT(JudgedBy(matches, wrong), IsEmpty());
  for (RigCamera& camera : wrong.rig.cameras) camera.rig_from_camera = camera.rig_from_camera.Inverse();
  EXPECT_THAT(JudgedBy(matches, wrong), ElementsAre(Error("the poses of both cameras inverted")));

  wrong = Drone();
  wrong.rig.cameras[1].rig_from_camera.rotation = Eigen::AngleAxisd(0.2, Vector3d::UnitX()).toRotationMatrix();
  EXPECT_THAT(JudgedBy(matches, wrong), ElementsAre(Warning("no other reading agrees")));
}

TEST(Readings, TellOrdersAndModelsApart) {
  Calibration truth = Drone();
  for (RigCamera& camera : truth.rig.cameras) camera.camera.lens = {-0.28, 0.09, 0.0002, 0.0001, 0.06};
  const std::vector<MatchedPixels> matches = MatchesOf(truth);
  EXPECT_THAT(JudgedBy(matches, truth), IsEmpty());
  Calibration wrong = truth;
  for (RigCamera& camera : wrong.rig.cameras) camera.camera.lens = {-0.28, 0.09, 0.06, 0.0002, 0.0001};
  EXPECT_THAT(JudgedBy(matches, wrong), ElementsAre(Error("cuVSLAM's order, k1 k2 k3 p1 p2")));

  truth = Drone();
  for (RigCamera& camera : truth.rig.cameras) {
    camera.camera.model = CameraModel::kKannalaBrandt;
    camera.camera.fx = camera.camera.fy = 250;
    camera.camera.lens = {-0.02, 0.01, -0.005, 0.001};
  }
  wrong = truth;
  for (RigCamera& camera : wrong.rig.cameras) camera.camera.model = CameraModel::kRadialTangential;
  EXPECT_THAT(JudgedBy(MatchesOf(truth, 2), wrong), ElementsAre(Error("a fisheye's coefficients")));
}

TEST(Readings, TellThatImagesAreRectified) {
  Calibration rectified = Drone();
  for (RigCamera& camera : rectified.rig.cameras) {
    camera.camera = {CameraModel::kPinhole, {752, 480}, 435.2, 435.2, 367.4, 252.2, {}};
    camera.rig_from_camera = {};
  }
  rectified.rig.cameras[1].rig_from_camera.translation = {0.11, 0, 0};
  const std::vector<MatchedPixels> matches = MatchesOf(rectified);
  EXPECT_THAT(JudgedBy(matches, rectified), IsEmpty());
  EXPECT_THAT(JudgedBy(matches, Drone()), ElementsAre(Error("images that are rectified already")));
}

TEST(Readings, NeedMatchesAndTwoCameras) {
  EXPECT_THAT(ReadByMatches(Drone(), std::vector<MatchedPixels>(15)), IsEmpty());
  Calibration one = Drone();
  one.rig.cameras.pop_back();
  EXPECT_THAT(ReadByMatches(one, MatchesOf(Drone())), IsEmpty());
  EXPECT_THAT(Judge({}), IsEmpty());
}

}  // namespace
}  // namespace glint::calibration
