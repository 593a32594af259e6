// Depth in the pixels of a camera without its lens: the CPU's bytes are the reference's, and those of scenes whose
// depth is known in both cameras.
#include "features/camera/depth_registration.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cpu/common/stages.h"
#include "cpu/rectify/register_depth.h"
#include "features/reference/register_depth.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/camera/test_cameras.h"
#include "tests/support/depth_cases.h"
#include "tests/support/random.h"

namespace glint {
namespace {

using testing::Depths;
using ::testing::HasSubstr;
using testing::PinholeOf;
using testing::Random;
using testing::RandomDepths;

std::vector<uint16_t> Registered(const Depths& depths, const DepthTable& table) {
  std::vector<uint16_t> registered(static_cast<size_t>(table.shape.pixels()), 7);
  cpu::BestRegisterDepth()(depths.view(), table, registered.data());
  return registered;
}

std::vector<uint16_t> Remapped(const Depths& depths, const RemapTable& table) {
  std::vector<uint16_t> remapped(static_cast<size_t>(table.shape.pixels()), 7);
  cpu::RemapDepth(depths.view(), table, remapped.data());
  return remapped;
}

void ExpectTheReference(const testing::DepthCase& c, const std::vector<uint16_t>& expected) {
  for (const int64_t target : cpu::SimdTargets()) {
    std::vector<uint16_t> registered(expected.size(), 7);
    cpu::RegisterDepthFor(target)(c.depths.view(), c.table, registered.data());
    ASSERT_EQ(registered, expected) << cpu::SimdTargetName(target);
  }
}

TEST(DepthRegistration, IsTheReferenceOnRandomRigs) {
  int64_t seen = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const testing::DepthCase c = testing::RandomRig(seed);
    const std::vector<uint16_t> expected = c.Expected();
    ASSERT_NO_FATAL_FAILURE(ExpectTheReference(c, expected));
    seen += std::count_if(expected.begin(), expected.end(), [](uint16_t d) { return d != 0; });
  }
  EXPECT_GT(seen, 400'000);
}

TEST(DepthRegistration, IsTheReferenceOnWildTables) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const testing::DepthCase c = testing::WildDepths(seed, /*is_number=*/true);
    ASSERT_NO_FATAL_FAILURE(ExpectTheReference(c, c.Expected()));
  }
}

TEST(DepthRegistration, RoundsAsTheReference) {
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    const testing::DepthCase c = testing::DepthsOnBorders(seed);
    ASSERT_NO_FATAL_FAILURE(ExpectTheReference(c, c.Expected()));
  }
}

TEST(DepthRegistration, TheRangeOfSamplesIsOfThoseThatAreMeasured) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const double units[] = {0.001, 1e-6, 0.0002, 1, 1e-3 * random.Uniform(0.1F, 9.0F)};
    DepthSensor sensor = {units[seed % 5], 0, 0};
    const auto limit = [&] {
      return random.OneIn(4) ? 0 : sensor.unit * random.Uniform(0, 70000) + (random.OneIn(2) ? 1e-9 : 0);
    };
    sensor.nearest = limit();
    sensor.farthest = limit();
    const SampleRange range = MeasuredSamples(sensor);
    for (int sample = 0; sample < 65536; ++sample) {
      ASSERT_EQ(sample >= range.least && sample <= range.most, IsMeasured(sensor, static_cast<uint16_t>(sample)))
          << "seed " << seed << ", sample " << sample;
    }
  }
}

TEST(DepthRegistration, EachTableHasAnIdOfItsOwn) {
  const Camera camera = PinholeOf({9, 9}, 8);
  const uint64_t first = MakeDepthTable(camera, {}, camera).id;
  EXPECT_EQ(DepthTable().id, 0u);
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, MakeDepthTable(camera, {}, camera).id);
}

