// The host side of the CUDA backend over a runtime that can be told to fail.
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cuda/benchmark/plan_report.h"
#include "cuda/pipeline.h"
#include "cuda/pipeline_factory.h"
#include "cuda/runtime/expected_wait.h"
#include "decode/jpeg_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cuda/fake_api.h"
#include "tests/support/images.h"
#include "tests/support/options.h"

namespace glint::cuda {
namespace {

using ::glint::testing::OrbOptions;

// What one client sees, from the first call to the end of a frame. The first error, if any.
absl::Status OneFrame(FakeApi* api, std::unique_ptr<Pipeline>* pipeline, const PipelineOptions& options, bool masked,
                      const char* preset = "orb", Shape shape = {100, 80}) {
  if (*pipeline == nullptr) {
    auto created = PipelineFactory::Create(options, api);
    if (!created.ok()) return created.status();
    *pipeline = *std::move(created);
  }
  const Image image = testing::Flat(shape, 1);
  const Image mask = testing::Flat(shape, 255);
  Features features;
  features.Resize(3, 0);
  StageTimes times;
  const absl::Status status =
      (*pipeline)->Detect(PresetOptions(preset).value(), image, masked ? mask.view() : ImageView{}, &features, &times);
  EXPECT_TRUE(status.ok() || features.count() == 0);
  return status;
}

struct Setting {
  Wait wait;
  bool integrated, pinned, masked;
  int sm_limit;
  const char* preset;
  Shape shape = {100, 80};
  int spinning = 0;
};
const Setting kSettings[] = {{Wait::kBlock, false, false, false, 0, "orb"},
                             {Wait::kSpin, false, true, true, 0, "oriented_fast"},
                             {Wait::kYield, true, false, true, 2, "orb"},
                             {Wait::kBlock, false, false, true, 0, "fast_grid"},
                             {Wait::kBlock, false, false, false, 0, "pyca"},
                             {Wait::kSpin, false, true, false, 0, "bfrost"},
                             {Wait::kBlock, true, false, true, 0, "harris"},
                             {Wait::kBlock, false, false, true, 0, "orbslam"},
                             {Wait::kAdaptive, false, false, false, 0, "orb", {100, 80}, 1},
                             // Copied by the graph, but for frames that are timed.
                             {Wait::kSpin, false, true, false, 0, "orb"},
                             // Large enough to come in parts.
                             {Wait::kBlock, false, false, false, 0, "orb", {1920, 1080}}};

// Every call up to the end of a third frame, the first without times by events, fails once. The error is clean, nothing
// leaks, and the next frame works.
TEST(CudaFaults, EveryCallFailsOnce) {
  for (const Setting& setting : kSettings) {
    PipelineOptions options;
    options.wait = setting.wait;
    options.spinning = setting.spinning;
    options.sm_limit = setting.sm_limit;
    int failures = 0;
    for (int n = 0;; ++n) {
      SCOPED_TRACE(n);
      FakeApi api;
      api.integrated = setting.integrated;
      api.pinned = setting.pinned;
      api.fail_at = n;
      api.error = cudaErrorMemoryAllocation;
      std::unique_ptr<Pipeline> pipeline;
      absl::Status status = OneFrame(&api, &pipeline, options, setting.masked, setting.preset, setting.shape);
      for (int frame = 1; frame < 3 && status.ok(); ++frame) {
        status = OneFrame(&api, &pipeline, options, setting.masked, setting.preset, setting.shape);
      }
      const bool reached = api.calls > n;
      if (!status.ok()) {
        ++failures;
        EXPECT_TRUE(status.code() == absl::StatusCode::kResourceExhausted ||
                    status.code() == absl::StatusCode::kFailedPrecondition)
            << status;
        EXPECT_THAT(status.message(), ::testing::HasSubstr("cudaErrorMemoryAllocation"));
        EXPECT_TRUE(pipeline == nullptr || pipeline->fatal().ok());
        EXPECT_TRUE(OneFrame(&api, &pipeline, options, setting.masked, setting.preset, setting.shape).ok());
      }
      pipeline.reset();
      EXPECT_EQ(api.live, 0);
      if (!reached) break;
    }
    // All but the question whether memory is pinned, whose failure means that it is not.
    EXPECT_GT(failures, 30);
  }
}

// A JPEG frame; the fake runtime decodes nothing, which the decoder sees.
absl::Status OneJpeg(Pipeline* pipeline, const std::string& file, bool masked) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(file.data());
  JpegPlan plan;
  EXPECT_EQ(PlanJpeg(bytes, file.size(), kMaxImagePixels, &plan), JpegReason::kNone);
  const Image mask = testing::Flat(plan.shape, 255);
  Features features;
  features.Resize(3, 0);
  StageTimes times;
  const auto reason = pipeline->DetectJpeg(OrbOptions(), plan, bytes, file.size(), masked ? mask.view() : ImageView{},
                                           &features, &times);
  EXPECT_EQ(features.count(), 0u);
  EXPECT_TRUE(!reason.ok() || *reason == JpegReason::kScan);
  return reason.status();
}

std::string JpegOf(Shape shape, int quality) { return *decode::WriteJpeg(testing::Texture(shape, 1), quality); }

// As EveryCallFailsOnce, of JPEG frames whose files and pictures grow.
TEST(CudaFaults, EveryCallOfAJpegFailsOnce) {
  const std::string files[] = {JpegOf({100, 80}, 50), JpegOf({100, 80}, 99), JpegOf({200, 160}, 50)};
  int failures = 0;
  for (int n = 0;; ++n) {
    SCOPED_TRACE(n);
    FakeApi api;
    auto pipeline = PipelineFactory::Create({}, &api);
    ASSERT_TRUE(pipeline.ok()) << pipeline.status();
    api.fail_at = api.calls + n;
    api.error = cudaErrorMemoryAllocation;
    absl::Status status;
    for (size_t i = 0; i < 3 && status.ok(); ++i) status = OneJpeg(pipeline->get(), files[i], i == 1);
    const bool reached = api.calls > api.fail_at;
    if (!status.ok()) {
      ++failures;
      EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
      EXPECT_TRUE((*pipeline)->fatal().ok());
      for (const std::string& file : files) EXPECT_TRUE(OneJpeg(pipeline->get(), file, true).ok());
    }
    pipeline->reset();
    EXPECT_EQ(api.live, 0);
    if (!reached) break;
  }
  EXPECT_GT(failures, 30);
}

TEST(CudaFaults, AJpegOfAKnownShapeAllocatesNothing) {
  FakeApi api;
  auto pipeline = PipelineFactory::Create({}, &api);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  const std::string large = JpegOf({100, 80}, 95), small = JpegOf({100, 80}, 30);
  ASSERT_TRUE(OneJpeg(pipeline->get(), large, false).ok());
  const int live = api.live;
  for (const std::string& file : {small, large, small}) ASSERT_TRUE(OneJpeg(pipeline->get(), file, false).ok());
  EXPECT_EQ(api.live, live);
}

// A sticky error in the middle of a frame is reported as lost, once and for all.
TEST(CudaFaults, StickyErrorsAreFatal) {
  FakeApi api;
  std::unique_ptr<Pipeline> pipeline;
  ASSERT_TRUE(OneFrame(&api, &pipeline, {}, false).ok());
  const int before = api.calls;
  ASSERT_TRUE(OneFrame(&api, &pipeline, {}, false).ok());
  const int frame = api.calls - before;
  for (int n = 0; n < frame; ++n) {
    SCOPED_TRACE(n);
    FakeApi lost;
    std::unique_ptr<Pipeline> victim;
    ASSERT_TRUE(OneFrame(&lost, &victim, {}, false).ok());
    lost.fail_at = lost.calls + n;
    lost.sticky = true;
    lost.error = cudaErrorIllegalAddress;
    EXPECT_FALSE(OneFrame(&lost, &victim, {}, false).ok());
    EXPECT_EQ(victim->fatal().code(), absl::StatusCode::kInternal);
    EXPECT_EQ(OneFrame(&lost, &victim, {}, false), victim->fatal());
  }
}

TEST(CudaFaults, AFrameOfAKnownShapeAllocatesNothing) {
  FakeApi api;
  std::unique_ptr<Pipeline> pipeline;
  ASSERT_TRUE(OneFrame(&api, &pipeline, {}, true).ok());
  const int live = api.live;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(OneFrame(&api, &pipeline, {}, true).ok());
  EXPECT_EQ(api.live, live);
}

// The corner stage's kernels, whose launches differ by the score and by how many tiles there are: the fake runtime
// expects that no launch shares more memory than its kernel was given.
TEST(CudaFaults, LaunchesShareWhatIsReserved) {
  FakeApi api;
  auto pipeline = PipelineFactory::Create({}, &api);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  Features features;
  for (DetectorOptions options : {PresetOptions("fast_grid").value(), PresetOptions("bfrost").value()}) {
    options.levels = 2;
    for (Score score : {Score::kMaxThreshold, Score::kHarris, Score::kSadCircle, Score::kSadArc}) {
      options.score = score;
      for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
        options.arc_length = arc;
        for (const Shape& shape : {Shape{100, 80}, Shape{300, 200}, Shape{500, 200}, Shape{1000, 701}}) {
          const absl::Status status = (*pipeline)->Detect(options, testing::Flat(shape, 1), {}, &features, nullptr);
          EXPECT_TRUE(status.ok()) << status;
        }
      }
    }
  }
}

