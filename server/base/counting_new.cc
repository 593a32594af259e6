// operator new of glint-server: malloc, and a count on the frame path (server/base/allocations.h).
#include <cstdlib>
#include <new>

#include "server/base/allocations.h"

namespace {

const bool announced = (glint::frame_path_allocations.counted = true);

void* Allocate(std::size_t bytes) {
  glint::CountAllocation();
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

void* Allocate(std::size_t bytes, std::align_val_t alignment) {
  glint::CountAllocation();
  const auto align = static_cast<std::size_t>(alignment);
  // aligned_alloc() wants a multiple of the alignment.
  if (void* const memory = std::aligned_alloc(align, (bytes + align - 1) / align * align)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return Allocate(bytes); }
void* operator new[](std::size_t bytes) { return Allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return Allocate(bytes, alignment); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return Allocate(bytes, alignment); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
