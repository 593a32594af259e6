// Matching on the GPU, against features/reference/matcher.h entry for entry: through the Matcher, and by launchers with
// every plan, also those that are for other devices. Skips without a usable GPU and says why.
#include <algorithm>
#include <cstring>
#include <iostream>
#include <memory>
#include <vector>

#include "cuda/devices.h"
#include "cuda/match/match_plan.h"
#include "cuda/match/match_stages.h"
#include "cuda/match/matcher.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/owners.h"
#include "features/reference/matcher.h"
#include "gtest/gtest.h"
#include "tests/support/descriptors.h"

namespace glint::cuda {
namespace {

using testing::DescriptorSet;
using testing::Likeness;
using testing::OptionsToTry;
using testing::RandomConditions;
using testing::SameMatches;

constexpr Likeness kLikenesses[] = {Likeness::kRandom, Likeness::kNoisy, Likeness::kFewValues, Likeness::kAllEqual};
constexpr int kOrbBytes = 32;

MatchOptions CrossChecked(int k = 1) {
  MatchOptions options;
  options.k = k;
  options.cross_check = k == 1;
  options.ratio = 1;
  return options;
}

class CudaMatchTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cudaDeviceProp properties{};
    device_ = new absl::Status(CheckDevice(&CudaApi(), 0, &properties));
    compute_major_ = properties.major;
    if (!device_->ok()) std::cout << "GLINT_SKIP_ALL: " << device_->message() << std::endl;
  }
  static void TearDownTestSuite() { delete device_; }
  void SetUp() override {
    if (!device_->ok()) GTEST_SKIP() << device_->message();
  }

  static std::unique_ptr<Matcher> Make(int max_queries, int max_trains, int max_bytes = kOrbBytes, int sm_limit = 0) {
    MatcherOptions options;
    options.max_queries = max_queries;
    options.max_trains = max_trains;
    options.max_descriptor_bytes = max_bytes;
    options.sm_limit = sm_limit;
    auto matcher = Matcher::Create(options);
    EXPECT_TRUE(matcher.ok()) << matcher.status();
    return matcher.ok() ? *std::move(matcher) : nullptr;
  }

  static int compute_major_;

 private:
  static absl::Status* device_;
};
int CudaMatchTest::compute_major_ = 0;
absl::Status* CudaMatchTest::device_ = nullptr;

::testing::AssertionResult Equal(Matcher* matcher, const MatchInput& input, const MatchOptions& options) {
  absl::Status status = ValidateMatchOptions(options);
  if (status.ok()) status = ValidateMatchInput(input, options);
  MatchResult result;
  if (status.ok()) status = matcher->Match(input, options, &result);
  if (!status.ok()) return ::testing::AssertionFailure() << status;
  return SameMatches(reference::Match(input, options), result)
         << "\n"
         << input.query.count << " x " << input.train.count << " of " << input.query.bytes << " bytes, "
         << testing::ToString(options);
}

TEST_F(CudaMatchTest, SetsOfEverySizeAndWidth) {
  const auto matcher = Make(300, 300, 72);
  ASSERT_NE(matcher, nullptr);
  uint32_t seed = 0;
  for (const int bytes : {8, 24, 32, 40, 64, 72}) {
    for (const int queries : {0, 1, 2, 31, 32, 33, 128, 300}) {
      for (const int trains : {0, 1, 2, 31, 32, 33, 65, 299}) {
        const Likeness likeness = kLikenesses[++seed % 4];
        const DescriptorSet query(queries, bytes, likeness, seed), train(trains, bytes, likeness, seed + 1000);
        const RandomConditions conditions(queries, trains, seed);
        for (const MatchOptions& options : OptionsToTry()) {
          const MatchInput input = {query.view(), train.view(), {}, {}};
          const MatchInput limited = {query.view(), train.view(), conditions.all(), conditions.keypoints()};
          const bool needs_angles = options.max_angle_difference < 180 || options.rotation_histogram;
          if (!needs_angles) {
            EXPECT_TRUE(Equal(matcher.get(), input, options));
          }
          EXPECT_TRUE(Equal(matcher.get(), limited, options));
        }
      }
    }
  }
}

