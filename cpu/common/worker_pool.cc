#include "cpu/common/worker_pool.h"

namespace glint::cpu {
namespace {

constexpr uint64_t kOpen = uint64_t{1} << 31;
constexpr uint64_t kInside = kOpen - 1;
constexpr int kSpins = 200;  // yields before sleeping, of the order of 100 us

}  // namespace

WorkerPool::WorkerPool(int threads) {
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { Work(i); });
  } catch (...) {
    End();
    throw;
  }
}

WorkerPool::~WorkerPool() { End(); }

void WorkerPool::End() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void WorkerPool::Run(int count, Call call, void* context) {
  call_ = call;
  context_ = context;
  count_ = count;
  next_ = 0;
  const uint64_t run = (gate_.load() >> 32) + 1;
  gate_ = run << 32 | kOpen;
  if (sleepers_ > 0) {
    { const std::lock_guard<std::mutex> lock(mutex_); }  // a worker about to sleep has seen the gate, or sleeps by now
    wake_.notify_all();
  }
  TakeTasks(0);
  gate_.fetch_and(~kOpen);
  while ((gate_.load() & kInside) != 0) std::this_thread::yield();
}

void WorkerPool::TakeTasks(int worker) {
  for (int i = next_.fetch_add(1); i < count_; i = next_.fetch_add(1)) call_(context_, i, worker);
}

void WorkerPool::Work(int worker) {
  uint64_t last_run = 0;
  const auto is_new = [&](uint64_t gate) { return (gate & kOpen) != 0 && gate >> 32 != last_run; };
  while (true) {
    for (int i = 0; i < kSpins && !is_new(gate_.load()) && !stop_; ++i) std::this_thread::yield();
    if (!is_new(gate_.load())) {
      std::unique_lock<std::mutex> lock(mutex_);
      ++sleepers_;
      wake_.wait(lock, [&] { return is_new(gate_.load()) || stop_; });
      --sleepers_;
    }
    if (stop_) return;
    uint64_t gate = gate_.load();
    while (is_new(gate) && !gate_.compare_exchange_weak(gate, gate + 1)) {
    }
    if (!is_new(gate)) continue;
    last_run = gate >> 32;
    TakeTasks(worker);
    gate_.fetch_sub(1);
  }
}

}  // namespace glint::cpu
