#include "tests/soak/attackers.h"

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

namespace glint::soak {
namespace {

constexpr auto kReloadEvery = std::chrono::milliseconds(250);

}  // namespace

Attackers::Attackers(Victim victim, std::function<void()> reload, Tally* tally)
    : victim_(std::move(victim)), reload_(std::move(reload)), tally_(tally) {}

void Attackers::Start(uint32_t seed) {
  stop_ = false;
  started_ = true;
  for (int i = 0; i < kAttacks; ++i) {
    threads_.emplace_back([this, i, seed] {
      kAttackTable[i].run(victim_, seed + static_cast<uint32_t>(i) * 977u, stop_, &counts_[i], tally_);
    });
  }
  threads_.emplace_back([this] {
    while (!stop_) {
      reload_();
      ++reloads_;
      std::this_thread::sleep_for(kReloadEvery);
    }
  });
}

void Attackers::Stop() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Attackers::Report() {
  if (!started_) return;
  for (int i = 0; i < kAttacks; ++i) {
    const std::atomic<int64_t>& count = counts_[i];
    std::printf("%7lld %s\n", static_cast<long long>(count.load()), kAttackTable[i].name);
    if (count == 0) tally_->Blame(std::string("never: ") + kAttackTable[i].name);
  }
  std::printf("%7lld reloads\n", static_cast<long long>(reloads_.load()));
}

}  // namespace glint::soak
