// What tests of the CUDA backend's stages share: the devices they run on, their inputs and comparisons.
#ifndef GLINT_TESTS_CUDA_STAGE_CHECKS_H_
#define GLINT_TESTS_CUDA_STAGE_CHECKS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "features/reference/corner.h"
#include "features/reference/reference.h"
#include "features/types.h"
#include "gtest/gtest.h"
#include "tests/cuda/stage_harness.h"

namespace glint::cuda {

// Skips without a usable GPU and says why.
class StageTest : public ::testing::Test {
 public:
  // All multiprocessors; 8 of them, in a green context where there are any; plans for one, which prefer what large
  // images get.
  static void ForEachDevice(const std::function<void(StageDevice*)>& run);

 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override;

 private:
  static absl::Status* unusable_;
  static std::vector<std::unique_ptr<StageDevice>>* devices_;
};

// Failure messages give both counts and the first that differs.
::testing::AssertionResult SameCorners(std::vector<reference::Corner> expected,
                                       const std::vector<reference::Corner>& found);
// The keypoints and, if `angles`, angles of a level, in order; a truncated result must be the beginning.
::testing::AssertionResult SameKept(const reference::LevelTrace& expected, const StageFrame& frame, int level,
                                    bool angles);
::testing::AssertionResult SameImage(const ImageView& expected, const ImageView& found);

// The reference's stages for one image.
std::vector<reference::LevelTrace> TraceOf(const DetectorOptions& options, const ImageView& image,
                                           const ImageView& mask = {});

// Isolated dots on black, whose FAST scores are the given ones, shuffled; 5 pixels apart, 3 or more from the sides.
// `spacing`: of the dots, 5 or more.
Image Dots(std::vector<uint8_t> scores, uint32_t seed, int spacing = 5);

// 1, 3, 7, 15..17, 31..33 squared and beside long sides, and 631x479.
std::vector<Shape> StageShapes();

}  // namespace glint::cuda

#endif  // GLINT_TESTS_CUDA_STAGE_CHECKS_H_
