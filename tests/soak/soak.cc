// glint-soak [SECONDS [CLIENTS [SEED]]]: a glint-server at full load, with clients that change shapes, formats and
// policies, send bad frames, break rules and go away at any moment (60 s, 4 clients, seed 1).
//
// The time is cut into rounds. In three quarters of a round clients also break calls off; in its last quarter they do
// not, and then what they wrote, what they got answered and what the server counted must be the same number. After each
// round, with no client there, the server must have nothing in flight, and as many descriptors as after the first one;
// its memory may not grow in the second half of the run, since until then the heap reaches its height, which is kept;
// nor may the frame path allocate any more then.
// Exit status 1 if anything was wrong.
#include <grpc/grpc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/blackbox/server_process.h"
#include "tests/soak/client.h"
#include "tests/soak/page.h"
#include "tests/soak/watchdog.h"

namespace glint::soak {
namespace {

constexpr double kRoundSeconds = 12;
constexpr double kMayGrow = 1.10;       // resident memory, in the second half
constexpr double kMayGrowBytes = 32e6;  // at least
constexpr double kMayAllocate = 100;    // times, in the second half: the largest frames may still be to come
constexpr int kMoreDescriptors = 2;     // a connection of this program's that the server has not noticed the end of

struct Rest {
  double resident = 0, descriptors = 0, allocations = 0;
};

class Soak {
 public:
  Soak(std::string address, std::string metrics) : address_(std::move(address)), metrics_(std::move(metrics)) {}

  void Run(double seconds, int clients, uint32_t seed) {
    const int rounds = std::max(2, static_cast<int>(seconds / kRoundSeconds + 0.5));
    for (int round = 0; round < rounds; ++round) {
      const double round_seconds = seconds / rounds;
      const uint32_t round_seed = seed * 1000003u + static_cast<uint32_t>(round) * 7919u;
      Load(0.75 * round_seconds, clients, round_seed, true);
      Settle(round);
      const double before = Frames();
      const int64_t written = tally_.written;
      Load(0.25 * round_seconds, clients, round_seed + 1, false);
      const Rest rest = Settle(round);
      const double counted = Frames() - before;
      const double wrote = static_cast<double>(tally_.written - written);
      if (counted != wrote)
        Wrong("round %d: clients wrote %.0f frames, the server counted %.0f", round, wrote, counted);
      std::printf(
          "round %2d: %7.0f frames without cancels, counted on both sides; %5.1f MB resident, %.0f descriptors, %.0f "
          "allocations\n",
          round, counted, rest.resident * 1e-6, rest.descriptors, rest.allocations);
      std::fflush(stdout);
      Compare(round, rounds, rest);
    }
  }

  // True if all was well.
  bool Report() {
    for (const std::string& what : tally_.TakeBlame()) Wrong("%s", what.c_str());
    std::printf(
        "%lld streams (%lld cancelled), %lld broken by the client's fault, %lld calls (%lld with a short deadline)\n"
        "%lld frames sent, %lld answers; of streams not cancelled %lld: %lld ok, %lld bad, %lld dropped\n",
        Number(tally_.streams), Number(tally_.cancelled_streams), Number(tally_.refused_streams), Number(tally_.calls),
        Number(tally_.cancelled_calls), Number(tally_.sent), Number(tally_.answers), Number(tally_.written),
        Number(tally_.ok), Number(tally_.bad), Number(tally_.dropped));
    if (tally_.ok == 0 || tally_.bad == 0 || tally_.dropped == 0) Wrong("some kind of frame never occurred");
    return wrong_ == 0;
  }

 private:
  static long long Number(const std::atomic<int64_t>& value) { return static_cast<long long>(value.load()); }

  template <typename... Args>
  void Wrong(const char* format, Args... args) {
    std::printf("WRONG: ");
    std::printf(format, args...);
    std::printf("\n");
    ++wrong_;
  }