TEST_F(CudaMatchTest, LongestDescriptors) {
  const auto matcher = Make(130, 70, kMaxDescriptorBytes);
  ASSERT_NE(matcher, nullptr);
  for (const Likeness likeness : kLikenesses) {
    const DescriptorSet query(130, kMaxDescriptorBytes, likeness, 1), train(70, kMaxDescriptorBytes, likeness, 2);
    for (const MatchOptions& options : {CrossChecked(), CrossChecked(8)}) {
      EXPECT_TRUE(Equal(matcher.get(), {query.view(), train.view(), {}, {}}, options));
    }
  }
}

TEST_F(CudaMatchTest, SetsAroundTilesAndWindows) {
  const auto matcher = Make(1100, 1100);
  ASSERT_NE(matcher, nullptr);
  uint32_t seed = 0;
  for (const int queries : {128, 129, 255, 256, 257, 1000}) {
    for (const int trains : {128, 130, 191, 192, 193, 511, 513, 1000}) {
      const Likeness likeness = kLikenesses[++seed % 4];
      const DescriptorSet query(queries, kOrbBytes, likeness, seed), train(trains, kOrbBytes, likeness, seed + 1000);
      for (const MatchOptions& options : {MatchOptions{}, CrossChecked(), CrossChecked(2)}) {
        EXPECT_TRUE(Equal(matcher.get(), {query.view(), train.view(), {}, {}}, options));
      }
    }
  }
}

// Distances of 0 and of all bits, descriptors without any.
TEST_F(CudaMatchTest, ExtremeDescriptors) {
  const auto matcher = Make(400, 400);
  ASSERT_NE(matcher, nullptr);
  DescriptorSet query(400, kOrbBytes, Likeness::kNoisy, 3), train(400, kOrbBytes, Likeness::kNoisy, 4);
  for (int i = 0; i < 400; i += 3) {
    std::memset(query.row(i), i % 2 == 0 ? 0xff : 0, kOrbBytes);
    std::memset(train.row(399 - i), i % 4 == 0 ? 0xff : 0, kOrbBytes);
  }
  DescriptorSet ones = query, zeros = query;
  for (int i = 0; i < 400; ++i) {
    std::memset(ones.row(i), 0xff, kOrbBytes);
    std::memset(zeros.row(i), 0, kOrbBytes);
  }
  for (const DescriptorView& a : {query.view(), train.view(), ones.view(), zeros.view()}) {
    for (const DescriptorView& b : {query.view(), train.view(), ones.view(), zeros.view()}) {
      for (const MatchOptions& options : {MatchOptions{}, CrossChecked(), CrossChecked(2)}) {
        EXPECT_TRUE(Equal(matcher.get(), {a, b, {}, {}}, options));
      }
    }
  }
}

// What a call leaves behind must not matter to the next, of whatever size and options.
TEST_F(CudaMatchTest, CallsOfEverySizeInTurn) {
  const auto matcher = Make(700, 700);
  ASSERT_NE(matcher, nullptr);
  for (uint32_t round = 0; round < 6; ++round) {
    for (const int queries : {700, 40, 300}) {
      for (const int trains : {30, 700, 200}) {
        const DescriptorSet query(queries, kOrbBytes, Likeness::kNoisy, round);
        const DescriptorSet train(trains, kOrbBytes, Likeness::kNoisy, round + 50);
        const MatchOptions options = round % 3 == 0 ? CrossChecked(2) : CrossChecked();
        EXPECT_TRUE(Equal(matcher.get(), {query.view(), train.view(), {}, {}}, options));
      }
    }
  }
}

TEST_F(CudaMatchTest, OnFewMultiprocessors) {
  MatcherOptions options;
  options.sm_limit = 8;
  auto matcher = Matcher::Create(options);
  if (absl::IsFailedPrecondition(matcher.status())) GTEST_SKIP() << matcher.status();
  ASSERT_TRUE(matcher.ok()) << matcher.status();
  for (const Likeness likeness : kLikenesses) {
    const DescriptorSet query(1500, kOrbBytes, likeness, 5), train(1300, kOrbBytes, likeness, 6);
    EXPECT_TRUE(Equal(matcher->get(), {query.view(), train.view(), {}, {}}, CrossChecked()));
    EXPECT_TRUE(Equal(matcher->get(), {query.view(), train.view(), {}, {}}, CrossChecked(2)));
  }
}

