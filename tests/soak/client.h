// A client that behaves in every way that clients do, and holds the server to its word.
#ifndef GLINT_TESTS_SOAK_CLIENT_H_
#define GLINT_TESTS_SOAK_CLIENT_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "tests/soak/frames.h"

namespace glint::soak {

// What all clients did together. Thread-safe.
struct Tally {
  std::atomic<int64_t> streams{0}, cancelled_streams{0}, refused_streams{0}, calls{0}, cancelled_calls{0};
  // Of those that say that they are done before all is answered: gRPC 1.51 ends a few (docs/reliability.md).
  std::atomic<int64_t> cut_streams{0};
  // Of streams and calls that were not cancelled: frames written, and how they were answered.
  std::atomic<int64_t> written{0}, ok{0}, bad{0}, dropped{0};
  // Of all.
  std::atomic<int64_t> sent{0}, answers{0};

  // While true, nothing is blamed: the server is being stopped.
  std::atomic<bool> forgiving{false};

  void Blame(const std::string& what);
  std::vector<std::string> TakeBlame();

 private:
  std::mutex mutex_;
  std::vector<std::string> blame_;  // what went wrong, up to a limit
};

// What a client is in the middle of, for who wonders why it does not end. Thread-safe.
struct Doing {
  std::atomic<const char*> what{"nothing"};
  std::atomic<int64_t> frames{0}, written{0}, answered{0};  // of its present stream
};

struct Habits {
  bool cancels = false;  // single calls, too, and some of both are broken off
  bool faults = false;   // the server's lanes fail at times: a good frame may be refused for want of memory
};

// Opens streams at `address`, one after the other, until `stop`.
void RunClient(const std::string& address, const Files& files, uint32_t seed, const Habits& habits,
               const std::atomic<bool>& stop, Doing* doing, Tally* tally);

}  // namespace glint::soak

#endif  // GLINT_TESTS_SOAK_CLIENT_H_