// What a benchmark calls the launches of a frame is what the graph has, and that is what the plan lists.
TEST(CudaFaults, LaunchesAreThoseOfThePlan) {
  const Shape shape = {320, 240};
  const Image image = testing::Flat(shape, 1);
  std::vector<DetectorOptions> all;
  for (const char* preset : {"orb", "oriented_fast", "fast_grid", "pyca", "bfrost", "harris", "orbslam"}) {
    all.push_back(PresetOptions(preset).value());
  }
  // The best of each level, of another detector: from buckets and by a shortlist.
  for (Ranking ranking : {Ranking::kScore, Ranking::kHarris}) {
    all.push_back(PresetOptions("pyca").value());
    all.back().selection = Selection::kTopN;
    all.back().ranking = ranking;
  }
  for (const DetectorOptions& options : all) {
    SCOPED_TRACE(testing::ToString(options));
    FakeApi api;
    auto pipeline = PipelineFactory::Create({}, &api);
    ASSERT_TRUE(pipeline.ok()) << pipeline.status();
    const auto timing = (*pipeline)->TimeOnDevice(options, image, {}, 1);
    ASSERT_TRUE(timing.ok()) << timing.status();
    const auto plan = ReportPlan(options, shape, FakeApi::kMultiprocessors);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_GT(timing->launches, 0);
    EXPECT_EQ(timing->launches, static_cast<int>(plan->launches.size()));
  }
}

