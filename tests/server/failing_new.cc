// operator new for a whole glint-server, linked in place of server/base/counting_new.cc: after SIGUSR2, the call whose
// number is in the environment variable GLINT_TEST_FAIL_NEW (from 1, over all threads) throws.
#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> left{0};  // calls up to the one that fails; 0: none is to fail

void Arm(int) {
  const char* const number = std::getenv("GLINT_TEST_FAIL_NEW");
  left = number == nullptr ? 0 : std::atoll(number);
}
const bool armed = signal(SIGUSR2, Arm) != SIG_ERR;

void* Allocate(std::size_t bytes, std::size_t alignment) {
  if (left.load(std::memory_order_relaxed) > 0 && left.fetch_sub(1) == 1) throw std::bad_alloc();
  bytes = (bytes + alignment - 1) / alignment * alignment;
  if (void* const memory = std::aligned_alloc(alignment, bytes == 0 ? alignment : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return Allocate(bytes, alignof(std::max_align_t)); }
void* operator new[](std::size_t bytes) { return Allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return Allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return Allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
