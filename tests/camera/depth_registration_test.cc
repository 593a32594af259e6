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
#include "tests/support/random.h"

namespace glint {
namespace {

using ::testing::HasSubstr;
using testing::Random;

// An image of depths whose rows lie apart, at an odd address.
struct Depths {
  Depths(Shape image, const DepthSensor& sensor, const std::function<int(int, int)>& sample)
      : shape(image),
        of(sensor),
        stride(2 * image.width + 3),
        bytes(static_cast<size_t>(stride) * static_cast<size_t>(image.height) + 1, 0xff) {
    for (int y = 0; y < shape.height; ++y) {
      for (int x = 0; x < shape.width; ++x) {
        const int value = sample(x, y);
        uint8_t* const at = bytes.data() + 1 + static_cast<ptrdiff_t>(y) * stride + 2 * static_cast<ptrdiff_t>(x);
        at[0] = static_cast<uint8_t>(value & 255);
        at[1] = static_cast<uint8_t>(value >> 8);
      }
    }
  }
  DepthView view() const { return {bytes.data() + 1, shape.width, shape.height, stride, of}; }

  Shape shape;
  DepthSensor of;
  ptrdiff_t stride;
  std::vector<uint8_t> bytes;
};

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

Camera PinholeOf(Shape image, double focal_length) {
  return {CameraModel::kPinhole,    image, focal_length, focal_length, (image.width - 1) / 2.0,
          (image.height - 1) / 2.0, {}};
}

// Samples that change all the time, smooth ones, and some beyond the limits.
Depths RandomDepths(Random* random, Shape shape) {
  DepthSensor sensor;
  sensor.unit = random->Uniform(0, 3) == 0 ? 1.0 : 0.001;
  if (random->Uniform(0, 1) == 1) sensor.nearest = 500 * sensor.unit;
  if (random->Uniform(0, 1) == 1) sensor.farthest = 3000 * sensor.unit;
  const int noise = random->Uniform(0, 2) == 0 ? 65535 : random->Uniform(0, 50);
  return Depths(shape, sensor, [&](int x, int y) {
    if (random->Uniform(0, 20) == 0) return 0;
    return std::min(65535, (noise == 65535 ? 0 : 1000 + 3 * x + y) + random->Uniform(0, noise));
  });
}

TEST(DepthRegistration, IsTheReferenceOnRandomRigs) {
  const auto& cameras = TestCameras();
  int64_t seen = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const int most = seed % 20 == 0 ? 640 : seed % 2 == 0 ? 9 : 90;
    Camera depth_camera = cameras[seed % cameras.size()].camera();
    const double scale = random.Uniform(1, most) / 752.0;
    depth_camera.image = {std::max(1, static_cast<int>(752 * scale)), std::max(1, static_cast<int>(480 * scale))};
    for (double* const value : {&depth_camera.fx, &depth_camera.fy, &depth_camera.cx, &depth_camera.cy}) {
      *value *= scale;
    }
    const Shape image = {random.Uniform(1, most), random.Uniform(1, std::min(480, most))};
    const auto some = [&](double limit) { return limit * random.Uniform(-100, 100) / 100.0; };
    const double turn = seed % 3 == 0 ? 3 : 0.1, metres = seed % 5 == 0 ? 3 : 0.05;
    const RigidTransform transform =
        Turned(some(turn), some(turn), some(turn), {some(metres), some(metres), some(metres)});
    const DepthTable table = MakeDepthTable(depth_camera, transform, PinholeOf(image, image.width * 0.8));
    const Depths depths = RandomDepths(&random, depth_camera.image);
    std::vector<uint16_t> expected;
    reference::RegisterDepth(depths.view(), table, &expected);
    for (const int64_t target : cpu::SimdTargets()) {
      std::vector<uint16_t> registered(expected.size(), 7);
      cpu::RegisterDepthFor(target)(depths.view(), table, registered.data());
      ASSERT_EQ(registered, expected) << "seed " << seed << ", " << cpu::SimdTargetName(target);
    }
    seen += std::count_if(expected.begin(), expected.end(), [](uint16_t d) { return d != 0; });
  }
  EXPECT_GT(seen, 400'000);
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
