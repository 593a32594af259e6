// Once a stream has warmed up, the server's own code takes no memory for a frame. Every call of malloc is looked at: it
// counts as ours if the first function on the stack that is neither the C nor the C++ library's is in this program,
// which links Glint statically and gRPC, protobuf and Abseil dynamically. What those take for a message is theirs.
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "glint/v1/localization.grpc.pb.h"
#include "glint/v1/matching.grpc.pb.h"
#include "tests/server/harness.h"
#include "tests/server/localize_pairs.h"
#include "tests/support/images.h"

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

constexpr int kDepth = 24;

struct Counts {
  std::atomic<bool> on{false};
  std::atomic<int> all{0};
  std::atomic<int> ours{0};
  std::atomic<size_t> largest{0};  // of all
  void* first_of_ours[kDepth];
  std::atomic<int> depth{0};
} counts;

thread_local bool ignored = false;  // this thread is the client's, or is counting

bool IsStandardLibrary(const char* file) {
  for (const char* name : {"libc.so", "libstdc++.so", "libm.so", "ld-linux"}) {
    if (std::strstr(file, name) != nullptr) return true;
  }
  return false;
}

// Not inlined, so that the two frames on top are always this and the allocation function.
__attribute__((noinline)) void Count(size_t bytes) {
  if (!counts.on.load(std::memory_order_relaxed) || ignored) return;
  ignored = true;
  static const char* const program = [] {
    Dl_info info = {};
    dladdr(reinterpret_cast<void*>(&Count), &info);
    return info.dli_fname;
  }();
  ++counts.all;
  size_t largest = counts.largest;
  while (bytes > largest && !counts.largest.compare_exchange_weak(largest, bytes)) {
  }
  void* stack[kDepth];
  const int depth = backtrace(stack, kDepth);
  for (int i = 2; i < depth; ++i) {
    Dl_info info = {};
    if (dladdr(stack[i], &info) == 0 || IsStandardLibrary(info.dli_fname)) continue;
    if (std::strcmp(info.dli_fname, program) == 0 && ++counts.ours == 1) {
      std::memcpy(counts.first_of_ours, stack, sizeof(stack));
      counts.depth = depth;
    }
    break;
  }
  ignored = false;
}

}  // namespace

extern "C" {
void* malloc(size_t bytes) {
  Count(bytes);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  Count(count * bytes);
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  Count(bytes);
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  Count(bytes);
  return __libc_memalign(alignment, bytes);
}
}

namespace glint::testing {
namespace {

void SetCamera(int width, int height, v1::Camera* camera) {
  camera->set_width(static_cast<uint32_t>(width));
  camera->set_height(static_cast<uint32_t>(height));
  camera->set_fx(width);
  camera->set_fy(width);
  camera->set_cx(width / 2.0);
  camera->set_cy(height / 2.0);
  camera->mutable_radial_tangential()->set_k1(-0.1);
}

// The frames of one stream, one after the other.
class Frames {
 public:
  Frames(v1::FeatureDetection::Stub* stub, int width, int height, bool has_camera = false)
      : stream_(stub), has_camera_(has_camera) {
    v1::DetectStreamRequest options = OptionsMessage();
    if (has_camera) SetCamera(width, height, options.mutable_options()->mutable_camera());
    stream_.Write(options);
    message_ = FrameMessage(0, width, height);
    const Image image = Noise({width, height}, 1);
    std::string* const pixels = message_.mutable_frame()->mutable_image()->mutable_raw()->mutable_data();
    for (int y = 0; y < height; ++y) {
      std::memcpy(&(*pixels)[static_cast<size_t>(y) * static_cast<size_t>(width)], image.row(y),
                  static_cast<size_t>(width));
    }
  }
  void Run(int count) {
    for (int i = 0; i < count; ++i) {
      message_.mutable_frame()->set_frame_id(++id_);
      ASSERT_TRUE(stream_.Write(message_));
      const v1::DetectStreamResponse reply = stream_.Read();
      ASSERT_EQ(reply.status().code(), 0) << reply.status().message();
      ASSERT_GT(reply.features().x_size(), 0);
      ASSERT_EQ(reply.features().ray_x_size(), has_camera_ ? reply.features().x_size() : 0);
    }
  }

