#include "slam/watch/frozen_image.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_format.h"

namespace glint::slam {
namespace {

constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio

// Of all pixels. Every step can be undone, so images that differ in one word differ here. The words of a row take turns
// between several sums: the steps of one are not made while those of another are waited for.
uint64_t HashOf(const ImageView& image) {
  constexpr size_t kSums = 4, kWord = sizeof(uint64_t);
  std::array<uint64_t, kSums> sums = {};
  const auto add = [](uint64_t word, uint64_t* hash) {
    *hash = (*hash ^ word) * kOdd;
    *hash ^= *hash >> 29;
  };
  const auto width = static_cast<size_t>(image.width);
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* const row = image.row(y);
    size_t x = 0;
    for (; x + kSums * kWord <= width; x += kSums * kWord) {
      std::array<uint64_t, kSums> words;
      std::memcpy(words.data(), row + x, sizeof(words));
      for (size_t i = 0; i < kSums; ++i) add(words[i], &sums[i]);
    }
    for (; x < width; x += kWord) {
      uint64_t word = 0;
      std::memcpy(&word, row + x, std::min(width - x, kWord));
      add(word, &sums[0]);
    }
  }
  for (size_t i = 1; i < kSums; ++i) add(sums[i], &sums[0]);
  return sums[0];
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
