// fleet_client ADDRESS STREAMS SECONDS: sends frames through resilient streams, checks that each is answered exactly
// once, in order and correctly, and prints one line of JSON about them. For scripts/test-fleet.sh and the tests.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "client/client.h"
#include "client/resilient_stream.h"

namespace {

constexpr int kWidth = 640;
constexpr int kHeight = 480;
constexpr absl::Duration kPeriod = absl::Milliseconds(50);

// Squares at places that depend on the frame's number.
glint::Image Picture(uint64_t frame_id) {
  glint::Image image(kWidth, kHeight);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const int square = (x / 24) * 7 + (y / 24) * 13 + static_cast<int>(frame_id % 5);
      image.row(y)[x] = static_cast<uint8_t>(square * 97 % 256);
    }
  }
  return image;
}

struct Outcome {
  absl::Status status;
  std::vector<double> milliseconds;  // from the first Write() of a frame to its answer
  int sent = 0, answered = 0, wrong = 0, reopened = 0;
};

Outcome RunStream(const std::string& address, absl::Time end) {
  Outcome outcome;
  glint::client::ClientOptions client_options;
  client_options.wait_for_server = true;
  client_options.balance = true;
  auto client = glint::client::Client::Connect(address, client_options);
  if (!client.ok()) {
    outcome.status = client.status();
    return outcome;
  }
  std::vector<glint::Image> pictures;
  for (uint64_t i = 0; i < 5; ++i) pictures.push_back(Picture(i));
  std::vector<absl::Time> written(static_cast<size_t>((end - absl::Now()) / kPeriod) + 2);
  std::vector<size_t> keypoints(pictures.size(), 0);  // equal pictures have equal answers, from any server
  glint::client::ResilientStream stream(&*client, {}, {}, [&](const glint::client::FrameResult& result) {
    size_t& expected = keypoints[result.frame_id % keypoints.size()];
    const size_t found = result.detection.features.count();
    if (expected == 0) expected = found;
    const bool good = result.status.ok() && found > 0 && found == expected;
    if (!good || result.frame_id != static_cast<uint64_t>(outcome.answered)) ++outcome.wrong;
    ++outcome.answered;
    outcome.milliseconds.push_back(absl::ToDoubleMilliseconds(absl::Now() - written[result.frame_id]));
  });
  for (uint64_t id = 0; id < written.size() && absl::Now() < end && outcome.status.ok(); ++id) {
    written[id] = absl::Now();
    ++outcome.sent;
    outcome.status = stream.Write(id, pictures[id % pictures.size()]);
    absl::SleepFor(written[id] + kPeriod - absl::Now());
  }
  const absl::Status finished = stream.Finish();
  if (outcome.status.ok()) outcome.status = finished;
  outcome.reopened = stream.reopened();
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: fleet_client ADDRESS STREAMS SECONDS\n");
    return 2;
  }
  const absl::Time end = absl::Now() + absl::Seconds(std::atoi(argv[3]));
  std::vector<Outcome> outcomes(static_cast<size_t>(std::atoi(argv[2])));
  std::vector<std::thread> threads;
  for (Outcome& outcome : outcomes) {
    threads.emplace_back([&outcome, &argv, end] { outcome = RunStream(argv[1], end); });
  }
  for (std::thread& thread : threads) thread.join();

  Outcome all;
  for (const Outcome& outcome : outcomes) {
    if (!outcome.status.ok()) {
      all.status = outcome.status;
      std::fprintf(stderr, "fleet_client: %s\n", outcome.status.ToString().c_str());
    }
    all.sent += outcome.sent;
    all.answered += outcome.answered;
    all.wrong += outcome.wrong;
    all.reopened += outcome.reopened;
    all.milliseconds.insert(all.milliseconds.end(), outcome.milliseconds.begin(), outcome.milliseconds.end());
  }
  std::sort(all.milliseconds.begin(), all.milliseconds.end());
  const auto percentile = [&](double p) {
    if (all.milliseconds.empty()) return 0.0;
    return all.milliseconds[static_cast<size_t>(p * static_cast<double>(all.milliseconds.size() - 1))];
  };
  std::printf(
      "{\"sent\": %d, \"lost\": %d, \"wrong\": %d, \"reopened\": %d, \"p50_ms\": %.1f, \"p99_ms\": %.1f, "
      "\"max_ms\": %.1f}\n",
      all.sent, all.sent - all.answered, all.wrong, all.reopened, percentile(0.5), percentile(0.99), percentile(1));
  return all.status.ok() && all.sent > 0 && all.sent == all.answered && all.wrong == 0 ? 0 : 1;
}
