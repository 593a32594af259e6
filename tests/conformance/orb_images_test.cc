// Photographs and rendered scenes, against cv::ORB.
#include <string>
#include <vector>

#include "features/reference/reference.h"
#include "gtest/gtest.h"
#include "tests/conformance/oracle.h"
#include "tests/scene/scene.h"
#include "tests/support/options.h"

namespace glint::testing {
namespace {

// The defaults, and what mapping systems and benchmarks ask for.
std::vector<DetectorOptions> UsualOptions() {
  std::vector<DetectorOptions> all(4, OrbOptions());
  all[1].max_features = 2000;
  all[1].fast_threshold = 7;
  all[2].max_features = 20000;
  all[2].levels = 12;
  all[2].scale_factor = 1.1f;
  all[2].edge_threshold = 3;
  all[3].max_features = 1000;
  all[3].levels = 4;
  all[3].scale_factor = 2.0f;
  all[3].ranking = Ranking::kScore;
  return all;
}

void ExpectEqual(const DetectorOptions& options, const Image& image, const std::string& name) {
  EXPECT_TRUE(EqualsOrb(options, image, {}, reference::Detect(options, image))) << name << ": " << ToString(options);
}

TEST(OrbImages, Photographs) {
  const std::vector<std::string> paths = TestImages();
  if (paths.empty()) GTEST_SKIP() << "GLINT_TEST_DATA names no folder with images";
  Random random(1);
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const Image image = LoadGray(path);
    ASSERT_GT(image.shape().pixels(), 0);
    ExpectEqual(OrbOptions(), image, path);
    ExpectEqual(UsualOptions()[random.Uniform(1, 3)], image, path);
    for (int i = 1; i < Repetitions(1); ++i) ExpectEqual(RandomOptions(&random, OrbOptions()), image, path);
  }
}

TEST(OrbImages, RenderedScenes) {
  for (const scene::Layout layout : {scene::Layout::kPlane, scene::Layout::kRoom}) {
    for (const scene::Density density : {scene::Density::kDense, scene::Density::kSparse}) {
      scene::SceneOptions scene_options;
      scene_options.layout = layout;
      scene_options.density = density;
      const scene::Scene scene(scene_options);
      for (const int frame : {0, 7}) {
        const Image image = scene.Render(scene.PoseAt(frame));
        for (const DetectorOptions& options : UsualOptions()) ExpectEqual(options, image, "frame");
      }
    }
  }
}

}  // namespace
}  // namespace glint::testing
