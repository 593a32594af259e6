// Models of cameras: inverses, derivatives, domains, and what is refused.
#include "features/camera/camera.h"

#include <Eigen/Geometry>
#include <cmath>
#include <random>
#include <set>

#include "features/camera/lens_math.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/camera/test_cameras.h"

namespace glint {
namespace {

using ::testing::HasSubstr;

constexpr double kDegree = 0.017453292519943295;

// At `angle` radians from the axis, on the side `around`, `distance` from the camera.
Eigen::Vector3d PointAt(double angle, double around, double distance = 1) {
  return distance *
         Eigen::Vector3d(std::sin(angle) * std::cos(around), std::sin(angle) * std::sin(around), std::cos(angle));
}

class EachCamera : public testing::TestWithParam<TestCamera> {
 protected:
  // Points inside the domain, the axis among them.
  std::vector<Eigen::Vector3d> Points(int count) const {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<Eigen::Vector3d> points = {{0, 0, 2}, {1e-12, 0, 1}, {0, -1e-7, 1}};
    for (int i = 0; i < count; ++i) {
      points.push_back(
          PointAt(GetParam().half_field * kDegree * unit(random), 7 * unit(random), 0.1 + 10 * unit(random)));
    }
    return points;
  }
  const Camera camera_ = GetParam().camera();
};
INSTANTIATE_TEST_SUITE_P(Models, EachCamera, testing::ValuesIn(TestCameras()),
                         [](const auto& test) { return test.param.name; });

TEST_P(EachCamera, IsValid) { EXPECT_TRUE(ValidateCamera(camera_).ok()) << ValidateCamera(camera_); }

TEST_P(EachCamera, UnprojectsWhatItProjects) {
  for (const Eigen::Vector3d& point : Points(2000)) {
    Eigen::Vector2d pixel, again;
    Eigen::Vector3d ray;
    ASSERT_TRUE(Project(camera_, point, &pixel)) << point.transpose();
    ASSERT_TRUE(Unproject(camera_, pixel, &ray)) << point.transpose();
    EXPECT_NEAR(ray.norm(), 1, 1e-15);
    EXPECT_LT((ray - point.normalized()).norm(), 1e-9) << point.transpose();
    ASSERT_TRUE(Project(camera_, ray, &again));
    EXPECT_LT((again - pixel).norm(), 1e-9 * camera_.fx) << point.transpose();
  }
}

// Wherever a ray is found, it leads back; what leads nowhere has none.
TEST_P(EachCamera, ProjectsWhatItUnprojects) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> unit(-1, 2);
  int found = 0;
  for (int i = 0; i < 2000; ++i) {
    const Eigen::Vector2d pixel(752 * unit(random), 480 * unit(random));
    Eigen::Vector2d again;
    Eigen::Vector3d ray(7, 7, 7);
    if (!Unproject(camera_, pixel, &ray)) {
      EXPECT_EQ(ray, Eigen::Vector3d(7, 7, 7));
      continue;
    }
    ++found;
    ASSERT_TRUE(Project(camera_, ray, &again)) << pixel.transpose();
    EXPECT_LT((again - pixel).norm(), 1e-9 * camera_.fx) << pixel.transpose();
  }
  EXPECT_GT(found, 100);
}

TEST_P(EachCamera, HasTheJacobianOfItsDifferences) {
  for (const Eigen::Vector3d& point : Points(200)) {
    PixelByPoint by_point;
    Eigen::Vector2d pixel, before, after;
    ASSERT_TRUE(Project(camera_, point, &pixel, &by_point));
    const double step = 1e-6 * point.norm();
    for (int axis = 0; axis < 3; ++axis) {
      const Eigen::Vector3d shift = step * Eigen::Vector3d::Unit(axis);
      ASSERT_TRUE(Project(camera_, point - shift, &before) && Project(camera_, point + shift, &after));
      EXPECT_LT((by_point.col(axis) - (after - before) / (2 * step)).norm(), 1e-5 * (1 + by_point.norm()))
          << point.transpose() << " by axis " << axis;
    }
  }
}

TEST_P(EachCamera, SeesNothingThatIsNoPoint) {
  const double nan = std::nan("");
  const double inf = HUGE_VAL;
  for (const Eigen::Vector3d& point : std::vector<Eigen::Vector3d>{
           {0, 0, 0}, {0, 0, -1}, {nan, 0, 1}, {0, nan, 1}, {0, 0, nan}, {inf, 0, 1}, {inf, inf, inf}}) {
    Eigen::Vector2d pixel(7, 7);
    EXPECT_FALSE(Project(camera_, point, &pixel)) << point.transpose();
    EXPECT_EQ(pixel, Eigen::Vector2d(7, 7));
  }
  Eigen::Vector3d ray;
  EXPECT_FALSE(Unproject(camera_, {nan, 0}, &ray));
  EXPECT_FALSE(Unproject(camera_, {inf, 0}, &ray));
}

// ---- domains

// Widest angle from the axis, degrees, that `camera` projects, by halving; towards `around`.
double WidestAngle(const Camera& camera, double around) {
  return LastThatHolds(180, [&](double angle) {
    Eigen::Vector2d pixel;
    return Project(camera, PointAt(angle * kDegree, around), &pixel);
  });
}

TEST(Domain, EndsWhereARadialLensFolds) {
  // r (1 + k1 r^2) grows up to r = 1 / sqrt(-3 k1).
  Camera camera = {CameraModel::kRadialTangential, {752, 480}, 450, 450, 376, 240, {-0.3}};
  EXPECT_NEAR(WidestAngle(camera, 1), std::atan(1 / std::sqrt(0.9)) / kDegree, 1e-6);
  // Where the slope is 0 beyond, and positive again behind that: (1 - s)(1 - s / 4) = 1 - 1.25 s + 0.25 s^2.
  camera.lens = {-1.25 / 3, 0.25 / 5};
  EXPECT_NEAR(WidestAngle(camera, 2), 45, 1e-5);
  // No fold: 1 - 0.85 s + 0.37 s^2 has no root.
  EXPECT_NEAR(WidestAngle(EurocLeft(), 3), 90, 1e-3);
  // The denominator's pole, at s = 1 / 0.5, comes after the fold.
  camera.model = CameraModel::kRational;
  camera.lens = {0, 0, 0, 0, 0, -0.5};
  EXPECT_NEAR(WidestAngle(camera, 0), std::atan(std::sqrt(2)) / kDegree, 1e-6);
}

TEST(Domain, HasNoRayBeyondTheFold) {
  const Camera camera = {CameraModel::kRadialTangential, {752, 480}, 450, 450, 376, 240, {-0.3}};
  const double r = 1 / std::sqrt(0.9);
  const double edge = 450 * r * (1 - 0.3 * r * r);
  Eigen::Vector3d ray;
  EXPECT_TRUE(Unproject(camera, {376 + edge - 1e-3, 240}, &ray));
  EXPECT_LT(ray.x() / ray.z(), r);
  EXPECT_FALSE(Unproject(camera, {376 + edge + 1e-3, 240}, &ray));
}

TEST(Domain, OfAFisheye) {
  Camera camera = {CameraModel::kKannalaBrandt, {752, 480}, 150, 150, 376, 240, {}};
  EXPECT_NEAR(WidestAngle(camera, 1), 180, 1e-3);
  camera.lens = {-0.1};  // 1 - 0.3 t^2
  EXPECT_NEAR(WidestAngle(camera, 1), std::sqrt(1 / 0.3) / kDegree, 1e-6);
}

TEST(Domain, OfTheOthers) {
  Camera camera = {CameraModel::kDoubleSphere, {752, 480}, 150, 150, 376, 240, {-0.2, 0.6}};
  const double w1 = 0.4 / 0.6;
  EXPECT_NEAR(-std::cos(WidestAngle(camera, 1) * kDegree), (w1 - 0.2) / std::sqrt(-0.4 * w1 + 0.04 + 1), 1e-9);
  camera.model = CameraModel::kEucm;
  camera.lens = {0.6, 1};
  EXPECT_NEAR(-std::cos(WidestAngle(camera, 1) * kDegree), w1, 1e-9);
  camera.model = CameraModel::kFov;
  camera.lens = {0.9};
  EXPECT_NEAR(WidestAngle(camera, 1), 90, 1e-9);
  camera.model = CameraModel::kOmni;
  camera.lens = {1.6};
  EXPECT_NEAR(-std::cos(WidestAngle(camera, 1) * kDegree), 1 / 1.6, 1e-9);
}

// ---- errors

TEST(ValidateCamera, NamesTheFirstBadField) {
  const auto error = [](auto change) {
    Camera camera = EurocLeft();
    change(&camera);
    return std::string(ValidateCamera(camera).message());
  };
  EXPECT_THAT(error([](Camera* c) { c->image.width = 0; }), HasSubstr("image.width: 0 is not in 1..16384"));
  EXPECT_THAT(error([](Camera* c) { c->image.height = 16385; }), HasSubstr("image.height: 16385"));
  EXPECT_THAT(error([](Camera* c) { c->fx = 7; }), HasSubstr("fx: 7 is not in 75.2..7520"));
  EXPECT_THAT(error([](Camera* c) { c->fy = std::nan(""); }), HasSubstr("fy: nan"));
  EXPECT_THAT(error([](Camera* c) { c->cx = -1; }), HasSubstr("cx: -1 is not in 0..752"));
  EXPECT_THAT(error([](Camera* c) { c->cy = 481; }), HasSubstr("cy: 481 is not in 0..480"));
  EXPECT_THAT(error([](Camera* c) { c->lens[0] = 1e6; }), HasSubstr("lens.k1: 1e+06 is not in -1000..1000"));
  EXPECT_THAT(error([](Camera* c) { c->lens[3] = HUGE_VAL; }), HasSubstr("lens.p2: inf is not in -1..1"));
  EXPECT_THAT(error([](Camera* c) { c->lens[6] = 0.1; }), HasSubstr("lens: coefficient 7 is 0.1"));
}

TEST(ValidateCamera, RefusesLensesThatFoldTheImage) {
  Camera camera = EurocLeft();
  camera.lens = {-2, 0, 0, 0, 0};
  const absl::Status status = ValidateCamera(camera);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("lens.k1: k1=-2 k2=0 p1=0 p2=0 k3=0 fold the image: no ray"));
  camera.model = CameraModel::kKannalaBrandt;
  camera.lens = {-5, 1};
  EXPECT_THAT(std::string(ValidateCamera(camera).message()), HasSubstr("fold the image"));
  camera.model = CameraModel::kRational;
  camera.lens = {-2, 0, 0, 0, 0, 0.1};
  EXPECT_THAT(std::string(ValidateCamera(camera).message()), HasSubstr("fold the image"));
}

