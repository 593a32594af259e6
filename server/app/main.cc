// glint-server: flags -> Options -> Server::Create -> Wait.
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "features/error.h"
#include "features/thread.h"
#include "server/app/reload.h"
#include "server/app/server.h"
#include "server/base/grpc_log.h"
#include "server/base/log.h"
#include "server/base/malloc_tuning.h"
#include "server/base/notify.h"
#include "server/base/spare_threads.h"
#include "server/config/flags.h"
#include "server/net/transport.h"
#include "server/rpc/canary.h"

namespace {

constexpr int kExitFailure = 1;  // could not start, lost its device, hangs, or has no memory or threads left
constexpr int kExitUsage = 2;
constexpr int kExitSignal = 128;  // plus the signal's number

// Time after --drain-timeout for cancelled calls to end; later the server is considered hung.
constexpr absl::Duration kLastGrace = absl::Seconds(5);

// Threads that gRPC 1.51 may want and not get: some where it starts, some for timers and closures later.
constexpr int kSpareThreads = 12;

// Files and sockets that the start takes, and a few clients.
constexpr int kDescriptors = 24;

// gRPC 1.51 aborts where it has none to begin with, or serves nobody. RESOURCE_EXHAUSTED names the limit.
absl::Status CheckDescriptors() {
  std::vector<int> opened;
  for (int fd = 0; static_cast<int>(opened.size()) < kDescriptors && (fd = eventfd(0, EFD_CLOEXEC)) >= 0;) {
    opened.push_back(fd);
  }
  const int why = errno;
  for (const int fd : opened) close(fd);
  rlimit limit = {};
  if (static_cast<int>(opened.size()) == kDescriptors || getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::OkStatus();
  return glint::ExhaustedError(
      "listen",
      absl::StrCat(strerror(why), ": of ", kDescriptors, " descriptors that the start needs there are ", opened.size(),
                   "; RLIMIT_NOFILE is ", limit.rlim_cur, ": raise it (ulimit -n, LimitNOFILE=, --ulimit nofile=)"),
      absl::StrCat(limit.rlim_cur), "");
}

std::string Mib(int64_t bytes) { return absl::StrCat(bytes >> 20); }

absl::Duration TimeToEnd(const glint::Reloader& reloader) { return reloader.drain_timeout() + kLastGrace; }

// SIGHUP: reload flags and access rules. First SIGTERM or SIGINT: drain. Second: exit at once. SIGALRM: what should
// have ended hangs, and a thread that hangs can be neither joined nor ended: exit.
void HandleSignals(sigset_t signals, glint::Server* server, glint::Reloader* reloader, glint::Logger* logger) {
  for (bool draining = false;;) {
    int signal = 0;
    sigwait(&signals, &signal);
    if (signal == SIGHUP) {
      reloader->Reload();
      server->ReloadAccess().IgnoreError();  // it is logged
      continue;
    }
    if (signal == SIGALRM) {
      logger->Log(glint::Severity::kError, "failed",
                  {{"error", absl::StrCat("drain-timeout: frames or threads have not ended ",
                                          absl::FormatDuration(TimeToEnd(*reloader)), " after the drain began")}});
      logger->Flush();
      _exit(kExitFailure);
    }
    if (draining) {
      logger->Flush();
      _exit(kExitSignal + signal);
    }
    draining = true;
    logger->Log(glint::Severity::kInfo, "draining", {{"signal", strsignal(signal)}});
    server->RequestShutdown();
  }
}

// Ends the process in an orderly way when memory runs out outside of a frame's work, for which it allocates nothing, or
// a thread cannot be made.
[[noreturn]] void Terminate() {
  glint::StandardErrorWriter().Flush(absl::Seconds(1));
  try {
    if (const std::exception_ptr why = std::current_exception()) std::rethrow_exception(why);
  } catch (const std::bad_alloc&) {
    constexpr char kText[] = "glint-server: out of memory\n";
    (void)!write(STDERR_FILENO, kText, sizeof(kText) - 1);
    _exit(kExitFailure);
  } catch (const std::system_error& refused) {
    if (refused.code() == std::errc::resource_unavailable_try_again) {
      std::fprintf(stderr, "glint-server: %s\n", std::string(glint::ThreadError("server").message()).c_str());
      _exit(kExitFailure);
    }
  } catch (const std::exception& other) {
    std::fprintf(stderr, "glint-server: %s\n", other.what());
  } catch (...) {
  }
  std::abort();
}

// SIGALRM comes after `limit` > 0.
void LeaveAfter(absl::Duration limit) {
  itimerval timer = {};
  timer.it_value = absl::ToTimeval(limit);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  const auto parse = [arguments = std::vector<std::string>(argv + 1, argv + argc)] {
    return glint::ParseFlags(arguments, [](const char* name) { return static_cast<const char*>(std::getenv(name)); });
  };
  auto flags = parse();
  if (!flags.ok()) {
    std::fprintf(stderr, "glint-server: %s\n", std::string(flags.status().message()).c_str());
    return kExitUsage;
  }
  if (flags->help || flags->version) {
    std::fputs(flags->help ? glint::FlagsHelp().c_str() : absl::StrCat(glint::ServerVersion(), "\n").c_str(), stdout);
    return 0;
  }
  glint::TuneMalloc();
  glint::ChoosePolling(flags->options.connections.max_connections);

  // Signals are blocked before the first thread starts: all threads inherit this, and one thread waits for them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  sigaddset(&signals, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a map over the limit on files is an error of its stream

  std::set_terminate(Terminate);
  if (auto log = glint::WithThreads("log", [] { return &glint::StandardErrorWriter(); }); !log.ok()) {
    std::fprintf(stderr, "glint-server: %s\n", std::string(log.status().message()).c_str());
    return kExitFailure;
  }
  // Never destroyed: threads of gRPC may log until the process ends.
  glint::Logger& logger = *new glint::Logger(flags->options.log_format, &glint::StandardErrorWriter());
  glint::SendGrpcLogTo(&logger);
  glint::Reloader reloader(flags->options, parse, &logger);
  const auto fail = [&logger](const absl::Status& status) {
    logger.Log(glint::Severity::kError, "failed", {{"error", std::string(status.message())}});
    logger.Flush();
    return kExitFailure;
  };
  if (absl::Status s = CheckDescriptors(); !s.ok()) return fail(s);
  auto created = glint::Server::Create(std::move(flags->options));
  if (!created.ok()) return fail(created.status());
  glint::Server& server = **created;
  // Before gRPC makes its first thread.
  std::atomic<bool> lacks_threads{false};
  auto made_threads = glint::SpareThreads::Create(kSpareThreads, [&] {
    lacks_threads = true;
    fail(glint::ThreadError("grpc"));
    server.RequestShutdown();
  });
  if (!made_threads.ok()) return fail(made_threads.status());
  glint::SpareThreads* const spare_threads = made_threads->release();  // gRPC may have them until the process ends
  glint::SetSpareThreads(spare_threads);
  if (absl::Status s = server.Start(); !s.ok()) return fail(s);
  if (spare_threads->exhausted()) {
    fail(glint::ThreadError("grpc"));
    _exit(kExitFailure);  // without gRPC's help
  }

  auto signal_thread = glint::StartThread(
      "signals", [signals, &server, &reloader, &logger] { HandleSignals(signals, &server, &reloader, &logger); });
  if (!signal_thread.ok()) return fail(signal_thread.status());
  signal_thread->detach();

  const glint::LaneSet& lanes = server.lanes();
  const glint::UsableMachine& machine = server.machine();
  if (!server.memory_excess().empty()) {
    logger.Log(glint::Severity::kWarning, "more memory allowed than there is", {{"reason", server.memory_excess()}});
  }
  logger.Log(glint::Severity::kInfo, "serving",
             {{"version", glint::ServerVersion()},
              {"backend", lanes.backend == glint::Backend::kCuda ? "cuda" : "cpu"},
              {"device", lanes.device},
              {"lanes", absl::StrCat(lanes.lanes.size())},
              {"simd", lanes.simd},
              {"listen", absl::StrJoin(server.addresses(), ",")},
              {"metrics", server.metrics_address()},
              {"memory_bound_mib", Mib(server.memory_bound_bytes())},
              {"usable_memory_mib", Mib(machine.memory.bytes)},
              {"memory_source", machine.memory.source},
              {"processors", absl::StrCat(machine.processors.share)},
              {"processors_source", machine.processors.source},
              {"threads_limit", absl::StrCat(machine.threads.most)},
              {"threads_source", machine.threads.source},
              {"note", lanes.note}});

  const glint::ServiceManager manager = glint::ServiceManager::FromEnvironment();
  const auto notify = [&](absl::string_view state) {
    const absl::Status s = glint::Notify(manager.address, state);
    if (!s.ok()) logger.Log(glint::Severity::kWarning, "not notified", {{"reason", std::string(s.message())}});
  };
  auto canary = std::make_unique<glint::Canary>(server.InProcessChannel());
  std::unique_ptr<glint::Watchdog> watchdog;
  if (server.WaitUntilServing(absl::InfiniteDuration())) {
    const auto probe = [&](absl::Duration timeout) {
      const absl::Status lanes = server.lane_health();
      return lanes.ok() ? canary->Send(timeout) : lanes;
    };
    const auto failed = [&logger](const absl::Status& s) {
      logger.Log(glint::Severity::kError, "watchdog not fed", {{"reason", std::string(s.message())}});
    };
    auto made =
        glint::WithThreads("watchdog", [&] { return std::make_unique<glint::Watchdog>(manager, probe, failed); });
    if (!made.ok()) return fail(made.status());
    watchdog = *std::move(made);
    notify("READY=1");
  }
  const absl::Status why = server.Wait();
  if (!why.ok()) fail(why);
  LeaveAfter(TimeToEnd(reloader));
  notify("STOPPING=1");
  watchdog = nullptr;
  canary = nullptr;
  const absl::Status drained = server.Shutdown(reloader.drain_timeout());
  if (!drained.ok()) {
    logger.Log(glint::Severity::kWarning, "cut off", {{"reason", std::string(drained.message())}});
  }
  const bool good = why.ok() && !lacks_threads;
  if (good) logger.Log(glint::Severity::kInfo, "stopped");
  logger.Flush();
  std::fflush(nullptr);
  // Exits without destructors: the signal thread may be using what they would destroy.
  _exit(good ? 0 : kExitFailure);
}
