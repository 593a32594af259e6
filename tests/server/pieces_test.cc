// Messages that a client has cut into very many pieces take no more memory than they may, and what they took is not
// kept.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/memory/memory_bound.h"
#include "server/operations/detect/detect_payloads.h"
#include "server/rpc/frame.h"
#include "tests/server/harness.h"
#include "tests/server/raw_http2.h"

namespace glint::testing {
namespace {

constexpr size_t kSmallest = 24;  // of smaller ones gRPC puts several into one slice

int64_t BytesInUse() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

grpc::ByteBuffer Cut(const std::string& bytes, size_t piece) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += piece) slices.emplace_back(bytes.substr(at, piece));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string Joined(const Frame& frame) {
  std::string all;
  for (const auto& piece : frame.message_pieces) all.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  return all;
}

TEST(PiecesTest, AMessageInTooManyIsPutTogether) {
  std::string bytes(kSmallest * (kMaxPieces + 1), '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
  Frame frame;
  grpc::ByteBuffer fits = Cut(bytes.substr(0, kSmallest * kMaxPieces), kSmallest);
  ASSERT_TRUE(frame.Receive(&fits));
  EXPECT_EQ(frame.message_pieces.size(), kMaxPieces);
  EXPECT_EQ(Joined(frame), bytes.substr(0, kSmallest * kMaxPieces));
  frame.Reset();
  grpc::ByteBuffer too_many = Cut(bytes, kSmallest);
  ASSERT_TRUE(frame.Receive(&too_many));
  EXPECT_EQ(frame.message_pieces.size(), 1u);
  EXPECT_EQ(frame.message.Length(), bytes.size());
  EXPECT_EQ(Joined(frame), bytes);
}

// Each field of options can be cut off, so 64 KiB of them could be a million pieces.
TEST(PiecesTest, OptionsInManyPiecesAreNotListed) {
  std::string bytes;
  for (int i = 0; i < 200000; ++i) bytes += std::string("\x0a\x02\x10\x05", 4);  // detector { levels: 5 }
  const absl::Span<const uint8_t> piece(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  DetectCallPayload payload;
  ASSERT_TRUE(ParseDetectRequest({&piece, 1}, &payload.request));
  EXPECT_LE(payload.request.detector.size(), kMaxOptionsBytes);
  EXPECT_GT(decode::TotalBytes(payload.request.detector), kMaxOptionsBytes);  // so they are refused
  payload.Reset();
  EXPECT_LE(payload.request.detector.capacity(), kUsualPieces);
}

TEST(PiecesTest, ADroppedFrameKeepsNoLists) {
  Frame frame;
  grpc::ByteBuffer bytes = Cut(std::string(kSmallest * 5000, 'x'), kSmallest);
  ASSERT_TRUE(frame.Receive(&bytes));
  frame.ReleaseAll();
  EXPECT_EQ(frame.message_pieces.capacity(), 0u);
  EXPECT_EQ(frame.images[0].pieces.capacity(), 0u);
  frame.Reset();
  EXPECT_EQ(frame.message_pieces.capacity(), kUsualPieces);
  EXPECT_LE(int64_t{sizeof(Frame)}, kDroppedFrameBytes);
  EXPECT_LE(int64_t{sizeof(Frame) + 3 * kMaxPieces * sizeof(frame.message_pieces[0])}, kFrameBytes);
}

// Over the network: what the server takes at most for messages of 4 MiB in 175,000 DATA frames each, and what it keeps.
TEST(PiecesTest, DataFramesOfTwentyFourBytesStayWithinTheBound) {
  constexpr int kStreams = 4, kFrames = 3, kSide = 2048;
  LaneControl control;
  ServerOptions options = TestOptions();
  options.listen = {"127.0.0.1:0"};
  options.max_sessions = kStreams;
  options.max_detect_calls = 1;
  options.max_in_flight = 2;
  options.max_message_bytes = kSide * kSide + 1024;
  options.max_pending_bytes = 2 * options.max_message_bytes;
  options.max_features = 100;
  // gRPC may miss that a loaded client's connection was reset; then the next ping ends it.
  options.connections.keepalive_time = options.connections.keepalive_timeout = absl::Seconds(1);
  options.lanes.max_image_pixels = kSide * kSide;
  TestServer server(options, &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  const MemoryBound bound = ComputeMemoryBound(options, 1);
  const std::string first = OptionsMessage().SerializeAsString();
  const std::string frame = FrameMessage(1, kSide, kSide).SerializeAsString();
  const std::string small = FrameMessage(1).SerializeAsString();

  const auto run = [&](const std::string& message, size_t piece) {
    std::vector<std::thread> clients;
    for (int s = 0; s < kStreams; ++s) {
      clients.emplace_back([&] {
        RawHttp2Call call(server->addresses().at(0), "/glint.v1.FeatureDetection/DetectStream");
        EXPECT_TRUE(call.Write(first, 1 << 14));
        for (int i = 0; i < kFrames; ++i) {
          ASSERT_TRUE(call.Write(message, piece));
          ASSERT_TRUE(call.WaitForData(static_cast<size_t>(10 * (i + 1))));
        }
      });
    }
    for (std::thread& client : clients) client.join();
    EXPECT_TRUE(Eventually([&] { return server->calls() == 0; }));
  };
  run(small, 1 << 14);
  const int64_t before = BytesInUse();
  std::atomic<bool> ended{false};
  std::atomic<int64_t> peak{0};
  std::thread watch([&] {
    while (!ended) {
      peak = std::max<int64_t>(peak, BytesInUse() - before);
      absl::SleepFor(absl::Milliseconds(5));
    }
  });
  run(frame, kSmallest);
  ended = true;
  watch.join();
  const int64_t kept = BytesInUse() - before;
  std::cout << "peak " << peak / 1024 << " KiB, kept " << kept / 1024 << " KiB, bound but for lanes "
            << (bound.total() - bound.lanes) / 1024 << " KiB\n";
  EXPECT_LE(peak, bound.total() - bound.lanes);  // the lane is a fake: it takes one picture
  // Not even the lists of what the pool may keep; the lane keeps its picture, and gRPC a little.
  EXPECT_LE(kept, kSide * kSide + kStreams * kFrameBytes);
}

}  // namespace
}  // namespace glint::testing