TEST_F(CudaMatchTest, RefusesSetsOverTheMaximum) {
  const auto matcher = Make(10, 20);
  ASSERT_NE(matcher, nullptr);
  const DescriptorSet ten(10, 32, Likeness::kRandom, 1), eleven(11, 32, Likeness::kRandom, 2),
      many(21, 32, Likeness::kRandom, 3), wide(10, 40, Likeness::kRandom, 4);
  MatchResult result;
  EXPECT_EQ(matcher->Match({eleven.view(), ten.view(), {}, {}}, {}, &result).message(),
            "query.count: 11 is not in 0..10");
  EXPECT_EQ(matcher->Match({ten.view(), many.view(), {}, {}}, {}, &result).message(),
            "train.count: 21 is not in 0..20");
  EXPECT_EQ(matcher->Match({wide.view(), wide.view(), {}, {}}, {}, &result).message(),
            "query.bytes: 40 is not in 8..32");
  EXPECT_TRUE(Equal(matcher.get(), {ten.view(), eleven.view(), {}, {}}, CrossChecked()));
}

// ---- every plan, by launchers

// Memory for one call that has no conditions.
class PlannedMatch {
 public:
  explicit PlannedMatch(StreamView stream) : stream_(stream) {}

  absl::StatusOr<MatchResult> Run(const MatchInput& input, const MatchOptions& options, const MatchPlan& plan) {
    MatchParams params{};
    params.queries = input.query.count;
    params.trains = input.train.count;
    params.bytes = input.query.bytes;
    params.options = options;
    params.plan = plan;
    const auto queries = static_cast<size_t>(params.queries);
    const auto trains = static_cast<size_t>(params.trains);
    const auto bytes = static_cast<size_t>(params.bytes);
    const size_t matches = queries * static_cast<size_t>(options.k);
    uint8_t* memory[5] = {};
    const size_t sizes[5] = {queries * bytes, trains * bytes, PartialBytes(params.queries),
                             2 * trains * sizeof(uint32_t), 2 * matches * sizeof(int32_t)};
    for (size_t i = 0; i < 5; ++i) {
      auto made = DeviceBuffer::Create(stream_, sizes[i]);
      GLINT_RETURN_IF_ERROR(made.status());
      buffers_[i] = *std::move(made);
      memory[i] = buffers_[i].data();
    }
    auto state = DeviceBuffer::Create(stream_, sizeof(MatchState));
    GLINT_RETURN_IF_ERROR(state.status());
    GLINT_RETURN_IF_ERROR(ToStatus(CudaApi().MemsetAsync(memory[3], 0xff, sizes[3], stream_.stream), "clearing"));
    params.query = memory[0];
    params.train = memory[1];
    params.partials = reinterpret_cast<uint32_t*>(memory[2]);
    params.best_queries = reinterpret_cast<uint32_t*>(memory[3]);
    params.best_queries_stride = params.trains;
    params.state = reinterpret_cast<MatchState*>(state->data());
    params.index = reinterpret_cast<int32_t*>(memory[4]);
    params.distance = params.index + matches;
    GLINT_RETURN_IF_ERROR(Copy(memory[0], input.query.data, sizes[0], cudaMemcpyHostToDevice));
    GLINT_RETURN_IF_ERROR(Copy(memory[1], input.train.data, sizes[1], cudaMemcpyHostToDevice));
    GLINT_RETURN_IF_ERROR(EnqueueMatch(stream_, params));
    MatchResult result;
    result.Reset(params.queries, options.k);
    GLINT_RETURN_IF_ERROR(Copy(result.index.data(), params.index, sizes[4] / 2, cudaMemcpyDeviceToHost));
    GLINT_RETURN_IF_ERROR(Copy(result.distance.data(), params.distance, sizes[4] / 2, cudaMemcpyDeviceToHost));
    return result;
  }

 private:
  absl::Status Copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    GLINT_RETURN_IF_ERROR(ToStatus(CudaApi().MemcpyAsync(to, from, bytes, kind, stream_.stream), "copying"));
    return ToStatus(CudaApi().StreamSynchronize(stream_.stream), "waiting");
  }

  StreamView stream_;
  DeviceBuffer buffers_[5];
};

