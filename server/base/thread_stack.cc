#include "server/base/thread_stack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <mutex>

#include "absl/debugging/symbolize.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "server/base/clock.h"

namespace glint {
namespace {

constexpr int kMaxFrames = 32;
constexpr int kOwnFrames = 2;  // the handler, and the kernel's return from it

// Filled by the handler, on the signalled thread.
struct StackAnswer {
  std::atomic<pid_t> asked{0};
  std::atomic<bool> done{false};
  void* frames[kMaxFrames];
  int count = 0;
};
StackAnswer answer;

void NoteStack(int) {
  const int error = errno;
  pid_t self = static_cast<pid_t>(syscall(SYS_gettid));
  // A late handler finds another thread requested, or none.
  if (answer.asked.compare_exchange_strong(self, 0)) {
    answer.count = backtrace(answer.frames, kMaxFrames);
    answer.done = true;
  }
  errno = error;
}

bool InstallHandler() {
  void* frame;
  backtrace(&frame, 1);  // loads what it needs, which a handler must not
  struct sigaction action = {};
  action.sa_handler = NoteStack;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return sigaction(StackSignal(), &action, nullptr) == 0;
}

std::string Describe(void* address) {
  // The address is that of the next instruction: of a call at a function's end it is already another one's.
  void* const call = static_cast<char*>(address) - 1;
  Dl_info where = {};
  std::string text = absl::StrCat("0x", absl::Hex(reinterpret_cast<uintptr_t>(call)));
  if (dladdr(call, &where) != 0 && where.dli_fname != nullptr) {
    const std::string file = where.dli_fname;
    const auto offset = static_cast<char*>(call) - static_cast<char*>(where.dli_fbase);
    text = absl::StrCat(file.substr(file.rfind('/') + 1), "+0x", absl::Hex(offset));
  }
  char symbol[160];
  if (absl::Symbolize(call, symbol, sizeof(symbol))) absl::StrAppend(&text, "(", symbol, ")");
  return text;
}

std::string FirstLineOf(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// proc(5): the state is the first field behind the name, which stands in brackets.
std::string KernelState(pid_t tid) {
  const std::string folder = absl::StrCat("/proc/self/task/", tid, "/");
  const std::string stat = FirstLineOf(folder + "stat");
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos) return "no such thread";
  const std::string wchan = FirstLineOf(folder + "wchan");
  return absl::StrCat("no answer to a signal; state ", stat.substr(name_end + 2, 1),
                      wchan.empty() || wchan == "0" ? "" : absl::StrCat(", in ", wchan));
}

}  // namespace

int StackSignal() { return SIGRTMIN + 3; }

std::string StackOfThread(pid_t tid, absl::Duration timeout) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  static const bool installed = InstallHandler();
  answer.done = false;
  answer.asked = tid;
  if (!installed || syscall(SYS_tgkill, getpid(), tid, StackSignal()) != 0) {
    answer.asked = 0;
    return KernelState(tid);
  }
  const int64_t give_up = MonotonicNs() + absl::ToInt64Nanoseconds(timeout);
  while (!answer.done) {
    pid_t expected = tid;
    // Withdraws the request, unless the handler has begun, which then ends soon.
    if (MonotonicNs() > give_up && answer.asked.compare_exchange_strong(expected, 0)) return KernelState(tid);
    absl::SleepFor(absl::Milliseconds(1));
  }
  std::string text;
  for (int i = std::min(kOwnFrames, answer.count); i < answer.count; ++i) {
    absl::StrAppend(&text, text.empty() ? "" : " < ", Describe(answer.frames[i]));
  }
  return text;
}

}  // namespace glint
