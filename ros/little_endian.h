// Numbers as bytes, the lowest first, on any machine.
#ifndef GLINT_ROS_LITTLE_ENDIAN_H_
#define GLINT_ROS_LITTLE_ENDIAN_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace glint::ros {

// sizeof(T) bytes from `at` on.
template <class T>
void PutLittleEndian(T value, uint8_t* at) {
  std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t> bits = 0;
  if constexpr (std::is_floating_point_v<T>) {
    static_assert(sizeof(bits) == sizeof(T));
    std::memcpy(&bits, &value, sizeof(T));
  } else {
    bits = static_cast<decltype(bits)>(value);
  }
  for (size_t i = 0; i < sizeof(T); ++i) at[i] = static_cast<uint8_t>(bits >> (8 * i));
}

}  // namespace glint::ros

#endif  // GLINT_ROS_LITTLE_ENDIAN_H_
