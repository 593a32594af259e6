// The CPU pipeline against the reference, byte for byte, at every SIMD target.
#include "cpu/pipeline.h"

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "features/reference/reference.h"
#include "gtest/gtest.h"
#include "tests/cpu/images.h"
#include "tests/cpu/simd.h"

namespace glint {
namespace {

using testing::Content;
using testing::ExactImage;
using testing::kContents;
using testing::MakeImage;

DetectorOptions Preset(const std::string& name) { return *PresetOptions(name); }

// Bytes, not values: a zero of the other sign would differ.
template <typename T>
::testing::AssertionResult SameBytes(const char* what, const std::vector<T>& got, const std::vector<T>& want) {
  if (got.size() != want.size()) {
    return ::testing::AssertionFailure() << what << ": " << got.size() << " elements, not " << want.size();
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::memcmp(&got[i], &want[i], sizeof(T)) != 0) {
      return ::testing::AssertionFailure() << what << "[" << i << "] is " << +got[i] << ", not " << +want[i];
    }
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult Same(const Features& got, const Features& want) {
  if (got.truncated != want.truncated) return ::testing::AssertionFailure() << "truncated: " << got.truncated;
  if (got.descriptor_bytes != want.descriptor_bytes) return ::testing::AssertionFailure() << "descriptor_bytes";
  for (const auto& result :
       {SameBytes("octave", got.octave, want.octave), SameBytes("x", got.x, want.x), SameBytes("y", got.y, want.y),
        SameBytes("response", got.response, want.response), SameBytes("size", got.size, want.size),
        SameBytes("angle", got.angle, want.angle), SameBytes("descriptors", got.descriptors, want.descriptors)}) {
    if (!result) return result;
  }
  return ::testing::AssertionSuccess();
}

class PipelineTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<cpu::Pipeline> Make(int threads = 1) const {
    const testing::ForcedSimd forced(GetParam());
    return std::make_unique<cpu::Pipeline>(threads);
  }
};
INSTANTIATE_TEST_SUITE_P(Simd, PipelineTest, ::testing::ValuesIn(testing::TargetNames()), testing::ParamName);

void ExpectSame(cpu::Pipeline* pipeline, const DetectorOptions& options, const ImageView& image,
                const ImageView& mask = {}) {
  Features got;
  ASSERT_TRUE(pipeline->Detect(options, image, mask, &got, nullptr).ok());
  EXPECT_TRUE(Same(got, reference::Detect(options, image, mask))) << image.width << "x" << image.height;
}

TEST_P(PipelineTest, Presets) {
  const auto pipeline = Make();
  for (const std::string& preset : PresetNames()) {
    for (const Content content : kContents) {
      for (const Shape shape : {Shape{631, 479}, Shape{200, 131}, Shape{1100, 150}}) {
        SCOPED_TRACE(preset + " content " + std::to_string(static_cast<int>(content)));
        ExpectSame(pipeline.get(), Preset(preset), MakeImage(shape, shape.width, content, 1).view());
      }
    }
  }
}

}  // namespace
}  // namespace glint
