// fleet_client ADDRESS proxy|grpc STREAMS RATE MAX-AGE FRAMES-FILE: sends RATE frames a second through each of STREAMS
// resilient streams until SIGTERM, and moves each to another stream every MAX-AGE seconds. ADDRESS is a proxy's, and
// each stream has a connection of its own; or it stands for several servers, which gRPC takes in turn. Checks that each
// frame is answered exactly once, in order and correctly. FRAMES-FILE gets a line for each answer,
// "unix-time-of-the-write milliseconds"; standard output one line of JSON. For tools/test-fleet.sh.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "client/client.h"
#include "client/resilient_stream.h"

namespace {

constexpr int kWidth = 320;
constexpr int kHeight = 240;
constexpr uint64_t kPictures = 5;

std::atomic<bool> stop{false};

struct Arguments {
  std::string address;
  bool balance;  // over the addresses, by gRPC, on one connection to each; else a connection for each stream
  int streams;
  double rate;             // frames a second, of each stream
  absl::Duration max_age;  // of a stream
  const char* file;
};

// Squares at places that depend on the picture's number.
glint::Image Picture(uint64_t number) {
  glint::Image image(kWidth, kHeight);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const int square = (x / 24) * 7 + (y / 24) * 13 + static_cast<int>(number);
      image.row(y)[x] = static_cast<uint8_t>(square * 97 % 256);
    }
  }
  return image;
}

template <typename T>
void Mix(const std::vector<T>& values, uint64_t* hash) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (size_t i = 0; i < values.size() * sizeof(T); ++i) *hash = (*hash ^ bytes[i]) * 0x100000001b3;  // FNV-1a
}

uint64_t Hash(const glint::Features& f) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const auto* values : {&f.x, &f.y, &f.size, &f.angle, &f.response}) Mix(*values, &hash);
  Mix(f.octave, &hash);
  Mix(f.descriptors, &hash);
  return hash;
}

struct Answer {
  absl::Time written;
  double milliseconds;  // from the first Write() of the frame
};

struct Outcome {
  absl::Status status;
  std::vector<Answer> answers;
  uint64_t sent = 0;
  int wrong = 0, reopened = 0;
};

absl::StatusOr<glint::client::Client> Connect(const Arguments& arguments) {
  glint::client::ClientOptions options;
  options.wait_for_server = true;
  options.balance = arguments.balance;
  options.connect_timeout = absl::Seconds(30);
  return glint::client::Client::Connect(arguments.address, options);
}

Outcome RunStream(const Arguments& arguments, const glint::client::Client& client, int number) {
  Outcome outcome;
  std::vector<glint::Image> pictures;
  for (uint64_t i = 0; i < kPictures; ++i) pictures.push_back(Picture(i));
  std::vector<uint64_t> expected(kPictures, 0);  // equal pictures have equal answers, from any server
  // Written by this thread before the frame that its reader reads: the stream is in between.
  std::vector<absl::Time> written(1 << 20);
  glint::client::RetryOptions retry;
  retry.max_age = arguments.max_age;
  glint::client::ResilientStream stream(&client, {}, retry, [&](const glint::client::FrameResult& result) {
    const uint64_t hash = Hash(result.detection.features);
    uint64_t& first = expected[result.frame_id % kPictures];
    if (first == 0) first = hash;
    const bool good = result.status.ok() && result.detection.features.count() > 0 && hash == first;
    if (!good || result.frame_id != outcome.answers.size()) ++outcome.wrong;
    const absl::Time at = written[result.frame_id];
    outcome.answers.push_back({at, absl::ToDoubleMilliseconds(absl::Now() - at)});
  });
  const absl::Duration period = absl::Seconds(1 / arguments.rate);
  // Streams do not begin, and later do not move, all at once.
  absl::Time due = absl::Now() + arguments.max_age * number / arguments.streams;
  while (!stop && outcome.status.ok() && outcome.sent < written.size()) {
    absl::SleepFor(due - absl::Now());
    due = std::max(due + period, absl::Now() - absl::Seconds(1));
    written[outcome.sent] = absl::Now();
    outcome.status = stream.Write(outcome.sent, pictures[outcome.sent % kPictures]);
    ++outcome.sent;
  }
  const absl::Status finished = stream.Finish();
  if (outcome.status.ok()) outcome.status = finished;
  outcome.reopened = stream.reopened();
  return outcome;
}

std::vector<Outcome> RunAll(const Arguments& arguments) {
  std::vector<Outcome> outcomes(static_cast<size_t>(arguments.streams));
  std::vector<absl::StatusOr<glint::client::Client>> clients;
  const int connections = arguments.balance ? 1 : arguments.streams;
  for (int i = 0; i < connections; ++i) {
    clients.push_back(Connect(arguments));
    if (!clients.back().ok()) {
      outcomes[0].status = clients.back().status();
      return outcomes;
    }
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < arguments.streams; ++i) {
    const auto& client = clients[static_cast<size_t>(i % connections)];
    threads.emplace_back([&, i] { outcomes[static_cast<size_t>(i)] = RunStream(arguments, *client, i); });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: fleet_client ADDRESS proxy|grpc STREAMS RATE MAX-AGE FRAMES-FILE\n");
    return 2;
  }
  struct sigaction action = {};
  action.sa_handler = [](int) { stop = true; };
  sigaction(SIGTERM, &action, nullptr);
  const Arguments arguments = {argv[1],
                               std::strcmp(argv[2], "grpc") == 0,
                               std::atoi(argv[3]),
                               std::atof(argv[4]),
                               absl::Seconds(std::atof(argv[5])),
                               argv[6]};
  const std::vector<Outcome> outcomes = RunAll(arguments);

  std::FILE* const file = std::fopen(arguments.file, "w");
  if (file == nullptr) {
    std::perror(arguments.file);
    return 2;
  }
  bool good = true;
  uint64_t sent = 0, answered = 0;
  int wrong = 0, reopened = 0;
  for (const Outcome& outcome : outcomes) {
    if (!outcome.status.ok()) std::fprintf(stderr, "fleet_client: %s\n", outcome.status.ToString().c_str());
    good = good && outcome.status.ok() && outcome.sent > 0 && outcome.sent == outcome.answers.size();
    sent += outcome.sent;
    answered += outcome.answers.size();
    wrong += outcome.wrong;
    reopened += outcome.reopened;
    for (const Answer& answer : outcome.answers) {
      std::fprintf(file, "%.6f %.3f\n", absl::ToDoubleSeconds(answer.written - absl::UnixEpoch()), answer.milliseconds);
    }
  }
  good = std::fclose(file) == 0 && good && wrong == 0;
  std::printf("{\"sent\": %llu, \"answered\": %llu, \"wrong\": %d, \"reopened\": %d}\n",
              static_cast<unsigned long long>(sent), static_cast<unsigned long long>(answered), wrong, reopened);
  return good ? 0 : 1;
}
