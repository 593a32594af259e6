// glint-soak [--hostile] [--faults] [--cuda] [SECONDS [CLIENTS [SEED]]]: a glint-server at full load, with clients that
// change shapes, formats and policies, send bad frames, break rules and go away at any moment (60 s, 4 clients, seed
// 1).
//
// --hostile: beside them, those of attacks.h, and reloads; at the end the server is stopped in the midst of it all.
// --faults: lanes to which memory, and CUDA calls, fail (tests/server/faulty_lanes.cc).
// --cuda: on the GPU; skipped where there is none.
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
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/blackbox/server_process.h"
#include "tests/soak/attackers.h"
#include "tests/soak/client.h"
#include "tests/soak/page.h"
#include "tests/soak/watchdog.h"

namespace glint::soak {
namespace {

constexpr double kRoundSeconds = 12;
constexpr double kMayGrow = 1.10;        // resident memory, in the second half
constexpr double kMayGrowBytes = 64e6;   // at least: heaps of threads
constexpr double kMayFillBytes = 192e6;  // ... as long as these still fill up with what maps had: 16 heaps of 12 MB
constexpr double kFillSeconds = 600;
constexpr double kMayAllocate = 100;         // times, in the second half: the largest frames may still be to come
constexpr int kMoreThreads = 4;              // gRPC's own come and go
constexpr int kMoreThreadsPerProcessor = 2;  // ... and as many stay, once they were needed
constexpr int kQuietPolls = 40;              // in a row, of 20 ms: then nothing is on its way to the server any more
constexpr int64_t kStreamsForOneCut = 2000;  // a good deal more often than in docs/reliability.md
constexpr int kMoreDescriptors = 2;  // a connection of this program's that the server has not noticed the end of

struct Mode {
  bool hostile = false, faults = false, cuda = false;
};

struct Rest {
  double resident = 0, descriptors = 0, threads = 0, allocations = 0;
};

class Soak {
 public:
  Soak(const Victim& victim, const Mode& mode, testing::ServerProcess* server)
      : address_(victim.address),
        metrics_(victim.metrics),
        mode_(mode),
        attackers_(
            victim, [server] { server->Signal(SIGHUP); }, &tally_) {}

  void Run(double seconds, int clients, uint32_t seed) {
    const int rounds = std::max(2, static_cast<int>(seconds / kRoundSeconds + 0.5));
    for (int round = 0; round < rounds; ++round) {
      const double round_seconds = seconds / rounds;
      const uint32_t round_seed = seed * 1000003u + static_cast<uint32_t>(round) * 7919u;
      if (mode_.hostile) attackers_.Start(round_seed);
      Load(0.75 * round_seconds, clients, round_seed, true);
      attackers_.Stop();
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
          "threads, %.0f allocations\n",
          round, counted, rest.resident * 1e-6, rest.descriptors, rest.threads, rest.allocations);
      std::fflush(stdout);
      Compare(round, rounds, rest);
    }
  }

