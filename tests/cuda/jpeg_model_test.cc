// PlanJpeg and the algorithm of cuda/jpeg, as the model runs it, against libjpeg. GLINT_JPEG_CASES and GLINT_JPEG_SEED
// in the environment: how many random files, and which.
#include "tests/cuda/jpeg_model.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/cuda/jpeg_cases.h"

namespace glint::cuda {
namespace {

constexpr int kEnoughRounds = 1 << 20;

std::vector<uint8_t> Small(JpegCase spec = {}) {
  spec.shape = {37, 21};
  spec.noise = 30;
  return WriteJpeg(spec);
}

// What becomes of a file; a luma that differs, or one that libjpeg refuses, is a failure.
JpegReason Check(decode::Decoder* decoder, const std::vector<uint8_t>& file, const std::string& name) {
  const Expected expected = DecodeByLibjpeg(decoder, file);
  if (!expected.inspected.ok()) return JpegReason::kHeader;
  JpegPlan plan;
  JpegReason reason = PlanJpeg(file.data(), file.size(), kMaxImagePixels, &plan);
  if (reason != JpegReason::kNone) return reason;
  EXPECT_EQ(plan.shape, expected.luma.shape()) << name;
  Image luma;
  reason = DecodeByModel(plan, file.data(), file.size(), kEnoughRounds, &luma);
  if (reason != JpegReason::kNone) return reason;
  EXPECT_TRUE(expected.decoded.ok()) << name << ": " << expected.decoded;
  if (expected.decoded.ok()) {
    EXPECT_EQ(Difference(expected.luma.view(), luma.view()), "") << name;
  }
  return reason;
}

TEST(JpegModel, HasTheLumaOfLibjpeg) {
  std::mt19937 random(static_cast<unsigned>(CountFrom("GLINT_JPEG_SEED", 1)));
  decode::Decoder decoder;
  const int count = CountFrom("GLINT_JPEG_CASES", 400);
  std::map<JpegReason, int> reasons;
  for (int i = 0; i < count; ++i) {
    const JpegCase spec = RandomCase(&random, i % 4 == 0 ? 300 : 64);
    const JpegReason reason = Check(&decoder, WriteJpeg(spec), spec.Name());
    ++reasons[reason];
    // Only coarse steps lead beyond what all decoders agree on; only odd tables have that many long codes.
    if (reason == JpegReason::kRange) {
      EXPECT_LT(spec.quality, 20) << spec.Name();
    } else if (reason == JpegReason::kTables) {
      EXPECT_TRUE(spec.optimised) << spec.Name();
    } else {
      EXPECT_EQ(reason, JpegReason::kNone) << NameOf(reason) << ": " << spec.Name();
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(reasons[JpegReason::kNone], count * 9 / 10);
}

TEST(JpegModel, GivesUpWhatIsDamaged) {
  std::mt19937 random(static_cast<unsigned>(CountFrom("GLINT_JPEG_SEED", 2)));
  decode::Decoder decoder;
  const int count = CountFrom("GLINT_JPEG_CASES", 400);
  std::map<JpegReason, int> reasons;
  for (int i = 0; i < count; ++i) {
    const JpegCase spec = RandomCase(&random, 64);
    std::vector<uint8_t> file = WriteJpeg(spec);
    Damage(&random, &file);
    ++reasons[Check(&decoder, file, spec.Name())];
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(reasons[JpegReason::kScan], count / 4);
  EXPECT_GT(reasons[JpegReason::kNone], 0);  // another coefficient, no more
  for (const auto& [reason, times] : reasons) RecordProperty(NameOf(reason), times);
}

TEST(JpegPlan, LeavesWhatIsNotSequential) {
  JpegPlan plan;
  JpegCase progressive;
  progressive.progressive = true;
  const std::vector<uint8_t> file = Small(progressive);
  EXPECT_EQ(PlanJpeg(file.data(), file.size(), kMaxImagePixels, &plan), JpegReason::kKind);
}

TEST(JpegPlan, LeavesSamplingsOfOtherDecoders) {
  JpegPlan plan;
  JpegCase fine_chroma;
  fine_chroma.columns = 4;
  fine_chroma.rows = 1;
  const std::vector<uint8_t> file = Small(fine_chroma);
  EXPECT_EQ(PlanJpeg(file.data(), file.size(), kMaxImagePixels, &plan), JpegReason::kSampling);
}

TEST(JpegPlan, KeepsTheBoundOfPixels) {
  JpegPlan plan;
  const std::vector<uint8_t> file = Small();
  EXPECT_EQ(PlanJpeg(file.data(), file.size(), 37 * 21, &plan), JpegReason::kNone);
  EXPECT_EQ(PlanJpeg(file.data(), file.size(), 37 * 21 - 1, &plan), JpegReason::kSize);
}

TEST(JpegPlan, ReadsNothingBehindItsFile) {
  JpegCase spec;
  spec.columns = spec.rows = 2;
  const std::vector<uint8_t> file = Small(spec);
  JpegPlan plan;
  ASSERT_EQ(PlanJpeg(file.data(), file.size(), kMaxImagePixels, &plan), JpegReason::kNone);
  for (size_t size = 0; size < plan.scan_begin; ++size) {
    const std::vector<uint8_t> start(file.begin(), file.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_EQ(PlanJpeg(start.data(), size, kMaxImagePixels, &plan), JpegReason::kHeader) << size;
  }
  EXPECT_EQ(PlanJpeg(file.data(), plan.scan_begin, kMaxImagePixels, &plan), JpegReason::kScan);
}

TEST(JpegModel, GivesUpWhenTheBoundIsReached) {
  JpegCase spec;
  spec.shape = {300, 300};
  spec.columns = spec.rows = 2;
  spec.noise = 30;
  const std::vector<uint8_t> file = WriteJpeg(spec);
  JpegPlan plan;
  ASSERT_EQ(PlanJpeg(file.data(), file.size(), kMaxImagePixels, &plan), JpegReason::kNone);
  Image luma;
  EXPECT_EQ(DecodeByModel(plan, file.data(), file.size(), 1, &luma), JpegReason::kSync);
  EXPECT_EQ(DecodeByModel(plan, file.data(), file.size(), kEnoughRounds, &luma), JpegReason::kNone);
}

}  // namespace
}  // namespace glint::cuda
