#include "server/base/malloc_tuning.h"

#include <malloc.h>

namespace glint {

void TuneMalloc() {
  constexpr int kLargestHeapBlock = 32 << 20;  // glibc's limit; larger blocks are always mapped
  // Arenas that threads share. glibc's default is eight per processor, and each arena keeps the peak of its threads: on
  // 16 processors 4.2 GB instead of 0.7.
  constexpr int kArenas = 4;
  mallopt(M_ARENA_MAX, kArenas);
  mallopt(M_MMAP_THRESHOLD, kLargestHeapBlock);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace glint
