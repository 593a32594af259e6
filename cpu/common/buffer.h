// Scratch memory that grows to the largest request and stays: nothing is allocated once the largest frame was seen.
#ifndef GLINT_CPU_COMMON_BUFFER_H_
#define GLINT_CPU_COMMON_BUFFER_H_

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

namespace glint::cpu {

// 64-byte aligned elements of a plain type. Move-only.
template <typename T>
class Buffer {
  static_assert(std::is_trivial_v<T>, "elements are neither constructed nor destroyed");

 public:
  // At least `count` elements; what they held is lost if the memory grows. New elements are unspecified: for lists,
  // most of whose pages are never touched.
  T* Reserve(size_t count) {
    if (count > capacity_) {
      memory_.reset();
      memory_.reset(static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{64})));
      capacity_ = count;
    }
    return memory_.get();
  }
  // The same, but new elements are zero: for rows that are read in whole vectors, so that no lane was never written (as
  // a float it could be a denormal, which is slow).
  T* Grow(size_t count) {
    const bool is_new = count > capacity_;
    Reserve(count);
    if (is_new) std::memset(memory_.get(), 0, count * sizeof(T));
    return memory_.get();
  }
  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  T& operator[](size_t i) { return memory_.get()[i]; }
  const T& operator[](size_t i) const { return memory_.get()[i]; }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::unique_ptr<T, Free> memory_;
  size_t capacity_ = 0;
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_COMMON_BUFFER_H_
