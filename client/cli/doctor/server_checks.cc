// What the machine lets a server of the given options have.
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/doctor/machine.h"
#include "client/client.h"
#include "features/system_limits.h"
#include "sensors/sysfs.h"
#include "server/base/usable_memory.h"
#include "server/memory/memory_bound.h"
#include "server/net/listen.h"

namespace glint::cli {
namespace {

std::string Mebibytes(int64_t bytes) { return absl::StrCat(bytes >> 20, " MiB"); }

// Bytes of a line of /proc/meminfo; -1: it is not there.
int64_t MeminfoBytes(const Machine& machine, absl::string_view name) {
  std::ifstream in(machine.root + "/proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    absl::string_view text = line;
    long long kib = 0;
    if (absl::ConsumePrefix(&text, name) && absl::ConsumePrefix(&text, ":") &&
        std::sscanf(std::string(text).c_str(), "%lld", &kib) == 1) {
      return absl::EndsWith(text, "kB") ? int64_t{kib} << 10 : kib;
    }
  }
  return -1;
}

// A control group's folder can have the names of users and containers: its file alone.
std::string WithoutFolder(const std::string& source) { return source.substr(source.rfind('/') + 1); }

// The threads that docs/server.md ("Processors and threads") counts for every server.
int64_t FewestThreads(const ServerOptions& options, int lanes) {
  constexpr int kBesideLanes = 5 + 2 + 14;
  return kBesideLanes + int64_t{lanes} * (1 + 5 * (options.lanes.threads_per_lane - 1));
}

// "port 50051", which names nobody.
std::string PortOf(const std::string& address) {
  if (IsUnixAddress(address)) return "a unix socket";
  return absl::EndsWith(address, ":0") ? "any port" : absl::StrCat("port ", address.substr(address.rfind(':') + 1));
}

bool GlintAnswers(const std::string& address) {
  client::ClientOptions options;
  options.connect_timeout = absl::Seconds(1);
  const auto client = client::Client::Connect(address, options);
  return client.ok() && client->GetServerInfo(absl::Seconds(1)).ok();
}

}  // namespace

Finding CheckServer(const Machine& machine) {
  if (!machine.server.ok()) {
    return {State::kWrong, "", "a server with these flags cannot be made",
            "change the flag, after -- or in the environment", std::string(machine.server.status().message())};
  }
  const LaneSet& lanes = (*machine.server)->lanes();
  return {State::kOk, absl::StrCat(lanes.lanes.size(), " lanes on ", lanes.device, ", ", lanes.simd)};
}

Finding CheckMemory(const Machine& machine) {
  if (!machine.server.ok()) return {State::kAbsent, "no server, no bound"};
  const Server& server = **machine.server;
  const int64_t bound = server.memory_bound_bytes();
  UsableMemory usable = FindUsableMemory(machine.root, std::max<int64_t>(0, MeminfoBytes(machine, "MemTotal")));
  usable.source = WithoutFolder(usable.source);
  const int64_t free = MeminfoBytes(machine, "MemAvailable");
  const std::string figure = absl::StrCat("bound ", Mebibytes(bound), ", allowed ", Mebibytes(usable.bytes), " (",
                                          usable.source, "), free ", free < 0 ? "unknown" : Mebibytes(free));
  if (bound > usable.bytes) {
    return {State::kWrong, figure, MemoryExcess(machine.options, LanesToBound(server.lanes()), usable),
            "lower these flags to what your cameras need (docs/server.md, Memory), or give it more memory"};
  }
  if (free >= 0 && bound > free) {
    return {State::kNote, figure, "less memory is free than the flags allow the server to take",
            "end other programs, or lower the flags (docs/server.md, Memory)"};
  }
  return {State::kOk, figure};
}

Finding CheckProcessors(const Machine& machine) {
  const UsableProcessors found = FindUsableProcessors(machine.root);
  const std::string figure = absl::StrCat(found.share, " by ", WithoutFolder(found.source));
  if (found.share >= 1) return {State::kOk, figure};
  return {State::kNote, figure, "less than one processor: frames wait for the next period of the quota",
          "docker run --cpus=1, limits.cpu: 1 or CPUQuota=100%, at least"};
}

Finding CheckThreads(const Machine& machine) {
  if (!machine.server.ok()) return {State::kAbsent, "no server, no threads"};
  const ThreadLimit limit = FindThreadLimit(machine.root);
  if (limit.most == std::numeric_limits<int64_t>::max()) return {State::kOk, "no limit"};
  const auto lanes = static_cast<int>((*machine.server)->lanes().lanes.size());
  const int64_t needed = FewestThreads(machine.options, lanes);
  const std::string figure =
      absl::StrCat("at most ", limit.most, " by ", WithoutFolder(limit.source),
                   limit.in_use < 0 ? "" : absl::StrCat(", ", limit.in_use, " in use"), "; needs ", needed);
  if (limit.most - std::max<int64_t>(0, limit.in_use) >= needed) return {State::kOk, figure};
  return {State::kWrong, figure, "the server needs more threads than it may make",
          "docker run --pids-limit, podPidsLimit, TasksMax= or ulimit -u; or fewer --lanes"};
}

Finding CheckSharedMemory(const Machine& machine) {
  struct statvfs shm = {};
  const bool mounted = statvfs((machine.root + "/dev/shm").c_str(), &shm) == 0;
  const std::string figure = absl::StrCat(
      "memfd works; /dev/shm, which is not used: ",
      mounted ? Mebibytes(static_cast<int64_t>(shm.f_blocks) * static_cast<int64_t>(shm.f_frsize)) : "none");
  const int fd = memfd_create("glint-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const bool works = fd >= 0 && ftruncate(fd, sysconf(_SC_PAGESIZE)) == 0;
  if (fd >= 0) close(fd);
  if (works) return {State::kOk, figure};
  return {State::kNote, "memfd does not work", "clients cannot share memory with the server: pixels are sent",
          "allow memfd_create in the container's seccomp profile"};
}

Finding CheckHugePages(const Machine& machine) {
  const std::string transparent =
      ReadLine(machine.root + "/sys/kernel/mm/transparent_hugepage/enabled").value_or("unknown");
  const int64_t pages = std::max<int64_t>(0, MeminfoBytes(machine, "HugePages_Total"));
  const int64_t reserved = pages * std::max<int64_t>(0, MeminfoBytes(machine, "Hugepagesize"));
  const std::string figure = absl::StrCat("transparent: ", transparent, "; reserved: ", Mebibytes(reserved));
  if (reserved == 0) return {State::kOk, figure};
  return {State::kNote, figure, "Glint asks for none, so what is reserved for them is lost to it",
          "sudo sysctl vm.nr_hugepages=0, unless another program needs them"};
}

Finding CheckPorts(const Machine& machine) {
  std::vector<std::string> addresses = machine.options.listen;
  if (!machine.options.metrics_listen.empty()) addresses.push_back(machine.options.metrics_listen);
  std::string all, taken, why;
  for (const std::string& address : addresses) {
    absl::StrAppend(&all, all.empty() ? "" : ", ", PortOf(address));
    if (absl::EndsWith(address, ":0")) continue;
    const absl::Status free = CheckCanListen(address);
    if (free.ok()) continue;
    absl::StrAppend(&taken, taken.empty() ? "" : ", ", PortOf(address));
    absl::StrAppend(&why, why.empty() ? "" : "; ", free.message());
  }
  if (taken.empty()) return {State::kOk, all + " can be had"};
  const auto& listen = machine.options.listen;
  if (std::any_of(listen.begin(), listen.end(), GlintAnswers)) {
    return {State::kNote, taken, "a Glint server runs here already", "glint info", why};
  }
  return {State::kWrong, taken, "cannot be listened on",
          "ss -ltnp shows who listens; choose others by --listen and --metrics-listen", why};
}

}  // namespace glint::cli
