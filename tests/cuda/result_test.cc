// Corners as a device writes them, read as features.
#include "cuda/result.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/options.h"
#include "tests/support/random.h"

namespace glint::cuda {
namespace {

using ::glint::testing::OrbOptions;
using ::glint::testing::Random;

constexpr int kLevels = 3;

// A frame of corners with all kinds of keys.
class Result {
 public:
  Result(std::vector<uint32_t> counts, Random* random) {
    frame_.levels = kLevels;
    frame_.result = &header_;
    for (int l = 0; l < kLevels; ++l) {
      header_.kept[l] = counts[l];
      for (uint32_t i = 0; i < counts[l]; ++i) {
        RankedCorner corner{};
        corner.position = PackPosition(l, random->Uniform(0, 0x3fff), random->Uniform(0, 0x3fff));
        const auto measure = static_cast<float>(random->Uniform(-1000, 1000)) / 7;
        uint32_t bits;
        std::memcpy(&bits, &measure, sizeof(bits));
        corner.key = OrderedKey(bits);
        corner.angle = static_cast<float>(random->Uniform(0, 3599)) / 10;
        corners_[l].push_back(corner);
        for (int k = 0; k < kRbriefBytes; ++k) descriptors_[l].push_back(static_cast<uint8_t>(random->Uniform(0, 255)));
      }
      frame_.level[l].scale = 1 + 0.7f * static_cast<float>(l);
      frame_.level[l].result = corners_[l].data();
      frame_.level[l].descriptors = descriptors_[l].data();
    }
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;

  const Frame& frame() const { return frame_; }

  // Everything in `features`, one corner after the other.
  void ExpectEqual(const DetectorOptions& options, bool integer_keys, float response_scale, const Features& features) {
    size_t i = 0;
    for (int l = 0; l < kLevels; ++l) {
      const float scale = frame_.level[l].scale;
      for (size_t k = 0; k < corners_[l].size() && i < features.count(); ++k, ++i) {
        const RankedCorner& corner = corners_[l][k];
        const uint32_t bits = FromOrderedKey(corner.key);
        float response;
        std::memcpy(&response, &bits, sizeof(response));
        response *= response_scale;
        if (integer_keys) response = static_cast<float>(static_cast<int32_t>(corner.key));
        EXPECT_EQ(features.x[i], static_cast<float>(XOf(corner.position)) * scale);
        EXPECT_EQ(features.y[i], static_cast<float>(YOf(corner.position)) * scale);
        EXPECT_EQ(features.response[i], response);
        EXPECT_EQ(features.angle[i], corner.angle);
        EXPECT_EQ(features.size[i], static_cast<float>(options.patch_size) * scale);
        EXPECT_EQ(features.octave[i], l);
        if (features.descriptor_bytes == 0) continue;
        EXPECT_EQ(
            std::memcmp(&features.descriptors[i * kRbriefBytes], &descriptors_[l][k * kRbriefBytes], kRbriefBytes), 0);
      }
    }
    EXPECT_EQ(i, features.count());
  }

 private:
  Frame frame_{};
  ResultHeader header_{};
  std::vector<RankedCorner> corners_[kLevels];
  std::vector<uint8_t> descriptors_[kLevels];
};

TEST(ResultTest, IsReadWhateverWasFilledInBefore) {
  Random random(1);
  const std::vector<std::vector<uint32_t>> frames = {{0, 0, 0},   {1, 0, 2}, {4, 8, 0}, {7, 5, 3},
                                                     {30, 21, 9}, {0, 6, 6}, {6, 6, 0}};
  for (const Descriptor descriptor : {Descriptor::kNone, Descriptor::kRbrief}) {
    DetectorOptions options = OrbOptions();
    options.descriptor = descriptor;
    Features features;
    LevelCounts filled;
    for (int i = 0; i < 200; ++i) {
      Result result(frames[random.Uniform(0, static_cast<int>(frames.size()) - 1)], &random);
      const bool integer_keys = i % 2 == 0;
      const float response_scale = i % 3 == 0 ? 1.0f : 0.25f;
      FillByLevel(result.frame(), options, filled, &features);
      filled = ReadResult(result.frame(), options, integer_keys, response_scale, filled, &features);
      EXPECT_TRUE(filled == CountsOf(result.frame()));
      EXPECT_FALSE(features.truncated);
      result.ExpectEqual(options, integer_keys, response_scale, features);
    }
  }
}

TEST(ResultTest, HoldsNoMoreThanItsCapacity) {
  Random random(2);
  DetectorOptions options = OrbOptions();
  options.max_features = 1;
  const auto capacity = static_cast<uint32_t>(OutputCapacity(options));
  ASSERT_GT(capacity, 3u);
  Features features;
  Result full({capacity - 3, 3, 0}, &random);
  const LevelCounts filled = ReadResult(full.frame(), options, true, 1, {}, &features);
  EXPECT_EQ(features.count(), capacity);
  EXPECT_FALSE(features.truncated);
  Result more({capacity - 3, 3, 1}, &random);
  FillByLevel(more.frame(), options, filled, &features);
  ReadResult(more.frame(), options, true, 1, filled, &features);
  EXPECT_EQ(features.count(), capacity);
  EXPECT_TRUE(features.truncated);
  more.ExpectEqual(options, true, 1, features);
}

}  // namespace
}  // namespace glint::cuda