// Clients that change shapes cannot make a pipeline grow without bound.
TEST(CudaFaults, GraphsAreBounded) {
  FakeApi api;
  auto pipeline = PipelineFactory::Create({}, &api);
  ASSERT_TRUE(pipeline.ok());
  Features features;
  const auto detect = [&](int width) {
    return (*pipeline)->Detect(OrbOptions(), testing::Flat({width, 300}, 1), {}, &features, nullptr);
  };
  ASSERT_TRUE(detect(400).ok());
  int live = 0;
  for (int width = 399; width > 250; --width) {
    ASSERT_TRUE(detect(width).ok());
    if (width == 300) live = api.live;
  }
  EXPECT_EQ(api.live, live);
}

TEST(CudaFaults, NoDriverIsNamed) {
  FakeApi api;
  api.fail_at = 0;
  api.error = cudaErrorInsufficientDriver;
  const auto pipeline = PipelineFactory::Create({}, &api);
  EXPECT_EQ(pipeline.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(pipeline.status().message(), ::testing::HasSubstr("no usable CUDA device"));
  EXPECT_THAT(pipeline.status().message(), ::testing::HasSubstr("13.0"));
}

// Of the frames whose times are wanted, the first two and one in 64 are measured by events; the others make fewer
// calls.
TEST(CudaFaults, FewFramesAreTimedByEvents) {
  FakeApi api;
  std::unique_ptr<Pipeline> pipeline;
  std::vector<int> calls;
  for (int i = 0; i < 140; ++i) {
    const int before = api.calls;
    ASSERT_TRUE(OneFrame(&api, &pipeline, {}, false).ok());
    calls.push_back(api.calls - before);
  }
  for (int i = 2; i < 140; ++i) {
    SCOPED_TRACE(i);
    if (i % 64 == 0) {
      EXPECT_EQ(calls[i], calls[1]);
    } else {
      EXPECT_EQ(calls[i], calls[2]);
    }
  }
  EXPECT_LT(calls[2], calls[1]);
}

// An image that comes in parts comes whole while another pipeline has a frame on the device, which takes fewer copies.
// Neither is prepared anew when it is its turn.
TEST(CudaFaults, LargeImagesComeInPartsToAnIdleDevice) {
  constexpr Shape kLarge{1920, 1080};
  FakeApi api, other_api;
  api.pinned = other_api.pinned = true;
  std::unique_ptr<Pipeline> pipeline, other;
  const auto copies_of_a_frame = [&] {
    const int before = api.copies_to_device;
    EXPECT_TRUE(OneFrame(&api, &pipeline, {}, false, "orb", kLarge).ok());
    return api.copies_to_device - before;
  };
  copies_of_a_frame();
  const int live = api.live;
  EXPECT_EQ(copies_of_a_frame(), 2);
  bool launched = false;
  other_api.launched = [&] {
    launched = true;
    EXPECT_EQ(copies_of_a_frame(), 1);
  };
  ASSERT_TRUE(OneFrame(&other_api, &other, {}, false).ok());
  EXPECT_TRUE(launched);
  EXPECT_EQ(copies_of_a_frame(), 2);
  EXPECT_EQ(api.live, live);
}

// An upload that took long, as another process had the device meanwhile, leaves something of a short frame to
// detection.
TEST(CudaFaults, TimesTakenOverLeaveRoomForDetection) {
  FakeApi api;  // says 1 ms for upload and detection each, which is more than its frames take
  auto pipeline = PipelineFactory::Create({}, &api);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  const Image image = testing::Flat({100, 80}, 1);
  Features features;
  StageTimes times;
  for (int i = 0; i < 10; ++i) {
    SCOPED_TRACE(i);
    ASSERT_TRUE((*pipeline)->Detect(OrbOptions(), image, {}, &features, &times).ok());
    EXPECT_GT(times.upload_ns, 0);
    EXPECT_GT(times.detect_ns, 0);
  }
  EXPECT_LE(times.upload_ns, times.detect_ns);
}

// The copy of a pinned image is part of the graph, which is told of another image. Frames that share the device with
// others have a copy apart.
TEST(CudaFaults, GraphsCopyPinnedImages) {
  FakeApi api, other_api;
  api.pinned = true;
  auto pipeline = PipelineFactory::Create({}, &api);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  const Image images[] = {testing::Flat({128, 80}, 1), testing::Flat({128, 80}, 2)};
  Features features;
  ASSERT_TRUE((*pipeline)->Detect(OrbOptions(), images[0], {}, &features, nullptr).ok());  // copies tables, too
  // Whether it is the graph that copies, which is told each time: it is not known whether the memory is the same.
  const auto frame = [&](int i) {
    const int before = api.copies_to_device, by_graphs = api.graph_copies;
    EXPECT_TRUE((*pipeline)->Detect(OrbOptions(), images[i], {}, &features, nullptr).ok());
    EXPECT_EQ(api.copied_from, images[i].row(0));
    EXPECT_EQ(api.copies_to_device, before + 1);
    return api.graph_copies - by_graphs;
  };
  EXPECT_EQ(frame(0), 1);
  EXPECT_EQ(frame(0), 1);
  EXPECT_EQ(frame(1), 1);
  bool launched = false;
  other_api.launched = [&] {
    launched = true;
    EXPECT_EQ(frame(0), 0);
    EXPECT_EQ(frame(0), 0);
  };
  std::unique_ptr<Pipeline> other;
  ASSERT_TRUE(OneFrame(&other_api, &other, {}, false).ok());
  EXPECT_TRUE(launched);
  EXPECT_EQ(frame(0), 1);
  // Pageable pixels are staged.
  api.pinned = false;
  const int before = api.copies_to_device;
  ASSERT_TRUE((*pipeline)->Detect(OrbOptions(), images[1], {}, &features, nullptr).ok());
  EXPECT_EQ(api.copies_to_device, before + 1);
  EXPECT_NE(api.copied_from, images[1].row(0));
}

// Rows of 0, 1, 2...
class CountedRows final : public PixelRows {
 public:
  explicit CountedRows(Shape shape) : shape_(shape) {}
  Shape shape() const override { return shape_; }
  void CopyRows(int first, int count, uint8_t* to, ptrdiff_t stride) const override {
    EXPECT_EQ(first, written_);
    written_ += count;
    for (int y = 0; y < count; ++y) std::memset(to + y * stride, first + y, static_cast<size_t>(shape_.width));
  }
  int written() const { return written_; }

 private:
  const Shape shape_;
  mutable int written_ = 0;
};

// Rows are written once, in their order. Those of large images are on their way before all are written; small images go
// with the graph, from the same memory each time.
TEST(CudaFaults, RowsAreUploadedWhileTheyAreWritten) {
  struct {
    Shape shape;
    bool integrated;
    int copies;  // at least
  } const kCases[] = {{{640, 480}, false, 0}, {{1920, 1080}, false, 8}, {{1920, 1080}, true, 0}};
  for (const auto& c : kCases) {
    FakeApi api;
    api.integrated = c.integrated;
    auto pipeline = PipelineFactory::Create({}, &api);
    ASSERT_TRUE(pipeline.ok()) << pipeline.status();
    Features features;
    for (int i = 0; i < 3; ++i) {
      const CountedRows rows(c.shape);
      const int before = i == 0 ? 0 : api.copies_to_device;
      ASSERT_TRUE((*pipeline)->Detect(OrbOptions(), &rows, {}, &features, nullptr).ok());
      EXPECT_EQ(rows.written(), c.shape.height);
      EXPECT_GE(api.copies_to_device - before, c.copies);
      EXPECT_TRUE(c.copies > 0 || i == 0 || api.copies_to_device == before);
    }
  }
}

// Spins while the device may be done soon, and no more threads than may; then blocks.
TEST(CudaFaults, WaitsAreSpunForAWhile) {
  struct {
    int spinning, not_ready;
    bool queries, blocks;
  } const kCases[] = {{0, 0, false, true}, {1, 0, true, false}, {1, 10, true, false}, {1, 1 << 30, true, true}};
  for (const auto& c : kCases) {
    FakeApi api;
    api.not_ready = c.not_ready;
    PipelineOptions options;
    options.wait = Wait::kAdaptive;
    options.spinning = c.spinning;
    std::unique_ptr<Pipeline> pipeline;
    ASSERT_TRUE(OneFrame(&api, &pipeline, options, false).ok());
    EXPECT_EQ(api.queries > 0, c.queries);
    EXPECT_EQ(api.blocked > 0, c.blocks);
    EXPECT_EQ(api.wakers, api.blocked);
  }
}

TEST(ExpectedWaitTest, FollowsWhatWaitsTake) {
  ExpectedWait wait;
  EXPECT_EQ(wait.SpinNs(), ExpectedWait::kMarginNs);
  wait.Took(200'000);
  EXPECT_EQ(wait.SpinNs(), 300'000 + ExpectedWait::kMarginNs);
  for (int i = 0; i < 20; ++i) wait.Took(40'000);
  EXPECT_LT(wait.SpinNs(), 70'000 + ExpectedWait::kMarginNs);
  for (int i = 0; i < 20; ++i) wait.Took(3 * ExpectedWait::kMostNs);
  EXPECT_EQ(wait.SpinNs(), 0);
  for (int i = 0; i < 20; ++i) wait.Took(100'000);
  EXPECT_GT(wait.SpinNs(), 100'000);
}

}  // namespace
}  // namespace glint::cuda