  // Sends `server` SIGTERM amidst all clients and attackers. Its exit status.
  int Drain(testing::ServerProcess* server, int clients, uint32_t seed) {
    tally_.forgiving = true;
    attackers_.Start(seed);
    std::atomic<bool> stop{false};
    std::vector<Doing> doing(static_cast<size_t>(clients));
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; ++i) {
      threads.emplace_back([&, i] {
        RunClient(address_, files_, seed + static_cast<uint32_t>(i), {true, mode_.faults}, stop,
                  &doing[static_cast<size_t>(i)], &tally_);
      });
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));
    server->Signal(SIGTERM);
    int code = 0;
    {
      const Watchdog watchdog([] { std::printf("the server has not ended\n"); });
      code = server->Join();
      stop = true;
      attackers_.Stop();
      for (std::thread& thread : threads) thread.join();
    }
    tally_.forgiving = false;
    return code;
  }

  // True if all was well.
  bool Report() {
    attackers_.Report();
    for (const std::string& what : tally_.TakeBlame()) Wrong("%s", what.c_str());
    std::printf(
        "%lld streams (%lld cancelled), %lld broken by the client's fault, %lld calls (%lld with a short deadline)\n"
        "%lld cut by gRPC, of those that said that they were done before all was answered\n"
        "%lld frames sent, %lld answers; of streams not cancelled %lld: %lld ok, %lld bad, %lld dropped\n",
        Number(tally_.streams), Number(tally_.cancelled_streams), Number(tally_.refused_streams), Number(tally_.calls),
        Number(tally_.cancelled_calls), Number(tally_.cut_streams), Number(tally_.sent), Number(tally_.answers),
        Number(tally_.written), Number(tally_.ok), Number(tally_.bad), Number(tally_.dropped));
    if (tally_.cut_streams > 1 + tally_.streams / kStreamsForOneCut) Wrong("too many streams were cut");
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
        RunClient(address_, files_, own_seed, {cancels, mode_.faults}, stop, &doing[static_cast<size_t>(i)], &tally_);
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

  // Whether bytes lie in the server's TCP sockets that it has not read yet: a starved one may be seconds behind.
  bool HasUnread() const {
    const auto port = static_cast<unsigned>(std::stoi(address_.substr(address_.rfind(':') + 1)));
    std::ifstream table("/proc/net/tcp");
    for (std::string line; std::getline(table, line);) {
      unsigned local = 0, state = 0, unread = 0;
      constexpr unsigned kListens = 10;
      if (std::sscanf(line.c_str(), " %*d: %*x:%x %*x:%*x %x %*x:%x", &local, &state, &unread) != 3) continue;
      if (local == port && state != kListens && unread > 0) return true;
    }
    return false;
  }

  // Waits until the server has nothing left to do, and gets nothing more: frames of clients that were killed or broke
  // off may still lie in their sockets.
  Rest Settle(int round) {
    double frames = -1;
    int quiet = 0;
    for (int i = 0; i < 1500; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const auto page = Page::Fetch(metrics_);
      if (!page.has_value()) continue;
      const bool rests = !HasUnread() && page->Sum("glint_sessions") == 0 && page->Sum("glint_queue_frames") == 0 &&
                         page->Sum("glint_lanes_busy") == 0 && page->Sum("glint_frames_in_flight") == 0;
      quiet = rests && page->Sum("glint_frames_total") == frames ? quiet + 1 : 0;
      frames = page->Sum("glint_frames_total");
      if (quiet < kQuietPolls) continue;
      return {page->Sum("process_resident_memory_bytes"), page->Sum("process_open_fds"), page->Sum("process_threads"),
              page->Sum("glint_frame_path_allocations_total")};
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
    const bool fills = rounds * kRoundSeconds < kFillSeconds;
    const double all_threads = kMoreThreadsPerProcessor * std::thread::hardware_concurrency();
    if (rest.threads > first_.threads + kMoreThreads + all_threads ||
        (!fills && round > rounds / 2 && rest.threads > half_.threads + kMoreThreads)) {
      Wrong("round %d: %.0f threads, after the first round %.0f", round, rest.threads, first_.threads);
    }
    const double more = fills ? kMayFillBytes : kMayGrowBytes;
    if (round > rounds / 2 && rest.resident > std::max(kMayGrow * half_.resident, half_.resident + more)) {
      Wrong("round %d: %.0f bytes resident, at half time %.0f", round, rest.resident, half_.resident);
    }
    // A lane on a GPU makes a plan for settings that it has not had lately, and here most are new.
    if (!mode_.cuda && round > rounds / 2 && rest.allocations > half_.allocations + kMayAllocate) {
      Wrong("round %d: %.0f allocations on the frame path, at half time %.0f", round, rest.allocations,
            half_.allocations);
    }
  }

  const std::string address_, metrics_;
  const Mode mode_;
  const Files files_;
  Tally tally_;
  Attackers attackers_;
  Rest first_, half_;
  int wrong_ = 0;
};

// Nobody is refused for want of a place. The limits of a frame are those of the largest that clients send: so many
// places are to fit into memory. With attackers, silence is ended soon.
std::vector<std::string> PlaceFlags(int clients) {
  const std::string all = std::to_string(clients);
  return {"--max-sessions=" + all,        "--max-sessions-per-peer=" + all, "--max-detect-calls=" + all,
          "--max-track-streams=" + all,   "--max-localize-streams=" + all,  "--max-track-pixels=65536",
          "--max-localize-pixels=131072", "--max-map-bytes=16777216",       "--max-image-pixels=1048576",
          "--max-message-bytes=4194304",  "--max-pending-bytes=67108864",   "--max-features=2000"};
}
std::vector<std::string> HostileFlags(const std::string& unix_path) {
  return {"--listen=127.0.0.1:0",     "--listen=unix:" + unix_path,
          "--shared-memory",          "--stream-first-message-timeout=2s",
          "--stream-idle-timeout=3s", "--detect-receive-timeout=2s",
          "--small-call-timeout=2s",  "--drain-timeout=5s"};
}

int Main(double seconds, int clients, uint32_t seed, const Mode& mode) {
  grpc_init();  // never given back: gRPC would wait for its sockets at the end of each channel
  Victim victim;
  victim.unix_path = "/tmp/glint-soak-" + std::to_string(getpid()) + ".sock";
  std::vector<std::string> flags = {"--lanes=2", "--metrics-listen=127.0.0.1:0", "--queue-capacity=8"};
  constexpr int kAttackersPlaces = 64, kMorePlaces = 16;
  for (const std::string& flag : PlaceFlags(clients + (mode.hostile ? kAttackersPlaces : 0) + kMorePlaces)) {
    flags.push_back(flag);
  }
  if (mode.hostile) {
    for (const std::string& flag : HostileFlags(victim.unix_path)) flags.push_back(flag);
  }
  if (mode.cuda) flags.push_back("--backend=cuda");
  if (mode.faults) setenv("GLINT_SERVER_TOOL", GLINT_FAULTY_SERVER, 1);
  testing::ServerProcess server(flags);
  if (server.address().empty()) {
    const std::string why = server.LogToEnd();
    const bool skipped = mode.cuda && why.find("no usable CUDA device") != std::string::npos;
    std::printf("%s: %s\n", skipped ? "GLINT_SKIP_ALL" : "glint-server does not start", why.c_str());
    return skipped ? 0 : 1;
  }
  std::thread log([&server] { server.LogToEnd(); });  // or the server would wait for a reader
  victim.address = server.address();
  victim.metrics = server.metrics_address();
  Soak soak(victim, mode, &server);
  soak.Run(seconds, clients, seed);
  int code = 0;
  if (mode.hostile) {
    code = soak.Drain(&server, clients, seed);
  } else {
    server.Signal(SIGTERM);
    const Watchdog watchdog([] { std::printf("the server has not ended\n"); });
    code = server.Join();
  }
  bool good = soak.Report();
  if (code != 0) std::printf("WRONG: the server ended with %d\n", code);
  log.join();
  good = good && code == 0;
  std::printf(good ? "all well\n" : "NOT well\n");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace glint::soak

int main(int argc, char** argv) {
  std::vector<std::string> numbers;
  glint::soak::Mode mode;
  bool client = false, good = true;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--hostile") {
      mode.hostile = true;
    } else if (argument == "--faults") {
      mode.faults = true;
    } else if (argument == "--cuda") {
      mode.cuda = true;
    } else if (argument == "--client") {
      client = true;
    } else {
      good = good && argument.compare(0, 2, "--") != 0;
      numbers.push_back(argument);
    }
  }
  if (client && numbers.size() == 2) {  // what attacks.h starts
    return glint::soak::RunKilledClient(numbers[0], static_cast<uint32_t>(std::atoi(numbers[1].c_str())));
  }
  const double seconds = !numbers.empty() ? std::atof(numbers[0].c_str()) : 60;
  const int clients = numbers.size() > 1 ? std::atoi(numbers[1].c_str()) : 4;
  const uint32_t seed = numbers.size() > 2 ? static_cast<uint32_t>(std::atoi(numbers[2].c_str())) : 1;
  if (!good || client || numbers.size() > 3 || seconds <= 0 || clients < 1) {
    std::fprintf(stderr, "usage: glint-soak [--hostile] [--faults] [--cuda] [SECONDS [CLIENTS [SEED]]]\n");
    return 2;
  }
  return glint::soak::Main(seconds, clients, seed, mode);
}
