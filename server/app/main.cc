// glint-server: flags -> Options -> Server::Create -> Wait.
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "server/app/reload.h"
#include "server/app/server.h"
#include "server/base/grpc_log.h"
#include "server/base/log.h"
#include "server/base/malloc_tuning.h"
#include "server/base/notify.h"
#include "server/config/flags.h"
#include "server/net/transport.h"
#include "server/rpc/canary.h"

namespace {

constexpr int kExitFailure = 1;  // could not start, lost its device, hangs, or has no memory left
constexpr int kExitUsage = 2;
constexpr int kExitSignal = 128;  // plus the signal's number

// Time after --drain-timeout for cancelled calls to end; later the server is considered hung.
constexpr absl::Duration kLastGrace = absl::Seconds(5);

std::string Mib(int64_t bytes) { return absl::StrCat(bytes >> 20); }

// SIGHUP: reload flags and access rules. First SIGTERM or SIGINT: drain. Second: exit at once.
void HandleSignals(sigset_t signals, glint::Server* server, glint::Reloader* reloader, glint::Logger* logger) {
  for (bool draining = false;;) {
    int signal = 0;
    sigwait(&signals, &signal);
    if (signal == SIGHUP) {
      reloader->Reload();
      server->ReloadAccess().IgnoreError();  // it is logged
      continue;
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

// Ends the process in an orderly way when memory runs out outside of a frame's work. Allocates nothing.
[[noreturn]] void Terminate() {
  glint::StandardErrorWriter().Flush(absl::Seconds(1));
  try {
    if (const std::exception_ptr why = std::current_exception()) std::rethrow_exception(why);
  } catch (const std::bad_alloc&) {
    constexpr char kText[] = "glint-server: out of memory\n";
    (void)!write(STDERR_FILENO, kText, sizeof(kText) - 1);
    _exit(kExitFailure);
  } catch (...) {
  }
  std::abort();
}

// Kills the process if it is still alive after `limit`: a thread that hangs can be neither joined nor ended.
void LeaveAfter(absl::Duration limit, glint::Logger* logger) {
  std::thread([limit, logger] {
    absl::SleepFor(limit);
    logger->Log(glint::Severity::kError, "failed",
                {{"error", absl::StrCat("drain-timeout: frames or threads have not ended ", absl::FormatDuration(limit),
                                        " after the drain began")}});
    logger->Flush();
    _exit(kExitFailure);
  }).detach();
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
  glint::ChoosePolling();

  // Signals are blocked before the first thread starts: all threads inherit this, and one thread waits for them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a map over the limit on files is an error of its stream

  // Never destroyed: threads of gRPC may log until the process ends.
  glint::Logger& logger = *new glint::Logger(flags->options.log_format, &glint::StandardErrorWriter());
  glint::SendGrpcLogTo(&logger);
  std::set_terminate(Terminate);
  glint::Reloader reloader(flags->options, parse, &logger);
  const auto fail = [&logger](const absl::Status& status) {
    logger.Log(glint::Severity::kError, "failed", {{"error", std::string(status.message())}});
    logger.Flush();
    return kExitFailure;
  };
  auto created = glint::Server::Create(std::move(flags->options));
  if (!created.ok()) return fail(created.status());
  glint::Server& server = **created;
  if (absl::Status s = server.Start(); !s.ok()) return fail(s);

  const glint::LaneSet& lanes = server.lanes();
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
              {"usable_memory_mib", Mib(server.usable_memory().bytes)},
              {"memory_source", server.usable_memory().source},
              {"note", lanes.note}});

  std::thread(HandleSignals, signals, &server, &reloader, &logger).detach();
  const glint::ServiceManager manager = glint::ServiceManager::FromEnvironment();
  const auto notify = [&](absl::string_view state) {
    const absl::Status s = glint::Notify(manager.address, state);
    if (!s.ok()) logger.Log(glint::Severity::kWarning, "not notified", {{"reason", std::string(s.message())}});
  };
  auto canary = std::make_unique<glint::Canary>(server.InProcessChannel());
  std::unique_ptr<glint::Watchdog> watchdog;
  if (server.WaitUntilServing(absl::InfiniteDuration())) {
    notify("READY=1");
    watchdog = std::make_unique<glint::Watchdog>(
        manager,
        [&](absl::Duration timeout) {
          const absl::Status lanes = server.lane_health();
          return lanes.ok() ? canary->Send(timeout) : lanes;
        },
        [&logger](const absl::Status& s) {
          logger.Log(glint::Severity::kError, "watchdog not fed", {{"reason", std::string(s.message())}});
        });
  }
  const absl::Status why = server.Wait();
  if (!why.ok()) fail(why);
  LeaveAfter(reloader.drain_timeout() + kLastGrace, &logger);
  notify("STOPPING=1");
  watchdog = nullptr;
  canary = nullptr;
  const absl::Status drained = server.Shutdown(reloader.drain_timeout());
  if (!drained.ok()) {
    logger.Log(glint::Severity::kWarning, "cut off", {{"reason", std::string(drained.message())}});
  }
  if (why.ok()) logger.Log(glint::Severity::kInfo, "stopped");
  logger.Flush();
  std::fflush(nullptr);
  // Exits without destructors: the signal thread may be using what they would destroy.
  _exit(why.ok() ? 0 : kExitFailure);
}
