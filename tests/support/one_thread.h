// Child processes whose threads are limited, for tests of what the system refuses.
#ifndef GLINT_TESTS_SUPPORT_ONE_THREAD_H_
#define GLINT_TESTS_SUPPORT_ONE_THREAD_H_

#include <pthread.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace glint {

// Limits the threads of this process's user (RLIMIT_NPROC). The limit does not hold for root, who becomes a user that
// nobody else is. False: that is not permitted.
inline bool LimitThreads(rlim_t most) {
  constexpr uid_t kNobodyElse = 54377;
  const rlimit limit = {most, most};
  if (setrlimit(RLIMIT_NPROC, &limit) != 0) return false;
  return geteuid() != 0 || (setgid(kNobodyElse) == 0 && setuid(kNobodyElse) == 0);
}

// Exit status of a child that cannot be limited: the system does not hold the limit, or does not let it be set.
inline constexpr int kNotLimited = 77;

// The exit status of a child that returns body() and may not have a second thread; minus the signal that ended it.
inline int InOneThread(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    pthread_t second;
    if (!LimitThreads(1) || pthread_create(
                                &second, nullptr, [](void*) -> void* { return nullptr; }, nullptr) == 0) {
      _exit(kNotLimited);
    }
    _exit(body());
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace glint

#endif  // GLINT_TESTS_SUPPORT_ONE_THREAD_H_