TEST(DepthRegistration, OfTheCamerasOwnPixelsIsTheReferenceToo) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    Camera camera = TestCameras()[seed % TestCameras().size()].camera();
    if (seed % 3 == 0) camera = PinholeOf({random.Uniform(1, 9), random.Uniform(1, 9)}, 8);
    const Camera to = PinholeOf({random.Uniform(1, 300), random.Uniform(1, 200)}, 300);
    const RemapTable table = MakeRemapTable(camera, Eigen::Matrix3d::Identity(), to);
    const Depths depths = RandomDepths(&random, camera.image);
    std::vector<uint16_t> expected;
    reference::RemapDepth(depths.view(), table, &expected);
    ASSERT_EQ(Remapped(depths, table), expected) << "seed " << seed;
  }
}

// ---- scenes

constexpr DepthSensor kSensor = {0.0005, 0.3, 6};
constexpr Shape kImage = {320, 240};

Camera ColourCamera() {
  return {CameraModel::kRadialTangential, kImage, 260, 268, 157.3, 122.8, {-0.21, 0.05, 4e-4, -3e-4, 0}};
}

Camera SensorCamera() {
  return {CameraModel::kRadialTangential, {300, 220}, 245, 241, 152.1, 108.6, {0.08, -0.05, -5e-4, 2e-4, 0}};
}

// The plane normal * point = 1 of the colour camera's coordinates.
struct Plane {
  Eigen::Vector3d normal;

  // How far `ray` goes from `from` to the plane.
  double Along(const Eigen::Vector3d& from, const Eigen::Vector3d& ray) const {
    return (1 - normal.dot(from)) / normal.dot(ray);
  }
};

// A ray of length 1 along the axis.
Eigen::Vector3d RayOf(const Camera& camera, double x, double y) {
  Eigen::Vector3d ray;
  EXPECT_TRUE(Unproject(camera, {x, y}, &ray));
  return ray / ray.z();
}

int SampleOf(double metres) { return static_cast<int>(std::lround(metres / kSensor.unit)); }

// The least and the largest distance of the plane within so many pixels of (x, y), in samples.
std::pair<double, double> DepthsAround(const Plane& plane, const Camera& pinhole, int x, int y, double pixels) {
  std::pair<double, double> range = {1e9, 0};
  for (const double dx : {-pixels, 0.0, pixels}) {
    for (const double dy : {-pixels, 0.0, pixels}) {
      const double z = plane.Along({0, 0, 0}, RayOf(pinhole, x + dx, y + dy)) / kSensor.unit;
      range = {std::min(range.first, z), std::max(range.second, z)};
    }
  }
  return range;
}

class Planes : public ::testing::TestWithParam<Plane> {};
INSTANTIATE_TEST_SUITE_P(Slants, Planes,
                         ::testing::Values(Plane{{0, 0, 0.7}}, Plane{{0.4, 0, 0.6}}, Plane{{-0.2, 0.5, 0.8}},
                                           Plane{{0.1, -0.7, 1.1}}));

