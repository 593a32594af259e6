#include "tests/scene/scene.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spng.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/scene/geometry.h"
#include "tests/scene/write_image.h"

namespace glint::scene {
namespace {

uint64_t Fnv1a(const ImageView& image) {
  uint64_t hash = 14695981039346656037u;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) hash = (hash ^ image.at(x, y)) * 1099511628211u;
  }
  return hash;
}

// Bilinear; p must lie inside the image.
double At(const ImageView& image, Pixel p) {
  const int x = std::min(static_cast<int>(p.x), image.width - 2), y = std::min(static_cast<int>(p.y), image.height - 2);
  const double fx = p.x - x, fy = p.y - y;
  return (1 - fy) * ((1 - fx) * image.at(x, y) + fx * image.at(x + 1, y)) +
         fy * ((1 - fx) * image.at(x, y + 1) + fx * image.at(x + 1, y + 1));
}

bool Inside(const ImageView& image, Pixel p) {
  return p.x >= 0 && p.y >= 0 && p.x <= image.width - 1 && p.y <= image.height - 1;
}

// Absolute differences of grey values, and how many pixels of `from` had a counterpart.
struct Agreement {
  double mean = 0;
  int compared = 0;
};

// `where(x, y)` says where pixel (x, y) of `from` is in `to`, outside of it if nowhere.
template <typename Where>
Agreement Compare(const ImageView& from, const ImageView& to, Where where) {
  Agreement agreement;
  double sum = 0;
  for (int y = 0; y < from.height; ++y) {
    for (int x = 0; x < from.width; ++x) {
      const Pixel p = where(x, y);
      if (!Inside(to, p)) continue;
      sum += std::fabs(At(to, p) - from.at(x, y));
      ++agreement.compared;
    }
  }
  agreement.mean = sum / std::max(agreement.compared, 1);
  return agreement;
}

constexpr Pixel kNowhere = {-1, -1};

TEST(GeometryTest, SineAndCosineAreThoseOfTheLibrary) {
  for (double degrees = -800; degrees <= 800; degrees += 0.37) {
    EXPECT_NEAR(SinDegrees(degrees), std::sin(degrees * M_PI / 180), 1e-13) << degrees;
    EXPECT_NEAR(CosDegrees(degrees), std::cos(degrees * M_PI / 180), 1e-13) << degrees;
  }
}

TEST(GeometryTest, RotationsAreOrthogonal) {
  const Mat3 r = Rotation(20, -35, 100);
  const Mat3 identity = r * Transpose(r);
  for (int i = 0; i < 9; ++i) EXPECT_NEAR(identity.m[i], i % 4 == 0 ? 1 : 0, 1e-14);
  const Vec3 z = Cross(r.column(0), r.column(1));
  EXPECT_NEAR(Dot(z, r.column(2)), 1, 1e-14);
}

TEST(GeometryTest, HomographyIsWhatProjectingThePlanesPointsGives) {
  const Camera camera = {640, 480, 500, 319.5, 239.5};
  const Plane plane = {{0, 0, 1}, 4};
  const Pose a = {Rotation(3, 2, 1), {0.1, 0.2, 0.3}};
  const Pose b = {Rotation(-5, 4, 20), {-0.4, 0.1, 0.9}};
  const Mat3 h = PlaneHomography(camera, plane, a, b);
  for (const Vec3 point : {Vec3{0, 0, 4}, Vec3{1, 0.5, 4}, Vec3{-0.7, 0.9, 4}}) {
    const Pixel expected = camera.Project(b.ToCamera(point));
    const Pixel actual = Apply(h, camera.Project(a.ToCamera(point)));
    EXPECT_NEAR(actual.x, expected.x, 1e-9);
    EXPECT_NEAR(actual.y, expected.y, 1e-9);
  }
}

struct Golden {
  Layout layout;
  Density density;
  Motion motion;
  Shape shape;
  uint64_t grey;
  uint64_t rgb;
};

TEST(SceneTest, FramesAreTheSameBytesOnEveryMachine) {
  const Golden goldens[] = {
      {Layout::kRoom, Density::kDense, Motion::kWalk, {160, 120}, 0xab26c6db8ffb613f, 0x8d5233ab5a664955},
      {Layout::kPlane, Density::kDense, Motion::kRoll, {97, 61}, 0xf61a305c41dcd712, 0x8f27dc1a0da10ee4},
      {Layout::kRoom, Density::kSparse, Motion::kZoom, {128, 96}, 0xd88430591d244f9a, 0xbd6c160ceea4a067},
  };
  for (const Golden& golden : goldens) {
    SceneOptions options;
    options.layout = golden.layout;
    options.density = golden.density;
    options.motion = golden.motion;
    options.shape = golden.shape;
    const Scene scene(options);
    EXPECT_EQ(Fnv1a(scene.Render(scene.PoseAt(7))), golden.grey);
    EXPECT_EQ(Fnv1a(scene.RenderRgb(scene.PoseAt(7))), golden.rgb);
  }
}