 private:
  TestStream stream_;
  const bool has_camera_;
  v1::DetectStreamRequest message_;
  uint64_t id_ = 0;
};

// Pairs of one stream, rectified or raw, one after the other.
class Pairs {
 public:
  Pairs(v1::FeatureMatching::Stub* stub, int width, int height, bool raw = false)
      : stream_(stub->StereoStream(&context_)) {
    v1::StereoStreamRequest first;
    first.mutable_options()->mutable_detector()->set_max_features(600);
    if (raw) SetRig(width, height, first.mutable_options()->mutable_rig());
    stream_->Write(first);
    constexpr int kApart = 8;
    const Image image = Texture({width + kApart, height}, 1);
    for (const bool is_right : {false, true}) {
      v1::Image* const side =
          is_right ? message_.mutable_pair()->mutable_right() : message_.mutable_pair()->mutable_left();
      SetGray(width, height, 0, side);
      std::string* const pixels = side->mutable_raw()->mutable_data();
      for (int y = 0; y < height; ++y) {
        std::memcpy(&(*pixels)[static_cast<size_t>(y) * static_cast<size_t>(width)],
                    image.row(y) + (is_right ? kApart : 0), static_cast<size_t>(width));
      }
    }
  }
  void Run(int count) {
    for (int i = 0; i < count; ++i) {
      message_.mutable_pair()->set_frame_id(++id_);
      ASSERT_TRUE(stream_->Write(message_));
      v1::StereoStreamResponse reply;
      ASSERT_TRUE(stream_->Read(&reply));
      ASSERT_EQ(reply.status().code(), 0) << reply.status().message();
      ASSERT_GT(reply.result().matches().left_size(), 100);
      ASSERT_EQ(reply.result().warnings_size(), 0);  // whose texts are allocated
    }
  }

 private:
  static void SetRig(int width, int height, v1::StereoRig* rig) {
    for (v1::Camera* const camera : {rig->mutable_left(), rig->mutable_right()}) SetCamera(width, height, camera);
    rig->mutable_right_from_left()->set_x(-0.1);
  }

  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::StereoStreamRequest, v1::StereoStreamResponse>> stream_;
  v1::StereoStreamRequest message_;
  uint64_t id_ = 0;
};

class AllocationTest : public ::testing::Test {
 protected:
  AllocationTest() {
    ignored = true;
    void* stack[1];
    backtrace(stack, 1);  // loads what it needs
  }
  static ServerOptions Options() {
    ServerOptions options = TestOptions();
    options.listen = {"127.0.0.1:0"};
    return options;
  }
  void CountDuring(const std::function<void()>& run) {
    counts.all = counts.ours = 0;
    counts.largest = 0;
    counts.on = true;
    run();
    counts.on = false;
  }