TEST(Names, AreThoseOfEachModel) {
  std::set<std::string> names;
  for (int model = 0; model < kCameraModels; ++model) names.emplace(NameOf(static_cast<CameraModel>(model)));
  EXPECT_EQ(names.size(), kCameraModels);
  EXPECT_THAT(LensCoefficientsOf(CameraModel::kRadialTangential), testing::ElementsAre("k1", "k2", "p1", "p2", "k3"));
  EXPECT_THAT(LensCoefficientsOf(CameraModel::kPinhole), testing::IsEmpty());
}

// ---- arithmetic

TEST(PositiveUpTo, FindsTheFirstRoot) {
  // (1 - t)(1 - t / 3)(1 - t / 5), by its expanded coefficients.
  const std::array<double, 4> cubic = {1, -(1 + 1 / 3.0 + 1 / 5.0), 1 / 3.0 + 1 / 5.0 + 1 / 15.0, -1 / 15.0};
  EXPECT_TRUE(PositiveUpTo(cubic, 0.999999));
  EXPECT_FALSE(PositiveUpTo(cubic, 1.000001));
  EXPECT_FALSE(PositiveUpTo(cubic, 4));                     // negative in 1..3 alone; positive at its end
  const std::array<double, 3> near_root = {1.0001, -2, 1};  // (t - 1)^2 + 0.0001
  EXPECT_TRUE(PositiveUpTo(near_root, 5));
  EXPECT_FALSE(PositiveUpTo(std::array<double, 3>{1, -2, 1}, 5));
  EXPECT_FALSE(PositiveUpTo(cubic, std::nan("")));
}

TEST(ArcTangent, IsTheArcTangent) {
  EXPECT_EQ(ArcTangent(0), 0);
  for (double t = 1e-9; t < 1e12; t *= 1.0137) EXPECT_NEAR(ArcTangent(t) / std::atan(t), 1, 5e-16) << t;
  EXPECT_NEAR(ArcTangent(HUGE_VAL), M_PI / 2, 1e-15);
  EXPECT_TRUE(std::isnan(ArcTangent(std::nan(""))));
}

}  // namespace
}  // namespace glint