TEST(SceneTest, SeedsDiffer) {
  SceneOptions options;
  options.shape = {64, 64};
  const uint64_t one = Fnv1a(Scene(options).Render({}));
  options.seed = 2;
  EXPECT_NE(Fnv1a(Scene(options).Render({})), one);
}

class MotionTest : public testing::TestWithParam<Motion> {};

// Warping one frame by the homography gives the other, up to what interpolating twice costs; standing still does not.
TEST_P(MotionTest, HomographyTakesOneFrameToTheOther) {
  SceneOptions options;
  options.layout = Layout::kPlane;
  options.motion = GetParam();
  options.shape = {320, 240};
  const Scene scene(options);
  for (const int b : {1, 5, 12}) {
    const Image from = scene.Render(scene.PoseAt(2)), to = scene.Render(scene.PoseAt(2 + b));
    const Mat3 h = scene.HomographyBetween(2, 2 + b);
    const Agreement warped = Compare(from, to, [&](int x, int y) {
      return Apply(h, {static_cast<double>(x), static_cast<double>(y)});
    });
    const Agreement unwarped = Compare(from, to, [](int x, int y) {
      return Pixel{static_cast<double>(x), static_cast<double>(y)};
    });
    EXPECT_GT(warped.compared, 320 * 240 / 3) << b;
    EXPECT_LT(warped.mean, 6) << b;
    EXPECT_GT(unwarped.mean, 3 * warped.mean) << b;
  }
}
INSTANTIATE_TEST_SUITE_P(Motions, MotionTest,
                         testing::Values(Motion::kPan, Motion::kRoll, Motion::kZoom, Motion::kWalk));

TEST(SceneTest, StillCameraSeesTheSameTwice) {
  SceneOptions options;
  options.motion = Motion::kStill;
  options.shape = {64, 48};
  const Scene scene(options);
  EXPECT_EQ(Fnv1a(scene.Render(scene.PoseAt(0))), Fnv1a(scene.Render(scene.PoseAt(9))));
}

// A pixel put into the room by its depth, and seen from the other frame, is found there: same depth unless something
// stands before it, same grey.
TEST(SceneTest, DepthAndPosesTieFramesTogether) {
  SceneOptions options;
  options.shape = {320, 240};
  const Scene scene(options);
  const Camera& camera = scene.camera();
  const Pose a = scene.PoseAt(0), b = scene.PoseAt(6);
  const Image from = scene.Render(a), to = scene.Render(b);
  const std::vector<float> depth_a = scene.Depth(a), depth_b = scene.Depth(b);
  int hidden = 0;
  const Agreement agreement = Compare(from, to, [&](int x, int y) {
    const double depth = depth_a[static_cast<size_t>(y * 320 + x)];
    const Vec3 seen = b.ToCamera(a.ToWorld(depth * camera.Ray({static_cast<double>(x), static_cast<double>(y)})));
    if (seen.z <= 0) return kNowhere;
    const Pixel p = camera.Project(seen);
    if (!Inside(to, p)) return kNowhere;
    const double there = depth_b[static_cast<size_t>(std::lround(p.y) * 320 + std::lround(p.x))];
    if (std::fabs(there - seen.z) > 0.05 * seen.z) {
      ++hidden;
      return kNowhere;
    }
    return p;
  });
  EXPECT_GT(agreement.compared, 320 * 240 / 2);
  EXPECT_LT(agreement.mean, 6);
  EXPECT_GT(hidden, 0);
  EXPECT_LT(hidden, agreement.compared / 10);
  EXPECT_GT(*std::max_element(depth_a.begin(), depth_a.end()),
            1.3f * *std::min_element(depth_a.begin(), depth_a.end()));
}

TEST(SceneTest, DisparityTiesTheStereoPairTogether) {
  SceneOptions options;
  options.shape = {320, 240};
  const Scene scene(options);
  const Pose left = scene.PoseAt(3);
  const Image from = scene.Render(left), to = scene.Render(scene.RightOf(left));
  const std::vector<float> disparity = scene.Disparity(left), depth = scene.Depth(left);
  const std::vector<float> depth_right = scene.Depth(scene.RightOf(left));
  const Agreement agreement = Compare(from, to, [&](int x, int y) {
    const size_t i = static_cast<size_t>(y * 320 + x);
    const Pixel p = {x - static_cast<double>(disparity[i]), static_cast<double>(y)};
    if (!Inside(to, p)) return kNowhere;
    const double there = depth_right[static_cast<size_t>(y * 320 + std::lround(p.x))];
    return std::fabs(there - depth[i]) > 0.05 * depth[i] ? kNowhere : p;
  });
  EXPECT_GT(agreement.compared, 320 * 240 * 2 / 3);
  EXPECT_LT(agreement.mean, 6);
  EXPECT_GT(*std::min_element(disparity.begin(), disparity.end()), 4);
}