TEST_F(CudaMatchTest, EveryPlan) {
  auto stream = Stream::Create(&CudaApi(), 0, 0);
  ASSERT_TRUE(stream.ok()) << stream.status();
  PlannedMatch planned(stream->view());
  for (const int queries : {1, 33, 700}) {
    for (const int trains : {1, 65, 700, 1601}) {
      const Likeness likeness = kLikenesses[(queries + trains) % 4];
      const DescriptorSet query(queries, kOrbBytes, likeness, 7), train(trains, kOrbBytes, likeness, 8);
      const MatchInput input = {query.view(), train.view(), {}, {}};
      for (const MatchOptions& options : {MatchOptions{}, CrossChecked(), CrossChecked(2)}) {
        const MatchResult expected = reference::Match(input, options);
        for (const MatchKernel kernel : {MatchKernel::kTensorCores, MatchKernel::kPopcount}) {
          if (kernel == MatchKernel::kTensorCores && compute_major_ < 8) continue;
          for (const int index_bits : {5, 6}) {
            for (const int columns : {64, 192, 576, 1664}) {
              MatchPlan plan;
              plan.kernel = kernel;
              plan.index_bits = index_bits;
              plan.keep = std::max(options.k, options.ratio > 0 ? 2 : 1);
              plan.columns_per_split = columns;
              plan.splits = (trains + columns - 1) / columns;
              const auto result = planned.Run(input, options, plan);
              ASSERT_TRUE(result.ok()) << result.status();
              EXPECT_TRUE(SameMatches(expected, *result))
                  << queries << " x " << trains << ", kernel " << static_cast<int>(kernel) << ", " << index_bits
                  << " bits, " << columns << " columns, " << testing::ToString(options);
            }
          }
        }
      }
    }
  }
}

// ---- large sets, of which the reference would take hours

uint32_t KeyOf(const DescriptorView& a, int i, const DescriptorView& b, int j) {
  int distance = 0;
  for (int byte = 0; byte < a.bytes; byte += 8) {
    uint64_t x = 0, y = 0;
    std::memcpy(&x, a.row(i) + byte, sizeof(x));
    std::memcpy(&y, b.row(j) + byte, sizeof(y));
    distance += __builtin_popcountll(x ^ y);
  }
  return MatchKey(distance, j);
}

// The best two of `train` for query i.
std::pair<uint32_t, uint32_t> BestTwo(const DescriptorView& query, int i, const DescriptorView& train) {
  uint32_t best = kNoKey, second = kNoKey;
  for (int j = 0; j < train.count; ++j) {
    const uint32_t key = KeyOf(query, i, train, j);
    second = std::min(second, std::max(best, key));
    best = std::min(best, key);
  }
  return {best, second};
}

TEST_F(CudaMatchTest, LargeSets) {
  constexpr int kCount = 65536;
  const auto matcher = Make(kCount, kMaxMatchDescriptors);
  ASSERT_NE(matcher, nullptr);
  for (const Likeness likeness : {Likeness::kRandom, Likeness::kFewValues}) {
    for (const int trains : {kCount, kMaxMatchDescriptors}) {
      const DescriptorSet query(kCount, kOrbBytes, likeness, 9), train(trains, kOrbBytes, likeness, 10);
      MatchResult two, checked;
      MatchOptions options;
      options.k = 2;
      ASSERT_TRUE(matcher->Match({query.view(), train.view(), {}, {}}, options, &two).ok());
      options.k = 1;
      options.cross_check = true;
      ASSERT_TRUE(matcher->Match({query.view(), train.view(), {}, {}}, options, &checked).ok());
      for (int q = 0; q < kCount; q += 331) {
        const auto [best, second] = BestTwo(query.view(), q, train.view());
        const auto at = static_cast<size_t>(q);
        ASSERT_EQ(MatchKey(two.distance[2 * at], two.index[2 * at]), best) << "query " << q;
        ASSERT_EQ(MatchKey(two.distance[2 * at + 1], two.index[2 * at + 1]), second) << "query " << q;
        const bool mutual = IndexIn(BestTwo(train.view(), IndexIn(best), query.view()).first) == q;
        ASSERT_EQ(checked.index[at], mutual ? IndexIn(best) : kNoMatch) << "query " << q;
      }
    }
  }
}

}  // namespace
}  // namespace glint::cuda
