// Photographs and rendered scenes, against cv::ORB.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/conformance/backends.h"
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

TEST(OrbImages, Photographs) {
  const std::vector<std::string> paths = TestImages();
  if (paths.empty()) GTEST_SKIP() << "GLINT_TEST_DATA names no folder with images";
  Random random(1);
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const Image image = LoadGray(path);
    ASSERT_GT(image.shape().pixels(), 0);
    EXPECT_TRUE(BackendsEqualOrb(OrbOptions(), image));
    EXPECT_TRUE(BackendsEqualOrb(UsualOptions()[random.Uniform(1, 3)], image));
    for (int i = 1; i < Repetitions(1); ++i) EXPECT_TRUE(BackendsEqualOrb(RandomOptions(&random, OrbOptions()), image));
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
        for (const DetectorOptions& options : UsualOptions()) EXPECT_TRUE(BackendsEqualOrb(options, image));
      }
    }
  }
}

}  // namespace
}  // namespace glint::testing
