// Frames and masks in memory that somebody else writes to while a lane reads them: any keypoints will do, as long as
// they are inside the image, no access is outside the buffers (the address sanitizer says) and every frame ends.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "cpu/pipeline.h"
#include "gtest/gtest.h"
#include "tests/cpu/simd.h"
#include "tests/support/images.h"
#include "tests/support/options.h"
#include "tests/support/random.h"

namespace glint {
namespace {

constexpr Shape kShape = {331, 217};  // wide enough to be read where it is

class SharedImageTest : public testing::SimdTest {};
INSTANTIATE_TEST_SUITE_P(Simd, SharedImageTest, ::testing::ValuesIn(testing::TargetNames()), testing::ParamName);

// Copies parts of one picture after another over a buffer, until destroyed.
class Scribbler {
 public:
  Scribbler(std::vector<uint8_t>* pixels, uint32_t seed)
      : thread_([this, pixels, seed] {
          const Image pictures[] = {testing::Speckle(kShape, seed), testing::Flat(kShape, 90),
                                    testing::Checkerboard(kShape, 5), testing::Texture(kShape, seed)};
          testing::Random random(seed);
          volatile uint8_t* const to = pixels->data();
          while (!stop_) {
            const ImageView from = pictures[random.Uniform(0, 3)].view();
            const int begin = random.Uniform(0, kShape.width * kShape.height - 1);
            const int end = std::min(begin + random.Uniform(1, 5000), kShape.width * kShape.height);
            for (int i = begin; i < end; ++i) to[i] = from.at(i % kShape.width, i / kShape.width);
          }
        }) {}
  ~Scribbler() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_P(SharedImageTest, ChangesWhileItIsRead) {
  const auto pipeline = MakePipeline();
  std::vector<uint8_t> pixels(static_cast<size_t>(kShape.pixels()));
  std::vector<uint8_t> mask_pixels(pixels.size());
  const ImageView image = {pixels.data(), kShape.width, kShape.height, kShape.width};
  const ImageView mask = {mask_pixels.data(), kShape.width, kShape.height, kShape.width};
  const Scribbler scribbler(&pixels, 1);
  const Scribbler mask_scribbler(&mask_pixels, 2);
  testing::Random random(3);
  std::vector<DetectorOptions> detectors;
  for (const std::string& name : PresetNames()) detectors.push_back(PresetOptions(name).value());
  for (int i = 0; i < testing::Repetitions(40); ++i) detectors.push_back(testing::RandomDetector(&random));
  Features features;
  for (const DetectorOptions& options : detectors) {
    for (int frame = 0; frame < 4; ++frame) {
      ASSERT_TRUE(pipeline->Detect(options, image, frame % 2 == 0 ? ImageView{} : mask, &features, nullptr).ok());
      ASSERT_LE(features.count(), static_cast<size_t>(OutputCapacity(options)));
      for (size_t i = 0; i < features.count(); ++i) {
        ASSERT_TRUE(features.x[i] >= 0 && features.y[i] >= 0) << testing::ToString(options);
        ASSERT_TRUE(features.x[i] < kShape.width && features.y[i] < kShape.height) << testing::ToString(options);
      }
    }
  }
}

}  // namespace
}  // namespace glint
