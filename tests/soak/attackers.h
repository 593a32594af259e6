// All attacks of attacks.h at once, each on a thread of its own, and reloads.
#ifndef GLINT_TESTS_SOAK_ATTACKERS_H_
#define GLINT_TESTS_SOAK_ATTACKERS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "tests/soak/attacks.h"

namespace glint::soak {

class Attackers {
 public:
  // `reload` makes the server read its flags again. What the server must not do is blamed in `tally`.
  Attackers(Victim victim, std::function<void()> reload, Tally* tally);
  ~Attackers() { Stop(); }
  Attackers(const Attackers&) = delete;
  Attackers& operator=(const Attackers&) = delete;

  void Start(uint32_t seed);
  // Waits until all are gone.
  void Stop();
  // How often each attack was made; one that never was, after a start, is blamed.
  void Report();

 private:
  const Victim victim_;
  const std::function<void()> reload_;
  Tally* const tally_;
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> counts_[kAttacks] = {};
  std::atomic<int64_t> reloads_{0};
  bool started_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace glint::soak

#endif  // GLINT_TESTS_SOAK_ATTACKERS_H_