// All pixels of what the sensor sees have the plane's depth, and no others have any.
TEST_P(Planes, HaveTheirDepthInThePinholesPixels) {
  const Camera sensor = SensorCamera();
  const RigidTransform camera_from_depth = Turned(0.02, -0.03, 0.05, {0.04, -0.006, 0.011});
  const auto rectified = UndistortRgbd({ColourCamera(), sensor, camera_from_depth, 0.08, {}});
  ASSERT_TRUE(rectified.ok()) << rectified.status();
  const Camera& pinhole = rectified->camera;
  const Depths depths(sensor.image, kSensor, [&](int x, int y) {
    const Eigen::Vector3d ray = RayOf(sensor, x, y);
    return SampleOf(GetParam().Along(camera_from_depth.translation, camera_from_depth.rotation * ray));
  });
  const std::vector<uint16_t> found = Registered(depths, MakeDepthTable(sensor, camera_from_depth, pinhole));
  int inside = 0, outside = 0;
  for (int y = 0; y < kImage.height; ++y) {
    for (int x = 0; x < kImage.width; ++x) {
      const Eigen::Vector3d ray = RayOf(pinhole, x, y);
      const Eigen::Vector3d point = ray * GetParam().Along({0, 0, 0}, ray);
      Eigen::Vector2d at;
      ASSERT_TRUE(Project(sensor, camera_from_depth.Inverse() * point, &at));
      const double beyond = std::max({-at.x(), at.x() - (sensor.image.width - 1), -at.y(),
                                      at.y() - (sensor.image.height - 1)});  // of the outermost centres
      const int depth = found[static_cast<size_t>(y) * kImage.width + static_cast<size_t>(x)];
      if (beyond > 1.5) {
        ++outside;
        ASSERT_EQ(depth, 0) << x << " " << y;
      } else if (beyond < 0.4) {
        ++inside;
        // Half a pixel of the sensor's, which is up to 1.3 of the image's, and the margin.
        const auto [least, most] = DepthsAround(GetParam(), pinhole, x, y, 0.9);
        ASSERT_GE(depth, least - 1) << x << " " << y;
        ASSERT_LE(depth, most + 1) << x << " " << y;
      }
    }
  }
  EXPECT_GT(inside, 50'000);
  EXPECT_GT(outside, 0);
}

TEST_P(Planes, OfTheCamerasOwnPixels) {
  const Camera camera = ColourCamera();
  const auto rectified = UndistortRgbd({camera, {}, {}, 0.08, {}});
  ASSERT_TRUE(rectified.ok()) << rectified.status();
  EXPECT_EQ(rectified->baseline, 0.08);
  EXPECT_EQ(rectified->uncovered, 0);
  EXPECT_EQ(rectified->rectified_from_left, Eigen::Matrix3d::Identity());
  EXPECT_EQ(rectified->rectified_from_right, Eigen::Matrix3d::Identity());
  const Camera& pinhole = rectified->camera;
  EXPECT_EQ(pinhole.fx, pinhole.fy);
  EXPECT_EQ(pinhole.image, camera.image);
  const Depths depths(camera.image, kSensor, [&](int x, int y) {
    return SampleOf(GetParam().Along({0, 0, 0}, RayOf(camera, x, y)));
  });
  const std::vector<uint16_t> found = Remapped(depths, MakeRemapTable(camera, rectified->rectified_from_left, pinhole));
  for (int y = 0; y < kImage.height; ++y) {
    for (int x = 0; x < kImage.width; ++x) {
      const int depth = found[static_cast<size_t>(y) * kImage.width + static_cast<size_t>(x)];
      const auto [least, most] = DepthsAround(GetParam(), pinhole, x, y, 0.7);
      ASSERT_GE(depth, least - 0.5) << x << " " << y;
      ASSERT_LE(depth, most + 0.5) << x << " " << y;
    }
  }
}

// A wall at 2 m, and in front of its left half another at 1 m. The sensor, further left, sees a part of the far wall
// that the camera does not see: it must not shine through.
TEST(DepthRegistration, TheNearerSurfaceCounts) {
  const Camera sensor = SensorCamera();
  const auto rectified = UndistortCamera(ColourCamera(), {});
  ASSERT_TRUE(rectified.ok()) << rectified.status();
  const Camera& pinhole = rectified->camera;
  for (const double side : {0.05, -0.05}) {  // of the sensor
    RigidTransform camera_from_depth;
    camera_from_depth.translation.x() = side;
    int hidden = 0, shadow = 0;
    const Depths depths(sensor.image, kSensor, [&](int x, int y) {
      const Eigen::Vector3d ray = RayOf(sensor, x, y);
      if (side + ray.x() < 0) return SampleOf(1);
      // Whether the near wall is before that point for the camera.
      hidden += (side + 2 * ray.x()) / 2 < 0 ? 1 : 0;
      return SampleOf(2);
    });
    const std::vector<uint16_t> found = Registered(depths, MakeDepthTable(sensor, camera_from_depth, pinhole));
    for (int y = 30; y < 210; ++y) {
      for (int x = 60; x < 260; ++x) {
        const int depth = found[static_cast<size_t>(y) * kImage.width + static_cast<size_t>(x)];
        const double from_edge = x - pinhole.cx;
        if (from_edge < -1.5) {
          ASSERT_EQ(depth, SampleOf(1)) << x << " " << y;
        }
        if (from_edge > 1.5 && depth != SampleOf(2)) {
          ASSERT_EQ(depth, 0) << x << " " << y;  // the sensor sees the near wall there
          ASSERT_LT(from_edge, 0.05 / 2 * pinhole.fx + 2);
          ++shadow;
        }
      }
    }
    EXPECT_EQ(hidden > 500, side > 0) << hidden;
    EXPECT_EQ(shadow > 500, side < 0) << shadow;
  }
}

// What is too near, too far, behind the camera or beyond 16 bits is no depth.
TEST(DepthRegistration, WhatIsOutsideTheLimitsIsUnknown) {
  const Camera camera = PinholeOf({9, 9}, 8);
  RigidTransform camera_from_depth;
  const auto centre = [&](int sample, const DepthSensor& sensor) {
    const Depths depths({9, 9}, sensor, [&](int, int) { return sample; });
    return Registered(depths, MakeDepthTable(camera, camera_from_depth, camera))[40];
  };
  const DepthSensor limits = {0.001, 0.5, 3};
  EXPECT_EQ(centre(499, limits), 0);
  EXPECT_EQ(centre(500, limits), 500);
  EXPECT_EQ(centre(3000, limits), 3000);
  EXPECT_EQ(centre(3001, limits), 0);
  EXPECT_EQ(centre(65535, {}), 65535);
  EXPECT_EQ(centre(500, {0.001, 2, 2.5}), 0);
  EXPECT_EQ(centre(500, {0.001, 600, 0}), 0);  // nothing can be measured
  camera_from_depth.translation.z() = 0.0102;
  EXPECT_EQ(centre(1000, {}), 1010);
  EXPECT_EQ(centre(65525, {}), 65535);
  EXPECT_EQ(centre(65526, {}), 0);
  camera_from_depth.translation.z() = -0.5004;
  EXPECT_EQ(centre(1000, {}), 500);
  EXPECT_EQ(centre(500, {}), 0);
  EXPECT_EQ(centre(501, {}), 0);  // 0.6 mm before the camera: its pixels would be 800 as large
}

TEST(UndistortRgbd, SaysWhatCannotBe) {
  const RgbdCamera good = {ColourCamera(), SensorCamera(), {}, 0.08, {}};
  ASSERT_TRUE(UndistortRgbd(good).ok());
  const auto error = [&](const std::function<void(RgbdCamera*)>& change) {
    RgbdCamera bad = good;
    change(&bad);
    return std::string(UndistortRgbd(bad).status().message());
  };
  EXPECT_EQ(error([](auto* c) { c->baseline = 0; }), "baseline: 0 is not in 0.001..100");
  EXPECT_EQ(error([](auto* c) { c->baseline = std::nan(""); }), "baseline: nan is not in 0.001..100");
  EXPECT_EQ(error([](auto* c) { c->camera.fx = 0; }), "camera.fx: 0 is not in 32..3200");
  EXPECT_EQ(error([](auto* c) { c->depth_camera->fy = 1; }), "depth_camera.fy: 1 is not in 30..3000");
  EXPECT_THAT(error([](auto* c) { c->rectify.max_field = 9; }), HasSubstr("max_field: 9 is not in 10..150"));
  EXPECT_THAT(error([](auto* c) { c->rectify.focal_length = 60; }), HasSubstr("focal_length: 60 leaves "));
  EXPECT_THAT(error([](auto* c) {
                c->depth_camera = PinholeOf({4, 3}, 4);
              }),
              HasSubstr("depth_camera: its pixels are as large as"));
}

}  // namespace
}  // namespace glint
