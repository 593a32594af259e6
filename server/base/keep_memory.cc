#include "server/base/keep_memory.h"

#include <malloc.h>

namespace glint {

void KeepFreedMemory() {
  constexpr int kLargestHeapBlock = 32 << 20;  // glibc's limit; larger blocks are always mapped
  // Of memory that threads share. glibc would have eight for each processor, and each keeps what its threads needed at
  // the worst of times: on 16 processors 4.2 GB in place of 0.7.
  constexpr int kArenas = 4;
  mallopt(M_ARENA_MAX, kArenas);
  mallopt(M_MMAP_THRESHOLD, kLargestHeapBlock);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace glint
