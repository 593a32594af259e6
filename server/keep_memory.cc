#include "server/keep_memory.h"

#include <malloc.h>

namespace glint {

void KeepFreedMemory() {
  constexpr int kLargestHeapBlock = 32 << 20;  // glibc's limit; larger blocks are always mapped
  mallopt(M_MMAP_THRESHOLD, kLargestHeapBlock);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace glint