int StrongEdges(const ImageView& image) {
  int edges = 0;
  for (int y = 1; y < image.height; ++y) {
    for (int x = 1; x < image.width; ++x) {
      edges += std::abs(image.at(x, y) - image.at(x - 1, y)) > 20 && std::abs(image.at(x, y) - image.at(x, y - 1)) > 20;
    }
  }
  return edges;
}

TEST(SceneTest, DenseAndSparseDeserveTheirNames) {
  SceneOptions options;
  const Scene dense(options);
  options.density = Density::kSparse;
  const Scene sparse(options);
  EXPECT_GT(StrongEdges(dense.Render({})), 5000);
  EXPECT_LT(StrongEdges(sparse.Render({})), 1000);
  EXPECT_GT(StrongEdges(sparse.Render({})), 10);
}

std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ToolTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("glint_scene_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  int RunTool(const std::string& arguments) const {
    const char* tool = std::getenv("GLINT_SCENE_TOOL");
    if (tool == nullptr) {
      ADD_FAILURE() << "GLINT_SCENE_TOOL does not say where glint-scene is (ctest sets it)";
      return -1;
    }
    return std::system(
        ("'" + std::string(tool) + "' --out '" + folder_.string() + "' " + arguments + " 2>/dev/null").c_str());
  }

  std::filesystem::path folder_;
};

TEST_F(ToolTest, WritesFramesAndTruth) {
  ASSERT_EQ(RunTool("--frames 2 --width 64 --height 48 --stereo --truth"), 0);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
    if (entry.is_regular_file()) files.push_back(std::filesystem::relative(entry.path(), folder_).string());
  }
  EXPECT_THAT(files,
              testing::UnorderedElementsAre("000000.png", "000001.png", "right/000000.png", "right/000001.png",
                                            "truth/truth.json", "truth/depth_000000.pfm", "truth/depth_000001.pfm",
                                            "truth/disparity_000000.pfm", "truth/disparity_000001.pfm"));
  EXPECT_EQ(Contents(folder_ / "truth/depth_000000.pfm").size(), std::string("Pf\n64 48\n-1.0\n").size() + 4 * 64 * 48);
}

TEST_F(ToolTest, PngHoldsTheRenderedPixels) {
  ASSERT_EQ(RunTool("--frames 1 --width 64 --height 48 --color"), 0);
  const std::string png = Contents(folder_ / "000000.png");
  spng_ctx* context = spng_ctx_new(0);
  ASSERT_EQ(spng_set_png_buffer(context, png.data(), png.size()), 0);
  std::vector<uint8_t> pixels(64 * 48 * 3);
  ASSERT_EQ(spng_decode_image(context, pixels.data(), pixels.size(), SPNG_FMT_RGB8, 0), 0);
  spng_ctx_free(context);
  SceneOptions options;
  options.shape = {64, 48};
  const Scene scene(options);
  const ImageView decoded = {pixels.data(), 3 * 64, 48, 3 * 64};
  EXPECT_EQ(Fnv1a(decoded), Fnv1a(scene.RenderRgb(scene.PoseAt(0))));
}

TEST_F(ToolTest, PgmHoldsTheRenderedPixels) {
  ASSERT_EQ(RunTool("--frames 1 --width 64 --height 48 --format pnm"), 0);
  const std::string pgm = Contents(folder_ / "000000.pgm");
  const std::string head = "P5\n64 48\n255\n";
  ASSERT_EQ(pgm.substr(0, head.size()), head);
  ASSERT_EQ(pgm.size(), head.size() + 64 * 48);
  SceneOptions options;
  options.shape = {64, 48};
  const Scene scene(options);
  const ImageView written = {reinterpret_cast<const uint8_t*>(pgm.data()) + head.size(), 64, 48, 64};
  EXPECT_EQ(Fnv1a(written), Fnv1a(scene.Render(scene.PoseAt(0))));
}

TEST_F(ToolTest, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(RunTool("--layout cave"), 0);
  EXPECT_NE(RunTool("--width 8"), 0);
  EXPECT_NE(RunTool("--frames 0"), 0);
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

}  // namespace
}  // namespace glint::scene
