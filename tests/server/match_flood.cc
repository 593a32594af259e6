// glint-match-flood ADDRESS [STREAMS [DESCRIPTORS [SECONDS]]]: keeps a server busy with matches of tiny messages.
//
// Each stream keeps one set of DESCRIPTORS (16384) and matches it with itself under max_angle_difference, two pairs in
// flight, for SECONDS (10). Prints how many were answered and what the lanes took for one. Status 1: a stream failed.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "glint/v1/matching.grpc.pb.h"

namespace {

using Clock = std::chrono::steady_clock;
namespace v1 = glint::v1;

constexpr int kBytes = 32;
constexpr char kSet[] = "set";

v1::MatchStreamRequest Set(int descriptors, uint32_t seed) {
  v1::MatchStreamRequest request;
  request.mutable_update_set()->set_set(kSet);
  v1::DescriptorSet* const set = request.mutable_update_set()->mutable_add();
  set->set_descriptor_bytes(kBytes);
  std::mt19937 random(seed);
  for (int i = 0; i < descriptors * kBytes; ++i) set->mutable_data()->push_back(static_cast<char>(random() & 255));
  for (int i = 0; i < descriptors; ++i) set->add_angle(static_cast<float>(random() % 360));
  return request;
}

struct Sums {
  std::atomic<int> matches{0}, failures{0};
  std::atomic<int64_t> lane_ns{0};
};

void Flood(v1::FeatureMatching::Stub* stub, int descriptors, uint32_t seed, Clock::time_point end, Sums* sums) {
  grpc::ClientContext context;
  const auto stream = stub->MatchStream(&context);
  v1::MatchStreamRequest options, pair;
  options.mutable_options()->mutable_match()->set_max_angle_difference(45);
  pair.mutable_pair()->mutable_query()->set_set(kSet);
  pair.mutable_pair()->mutable_train()->set_set(kSet);
  bool good = stream->Write(options) && stream->Write(Set(descriptors, seed)) && stream->Write(pair);
  v1::MatchStreamResponse reply;
  good = good && stream->Read(&reply) && reply.status().code() == 0;
  while (good && Clock::now() < end) {
    good = stream->Write(pair) && stream->Read(&reply) && reply.status().code() == 0;
    if (!good) break;
    ++sums->matches;
    sums->lane_ns += reply.timings().match_ns();
  }
  if (!good) {
    ++sums->failures;
    std::fprintf(stderr, "glint-match-flood: %s\n", reply.status().message().c_str());
  }
  context.TryCancel();
  const grpc::Status status = stream->Finish();
  if (!good) std::fprintf(stderr, "glint-match-flood: %s\n", status.error_message().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: glint-match-flood ADDRESS [STREAMS [DESCRIPTORS [SECONDS]]]\n");
    return 2;
  }
  const int streams = argc > 2 ? std::atoi(argv[2]) : 4;
  const int descriptors = argc > 3 ? std::atoi(argv[3]) : 16384;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(argc > 4 ? std::atoi(argv[4]) : 10);
  const auto stub = v1::FeatureMatching::NewStub(grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials()));
  Sums sums;
  std::vector<std::thread> threads;
  for (int i = 0; i < streams; ++i) {
    threads.emplace_back(Flood, stub.get(), descriptors, static_cast<uint32_t>(i), end, &sums);
  }
  for (std::thread& thread : threads) thread.join();
  const int matches = sums.matches;
  std::printf("%d matches of %d with %d descriptors, %.1f ms each\n", matches, descriptors, descriptors,
              matches == 0 ? 0 : static_cast<double>(sums.lane_ns) * 1e-6 / matches);
  return sums.failures > 0 ? 1 : 0;
}
