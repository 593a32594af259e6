// Memory that a frame or a pair cannot have: the n-th operator new on its lane's thread fails, for every n there is.
// The frame is refused, its stream and the lane live, and the next answer is as it was before.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "glint/v1/matching.grpc.pb.h"
#include "tests/server/harness.h"
#include "tests/support/images.h"

namespace {

// On the thread of a lane, within a frame: calls up to the one that fails; 0: none is to fail, -1: it has.
thread_local int calls_left = 0;

void* Allocate(std::size_t bytes, std::size_t alignment) {
  if (calls_left > 0 && --calls_left == 0) {
    calls_left = -1;
    throw std::bad_alloc();
  }
  bytes = (bytes + alignment - 1) / alignment * alignment;
  if (void* const memory = std::aligned_alloc(alignment, bytes == 0 ? alignment : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return Allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return Allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace glint::testing {
namespace {

// The call that is to fail, from 1, counted over what a lane does from now on; 0: none. What became of it.
std::atomic<int> fail_at{0};
std::atomic<bool> failed{false};

struct Starve {
  Starve() { calls_left = fail_at.exchange(0); }
  ~Starve() {
    failed = calls_left == -1;
    if (calls_left > 0) fail_at = calls_left;
    calls_left = 0;
  }
};

// A lane of the CPU whose memory fails.
class StarvedLane final : public Lane {
 public:
  explicit StarvedLane(std::unique_ptr<Lane> lane) : lane_(std::move(lane)) {}

  absl::Status Run(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                   StageTimes* times) override {
    const Starve starve;
    return lane_->Run(options, image, mask, features, times);
  }
  absl::Status RunStereo(const DetectorOptions& options, const StereoOptions& stereo, const PixelPair& pair,
                         StereoPairResult* found, StageTimes* times) override {
    const Starve starve;
    return lane_->RunStereo(options, stereo, pair, found, times);
  }
  absl::Status Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) override {
    const Starve starve;
    return lane_->Match(input, options, result);
  }
  absl::Status fatal() const override { return lane_->fatal(); }
  const std::string& device() const override { return lane_->device(); }

 private:
  const std::unique_ptr<Lane> lane_;
};

absl::StatusOr<LaneSet> StarvedLanes(const LaneOptions& options) {
  auto set = CreateLanes(options);
  if (!set.ok()) return set;
  for (auto& lane : set->lanes) lane = std::make_unique<StarvedLane>(std::move(lane));
  return set;
}

void SetNoise(int width, int height, v1::Image* image) {
  SetGray(width, height, 0, image);
  const Image noise = Noise({width, height}, 3);
  std::string* const pixels = image->mutable_raw()->mutable_data();
  for (int y = 0; y < height; ++y) {
    std::copy_n(noise.row(y), width, &(*pixels)[static_cast<size_t>(y) * static_cast<size_t>(width)]);
  }
}

v1::DetectRequest Request(const std::string& preset, int width, int height) {
  v1::DetectRequest request;
  SetNoise(width, height, request.mutable_image());
  request.mutable_detector()->set_preset(preset);
  return request;
}

ServerOptions Options() {
  ServerOptions options = TestOptions();
  options.create_lanes = StarvedLanes;
  return options;
}

constexpr char kNoMemory[] = "frame: the server has no memory left for it";

class StarvedLaneTest : public ::testing::TestWithParam<const char*> {
 protected:
  // A new server for each call that fails, because a lane that has its memory asks for none.
  static grpc::Status Detect(TestServer* server, const v1::DetectRequest& request, v1::DetectResponse* response) {
    grpc::ClientContext context;
    response->Clear();
    const grpc::Status status = server->stub()->Detect(&context, request, response);
    response->clear_timings();
    return status;
  }
};

INSTANTIATE_TEST_SUITE_P(Presets, StarvedLaneTest,
                         ::testing::Values("orb", "oriented_fast", "fast_grid", "pyca", "bfrost", "harris", "orbslam"));

TEST_P(StarvedLaneTest, EveryAllocationMayFail) {
  const v1::DetectRequest request = Request(GetParam(), 700, 500);
  v1::DetectResponse expected, response;
  {
    TestServer server(Options());
    ASSERT_TRUE(Detect(&server, request, &expected).ok());
    ASSERT_GT(expected.features().x_size(), 0);
  }
  int refused = 0;
  for (int n = 1;; ++n) {
    SCOPED_TRACE(n);
    TestServer server(Options());
    ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(30)));
    fail_at = n;
    const grpc::Status status = Detect(&server, request, &response);
    const bool over = !failed;
    if (over) {
      EXPECT_TRUE(status.ok()) << status.error_message();
      fail_at = 0;
      break;
    }
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(status.error_message(), kNoMemory);
    ++refused;
    ASSERT_TRUE(Detect(&server, request, &response).ok());
    EXPECT_EQ(response.SerializeAsString(), expected.SerializeAsString());
    EXPECT_TRUE(server->serving());
  }
  std::printf("%s: %d allocations failed, one at a time\n", GetParam(), refused);
  EXPECT_GT(refused, 0);
}

// The same for a pair, on one stream: `open` opens it, `first` are its options.
template <typename Request, typename Response, typename Open>
void StarvePairs(const Request& first, const Request& pair, Open open) {
  const auto ask = [&](auto* stream) {
    Response response;
    EXPECT_TRUE(stream->Write(pair) && stream->Read(&response));
    response.clear_timings();
    return response;
  };
  std::string expected;
  int refused = 0;
  for (int n = 0;; ++n) {
    SCOPED_TRACE(n);
    TestServer server(Options());
    ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(30)));
    const auto stub = v1::FeatureMatching::NewStub(server.channel());
    grpc::ClientContext context;
    const auto stream = open(stub.get(), &context);
    ASSERT_TRUE(stream->Write(first));
    fail_at = n;
    Response response = ask(stream.get());
    const bool over = n > 0 && !failed;
    if (n == 0) expected = response.SerializeAsString();
    if (n > 0 && !over) {
      EXPECT_EQ(response.status().code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
      EXPECT_EQ(response.status().message(), kNoMemory);
      EXPECT_FALSE(response.has_result());
      ++refused;
      response = ask(stream.get());
    }
    fail_at = 0;
    EXPECT_EQ(response.SerializeAsString(), expected);
    EXPECT_GT(response.result().matches().distance_size(), 0);
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    if (over) break;
  }
  std::printf("%d allocations failed, one at a time\n", refused);
  EXPECT_GT(refused, 0);
}

TEST(StarvedPairTest, EveryAllocationOfAMatchMayFail) {
  v1::MatchStreamRequest first, pair;
  first.mutable_options()->mutable_detector()->set_preset("orb");
  SetNoise(400, 300, pair.mutable_pair()->mutable_query()->mutable_image());
  SetNoise(420, 300, pair.mutable_pair()->mutable_train()->mutable_image());
  StarvePairs<v1::MatchStreamRequest, v1::MatchStreamResponse>(
      first, pair,
      [](v1::FeatureMatching::Stub* stub, grpc::ClientContext* context) { return stub->MatchStream(context); });
}

TEST(StarvedPairTest, EveryAllocationOfAStereoPairMayFail) {
  v1::StereoStreamRequest first, pair;
  first.mutable_options()->mutable_detector()->set_preset("orb");
  SetNoise(400, 300, pair.mutable_pair()->mutable_left());
  SetNoise(400, 300, pair.mutable_pair()->mutable_right());
  StarvePairs<v1::StereoStreamRequest, v1::StereoStreamResponse>(
      first, pair,
      [](v1::FeatureMatching::Stub* stub, grpc::ClientContext* context) { return stub->StereoStream(context); });
}

}  // namespace
}  // namespace glint::testing
