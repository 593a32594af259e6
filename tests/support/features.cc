#include "tests/support/features.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <tuple>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace glint::testing {
namespace {

uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

absl::string_view DescriptorOf(const Features& f, size_t i) {
  return {reinterpret_cast<const char*>(f.descriptors.data()) + i * f.descriptor_bytes,
          static_cast<size_t>(f.descriptor_bytes)};
}

std::string ToString(const Features& f, size_t i) {
  return absl::StrFormat("octave %d x %.9g y %.9g size %.9g angle %.9g response %.9g %s", f.octave[i], f.x[i], f.y[i],
                         f.size[i], f.angle[i], f.response[i], absl::BytesToHexString(DescriptorOf(f, i)));
}

using Place = std::tuple<int, uint32_t, uint32_t>;
Place PlaceOf(const Features& f, size_t i) { return {f.octave[i], BitsOf(f.x[i]), BitsOf(f.y[i])}; }

bool SameKeypoint(const Features& a, size_t i, const Features& b, size_t j) {
  return PlaceOf(a, i) == PlaceOf(b, j) && BitsOf(a.size[i]) == BitsOf(b.size[j]) &&
         BitsOf(a.angle[i]) == BitsOf(b.angle[j]) && BitsOf(a.response[i]) == BitsOf(b.response[j]) &&
         DescriptorOf(a, i) == DescriptorOf(b, j);
}

// Keypoints by place, so that a missing one does not make all that follow look different.
std::string Difference(const Features& expected, const Features& actual) {
  constexpr int kShown = 5;
  std::map<Place, size_t> in_actual;
  for (size_t i = 0; i < actual.count(); ++i) in_actual[PlaceOf(actual, i)] = i;
  int missing = 0;
  int different = 0;
  int moved = 0;
  std::string text;
  for (size_t i = 0; i < expected.count(); ++i) {
    const auto found = in_actual.find(PlaceOf(expected, i));
    if (found == in_actual.end()) {
      if (++missing <= kShown) text += "missing   " + ToString(expected, i) + "\n";
      continue;
    }
    const size_t j = found->second;
    in_actual.erase(found);
    if (!SameKeypoint(expected, i, actual, j)) {
      if (++different <= kShown)
        text += "expected  " + ToString(expected, i) + "\nactual    " + ToString(actual, j) + "\n";
    } else if (i != j) {
      ++moved;
    }
  }
  int shown = 0;
  for (const auto& [place, j] : in_actual) {
    if (++shown <= kShown) text += "extra     " + ToString(actual, j) + "\n";
  }
  return absl::StrFormat("%d expected, %d actual: %d missing, %d extra, %d different, %d at another index\n%s",
                         expected.count(), actual.count(), missing, in_actual.size(), different, moved, text);
}

}  // namespace

::testing::AssertionResult SameFeatures(const Features& expected, const Features& actual) {
  if (const auto well_formed = IsWellFormed(actual); !well_formed) return well_formed;
  bool same = expected.count() == actual.count() && expected.descriptor_bytes == actual.descriptor_bytes;
  for (size_t i = 0; same && i < expected.count(); ++i) same = SameKeypoint(expected, i, actual, i);
  if (!same) return ::testing::AssertionFailure() << Difference(expected, actual);
  if (expected.truncated != actual.truncated) {
    return ::testing::AssertionFailure() << "truncated is " << actual.truncated << ", not " << expected.truncated;
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult IsWellFormed(const Features& f) {
  const size_t n = f.count();
  if (f.y.size() != n || f.size.size() != n || f.angle.size() != n || f.response.size() != n || f.octave.size() != n ||
      f.descriptors.size() != n * static_cast<size_t>(f.descriptor_bytes)) {
    return ::testing::AssertionFailure() << "the arrays do not have " << n << " elements each";
  }
  const auto rank = [&f](size_t i) { return std::make_tuple(f.octave[i], -f.response[i], f.y[i], f.x[i]); };
  for (size_t i = 1; i < n; ++i) {
    if (!(rank(i - 1) < rank(i))) {
      return ::testing::AssertionFailure() << "out of order: " << ToString(f, i - 1) << "\nbefore " << ToString(f, i);
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace glint::testing
