#include "slam/watch/frozen_image.h"

#include <cstddef>
#include <cstring>

#include "absl/strings/str_format.h"

namespace glint::slam {
namespace {

constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio

// Of all pixels. Every step can be undone, so images that differ in one word differ here.
uint64_t HashOf(const ImageView& image) {
  uint64_t hash = 0;
  const auto add = [&hash](uint64_t word) {
    hash = (hash ^ word) * kOdd;
    hash ^= hash >> 29;
  };
  const auto width = static_cast<size_t>(image.width);
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* const row = image.row(y);
    for (size_t x = 0; x < width; x += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, row + x, width - x < sizeof(word) ? width - x : sizeof(word));
      add(word);
    }
  }
  return hash;
}

// One value, as a covered or blinded camera sends it.
bool IsFlat(const ImageView& image) {
  const auto width = static_cast<size_t>(image.width);
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* const row = image.row(y);
    if (row[0] != image.row(0)[0] || std::memcmp(row, row + 1, width - 1) != 0) return false;
  }
  return true;
}

}  // namespace

bool FrozenImageWatch::Look(const ImageView& left, const ImageView& right) {
  const std::array<uint64_t, 2> now = {HashOf(left), HashOf(right)};
  const bool left_again = has_last_ && now[0] == last_[0] && !IsFlat(left);
  const bool right_again = has_last_ && now[1] == last_[1] && !IsFlat(right);
  last_ = now;
  has_last_ = true;
  is_left_ = left_again;
  count_ = left_again != right_again ? count_ + 1 : 0;
  return count_ > 0;
}

std::vector<Warning> FrozenImageWatch::Warnings() const {
  if (count_ == 0) return {};
  return {{WarningKind::kFrozenImage, static_cast<double>(count_), "1",
           absl::StrFormat("the %s image is frozen: it is that of the pair before, %d times in a row, while the other "
                           "one changes: the pair is not used",
                           is_left_ ? "left" : "right", count_)}};
}

}  // namespace glint::slam