  TestServer server_{Options()};
};

// Two sizes in turn, so that what is kept for one is not lost to the other.
TEST_F(AllocationTest, AFrameTakesNoMemoryOfOurs) {
  constexpr int kFrames = 100;
  Frames small(server_.stub(), 640, 480), large(server_.stub(), 1280, 720);
  Frames with_rays(server_.stub(), 640, 480, true);
  const auto run = [&](int count) {
    for (int i = 0; i < count; i += 10) {
      small.Run(10);
      large.Run(10);
      with_rays.Run(10);
    }
  };
  run(kFrames / 2);
  CountDuring([&] { run(kFrames); });
  EXPECT_EQ(counts.ours, 0) << "of " << 3 * kFrames << " frames; the first one's stack follows";
  if (counts.ours > 0) backtrace_symbols_fd(counts.first_of_ours, counts.depth, 2);
  EXPECT_GT(counts.all, 0);  // gRPC's: the test sees allocations at all
  // Nobody puts a frame together: the largest piece is a part of what the socket had.
  std::cout << "per frame " << counts.all / (3.0 * kFrames) << " allocations of gRPC, the largest of " << counts.largest
            << " bytes\n";
}

TEST_F(AllocationTest, APairTakesNoMemoryOfOurs) {
  constexpr int kPairs = 40;
  const auto stub = v1::FeatureMatching::NewStub(server_.channel());
  Pairs small(stub.get(), 320, 240), large(stub.get(), 640, 480), raw(stub.get(), 400, 300, true);
  const auto run = [&](int count) {
    for (int i = 0; i < count; i += 10) {
      small.Run(10);
      large.Run(10);
      raw.Run(10);
    }
  };
  run(kPairs / 2);
  CountDuring([&] { run(kPairs); });
  EXPECT_EQ(counts.ours, 0) << "of " << 3 * kPairs << " pairs; the first one's stack follows";
  if (counts.ours > 0) backtrace_symbols_fd(counts.first_of_ours, counts.depth, 2);
  EXPECT_GT(counts.all, 0);
}

// Of a camera that goes on as it does, in the time of a pair.
void SetReadings(int64_t after_ns, v1::ImuReadings* readings) {
  constexpr int kCount = 20;
  readings->Clear();
  for (int i = 1; i <= kCount; ++i) {
    const int64_t time_ns = after_ns + i * (kFrameNs / kCount);
    const double wave = 1e-3 * std::sin(static_cast<double>(time_ns));
    readings->add_gyroscope_time_ns(time_ns);
    for (const double v : {wave, -wave, 0.0}) readings->add_angular_velocity(v);
    for (const double v : {0.0, -9.81 + wave, wave}) readings->add_acceleration(v);
  }
}

enum class Located { kStereo, kDepth, kInertial };

// The one exception, which docs/slam.md has: fitting a pose takes memory, in pieces whose number has a bound, of a
// camera that stands still; keyframes, which take more, are the map's.
class LocateAllocationTest : public AllocationTest, public ::testing::WithParamInterface<Located> {};

TEST_P(LocateAllocationTest, ALocatedPairTakesABoundedNumberOfPieces) {
  const bool has_depth = GetParam() == Located::kDepth, has_imu = GetParam() == Located::kInertial;
  constexpr Shape kShape = {320, 200};
  constexpr int kMoving = 8, kPairs = 40;
  const int most_pieces = has_imu ? 96 : 64;
  const auto stub = v1::Localization::NewStub(server_.channel());
  grpc::ClientContext context;
  const auto stream = stub->LocalizeStream(&context);
  v1::LocalizeStreamRequest message;
  v1::DetectorOptions* const detector = message.mutable_options()->mutable_detector();
  detector->set_preset("orb");
  detector->set_max_features(300);
  v1::StereoCamera* const camera = message.mutable_options()->mutable_camera();
  camera->set_width(kShape.width);
  camera->set_height(kShape.height);
  camera->set_focal_length(kFocal);
  camera->set_centre_x(kShape.width / 2.0);
  camera->set_centre_y(kShape.height / 2.0);
  camera->set_baseline(kBaseline);
  if (has_depth) message.mutable_options()->mutable_depth()->set_unit(0.001);
  if (has_imu) message.mutable_options()->mutable_imu()->mutable_camera_from_imu();
  stream->Write(message);
  int64_t time_ns = 0;
  const auto run = [&](const Pair& pair, int count) {
    v1::LocalizePair* const images = message.mutable_pair();
    for (const bool is_right : {false, true}) {
      v1::Image* const side = is_right ? images->mutable_right() : images->mutable_left();
      const Image& image = is_right ? pair.right : pair.left;
      SetGray(kShape.width, kShape.height, 0, side);
      for (int y = 0; y < kShape.height; ++y) {
        std::memcpy(side->mutable_raw()->mutable_data()->data() + y * kShape.width, image.row(y), kShape.width);
      }
    }
    if (has_depth) {  // of the wall, 4 m away
      images->clear_right();
      SetGray(2 * kShape.width, kShape.height, 0, images->mutable_depth());
      v1::RawImage* const depth = images->mutable_depth()->mutable_raw();
      depth->set_format(v1::PIXEL_FORMAT_GRAY16);
      depth->set_width(kShape.width);
      for (size_t at = 0; at < depth->data().size(); ++at) {
        (*depth->mutable_data())[at] = static_cast<char>(at % 2 == 0 ? 4000 & 255 : 4000 >> 8);
      }
    }
    for (int i = 0; i < count; ++i) {
      if (has_imu) SetReadings(time_ns, images->mutable_imu());
      images->set_time_ns(time_ns += kFrameNs);
      ASSERT_TRUE(stream->Write(message));
      v1::LocalizeStreamResponse reply;
      ASSERT_TRUE(stream->Read(&reply));
      ASSERT_EQ(reply.location().status(), v1::LOCATION_STATUS_TRACKING) << reply.status().message();
    }
  };
  const std::vector<Pair> pairs = PairsAlongAWall(kShape, kMoving);
  for (const Pair& pair : pairs) run(pair, 1);
  run(pairs.back(), has_imu ? 30 : 10);  // until the sensor is ready
  CountDuring([&] { run(pairs.back(), kPairs); });
  EXPECT_LT(counts.ours, most_pieces * kPairs);
  std::cout << "per located pair " << counts.ours / (1.0 * kPairs) << " allocations of ours, the largest of "
            << counts.largest << " bytes\n";
}
INSTANTIATE_TEST_SUITE_P(Cameras, LocateAllocationTest,
                         ::testing::Values(Located::kStereo, Located::kDepth, Located::kInertial),
                         [](const auto& test) {
                           if (test.param == Located::kStereo) return "Stereo";
                           return test.param == Located::kDepth ? "Depth" : "Inertial";
                         });

// The test can fail: a server's code that does take memory is seen.
TEST_F(AllocationTest, SeesOurs) {
  CountDuring([&] {
    v1::GetServerInfoResponse info;
    grpc::ClientContext context;
    ASSERT_TRUE(server_.server_stub()->GetServerInfo(&context, {}, &info).ok());
  });
  EXPECT_GT(counts.ours, 0);
}

}  // namespace
}  // namespace glint::testing
