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

using ::testing::AllOf;
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

// Towards x the prism's a = p + s2 p^4 grows up to p^3 = -1 / (4 s2); on the other side it never folds.
TEST(Domain, EndsWhereAThinPrismFolds) {
  Camera camera = {CameraModel::kThinPrism, {752, 480}, 450, 450, 376, 240, {0, 0, 0, 0, 0, 0, 0, 0, 0, -0.05}};
  const double p = std::cbrt(5);
  EXPECT_NEAR(WidestAngle(camera, 0), std::atan(p) / kDegree, 1e-6);
  EXPECT_NEAR(WidestAngle(camera, M_PI), 90, 1e-3);
  const double edge = 450 * (p - 0.05 * p * p * p * p);
  Eigen::Vector3d ray;
  EXPECT_TRUE(Unproject(camera, {376 + edge - 1e-3, 240}, &ray));
  EXPECT_LT(ray.x() / ray.z(), p);
  EXPECT_FALSE(Unproject(camera, {376 + edge + 1e-3, 240}, &ray));
  // Behind the fold of a strong prism the polynomial of a usual lens grows again: that is no part of the image.
  Camera strong = EurocLeft();
  strong.model = CameraModel::kThinPrism;
  strong.lens[8] = -1;
  Eigen::Vector2d pixel;
  EXPECT_FALSE(Project(strong, {5, 0, 1}, &pixel));
  EXPECT_FALSE(Unproject(strong, {700, 248}, &ray));
  // A sensor turned by 0.4 about y: rays that are parallel to it never meet it.
  camera.lens = {};
  camera.lens[13] = 0.4;
  EXPECT_NEAR(std::min(WidestAngle(camera, 0), WidestAngle(camera, M_PI)), 90 - 0.4 / kDegree, 1e-6);
}

// No prism and no tilt: the same bits.
TEST(ThinPrism, IsTheRationalLensWithoutItsTerms) {
  Camera rational = {CameraModel::kRational, {752, 480}, 458, 457, 367, 248, {-0.3, 0.1, 2e-4, -1e-4, 0.01, 0.1, 0.02}};
  Camera prism = rational;
  prism.model = CameraModel::kThinPrism;
  std::mt19937 random(3);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int i = 0; i < 2000; ++i) {
    const Eigen::Vector3d point(2 * unit(random), 2 * unit(random), 1 + unit(random));
    Eigen::Vector2d a(7, 7), b(7, 7);
    PixelByPoint a_by_point = PixelByPoint::Zero(), b_by_point = PixelByPoint::Zero();
    ASSERT_EQ(Project(rational, point, &a, &a_by_point), Project(prism, point, &b, &b_by_point));
    EXPECT_EQ(a, b);
    EXPECT_EQ(a_by_point, b_by_point);
    const Eigen::Vector2d pixel(376 + 600 * unit(random), 240 + 600 * unit(random));
    Eigen::Vector3d ray_a(7, 7, 7), ray_b(7, 7, 7);
    ASSERT_EQ(Unproject(rational, pixel, &ray_a), Unproject(prism, pixel, &ray_b));
    EXPECT_EQ(ray_a, ray_b);
  }
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
  EXPECT_THAT(error([](Camera* c) { c->model = CameraModel::kThinPrism, c->lens[9] = 1.5; }),
              HasSubstr("lens.s2: 1.5 is not in -1..1"));
  EXPECT_THAT(error([](Camera* c) { c->model = CameraModel::kThinPrism, c->lens[12] = -0.6; }),
              HasSubstr("lens.tau_x: -0.6 is not in -0.5..0.5"));
}

TEST(ValidateCamera, RefusesLensesThatFoldTheImage) {
  Camera camera = EurocLeft();
  camera.lens = {-2, 0, 0, 0, 0};
  const absl::Status status = ValidateCamera(camera);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("lens.k1: k1=-2 k2=0 p1=0 p2=0 k3=0 fold the image: no ray"));
  camera.model = CameraModel::kThinPrism;
  camera.lens = {};
  camera.lens[8] = -1;  // folds at p = 0.5, which is 104 pixels from the centre
  EXPECT_THAT(std::string(ValidateCamera(camera).message()),
              AllOf(HasSubstr("s1=-1 s2=0"), HasSubstr("fold the image: no ray")));
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

// ---- rotations

TEST(NearestRotation, IsTheRotationOrSaysWhyThereIsNone) {
  const Eigen::Matrix3d turn = Eigen::AngleAxisd(0.3, Eigen::Vector3d(1, 2, 3).normalized()).toRotationMatrix();
  ASSERT_TRUE(NearestRotation(turn).ok());
  EXPECT_LT((*NearestRotation(turn) - turn).norm(), 1e-15);
  Eigen::Matrix3d rough = turn;
  rough(0, 1) += 1e-3;  // of a file with few digits
  const auto near = NearestRotation(rough);
  ASSERT_TRUE(near.ok()) << near.status();
  EXPECT_LT((*near * near->transpose() - Eigen::Matrix3d::Identity()).norm(), 1e-14);
  EXPECT_LT((*near - turn).norm(), 1e-3);
  const auto error = [](const Eigen::Matrix3d& matrix) { return NearestRotation(matrix).status(); };
  EXPECT_EQ(error(1.1 * turn).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(error(1.1 * turn).message()),
              HasSubstr("no rotation: its product with its transpose is off the identity by 0.21, which is more than "
                        "0.01"));
  EXPECT_THAT(std::string(error(std::nan("") * turn).message()), HasSubstr("no rotation"));
  EXPECT_EQ(error(-turn).message(), "a mirror, not a rotation: its determinant is -1");
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

}  // namespace
}  // namespace glint