  void Load(double seconds, int clients, uint32_t seed, bool cancels) {
    std::atomic<bool> stop{false};
    std::vector<Doing> doing(static_cast<size_t>(clients));
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; ++i) {
      threads.emplace_back([&, i] {
        const uint32_t own_seed = seed + static_cast<uint32_t>(i) * 131u;
        RunClient(address_, files_, own_seed, cancels, stop, &doing[static_cast<size_t>(i)], &tally_);
      });
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    stop = true;
    const Watchdog watchdog([&] {
      for (const Doing& d : doing) {
        std::printf("a client %s: %lld frames, %lld written, %lld answered\n", d.what.load(), Number(d.frames),
                    Number(d.written), Number(d.answered));
      }
      if (const auto page = Page::Fetch(metrics_); page.has_value()) page->Print("glint_");
    });
    for (std::thread& thread : threads) thread.join();
  }

  // Frames that the server has counted, each exactly once, whatever became of it.
  double Frames() {
    const auto page = Page::Fetch(metrics_);
    return page.has_value() ? page->Sum("glint_frames_total") : -1;
  }

  // Waits until the server has nothing left to do.
  Rest Settle(int round) {
    std::optional<Page> page;
    for (int i = 0; i < 500; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      page = Page::Fetch(metrics_);
      if (page.has_value() && page->Sum("glint_sessions") == 0 && page->Sum("glint_queue_frames") == 0 &&
          page->Sum("glint_lanes_busy") == 0 && page->Sum("glint_frames_in_flight") == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));  // for sockets to be closed
        page = Page::Fetch(metrics_);
        if (!page.has_value()) continue;
        return {page->Sum("process_resident_memory_bytes"), page->Sum("process_open_fds"),
                page->Sum("glint_frame_path_allocations_total")};
      }
    }
    Wrong("round %d: the server does not come to rest", round);
    return {};
  }

  void Compare(int round, int rounds, const Rest& rest) {
    if (round == 0) first_ = rest;
    if (round == rounds / 2) half_ = rest;
    if (rest.descriptors > first_.descriptors + kMoreDescriptors) {
      Wrong("round %d: %.0f descriptors, after the first round %.0f", round, rest.descriptors, first_.descriptors);
    }
    if (round > rounds / 2 && rest.resident > std::max(kMayGrow * half_.resident, half_.resident + kMayGrowBytes)) {
      Wrong("round %d: %.0f bytes resident, at half time %.0f", round, rest.resident, half_.resident);
    }
    if (round > rounds / 2 && rest.allocations > half_.allocations + kMayAllocate) {
      Wrong("round %d: %.0f allocations on the frame path, at half time %.0f", round, rest.allocations,
            half_.allocations);
    }
  }

  const std::string address_, metrics_;
  const Files files_;
  Tally tally_;
  Rest first_, half_;
  int wrong_ = 0;
};

int Main(double seconds, int clients, uint32_t seed) {
  grpc_init();  // never given back: gRPC would wait for its sockets at the end of each channel
  const std::string metrics = "127.0.0.1:" + std::to_string(20000 + getpid() % 20000);
  testing::ServerProcess server({"--lanes=2", "--metrics-listen=" + metrics, "--queue-capacity=8"});
  if (server.address().empty()) {
    std::printf("glint-server does not start: %s\n", server.LogToEnd().c_str());
    return 1;
  }
  std::thread log([&server] { server.LogToEnd(); });  // or the server would wait for a reader
  Soak soak(server.address(), metrics);
  soak.Run(seconds, clients, seed);
  bool good = soak.Report();
  server.Signal(SIGTERM);
  const Watchdog watchdog([] { std::printf("the server has not ended\n"); });
  const int code = server.Join();
  if (code != 0) std::printf("WRONG: the server ended with %d\n", code);
  log.join();
  good = good && code == 0;
  std::printf(good ? "all well\n" : "NOT well\n");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace glint::soak

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 60;
  const int clients = argc > 2 ? std::atoi(argv[2]) : 4;
  const uint32_t seed = argc > 3 ? static_cast<uint32_t>(std::atoi(argv[3])) : 1;
  if (seconds <= 0 || clients < 1) {
    std::fprintf(stderr, "usage: glint-soak [SECONDS [CLIENTS [SEED]]]\n");
    return 2;
  }
  return glint::soak::Main(seconds, clients, seed);
}
