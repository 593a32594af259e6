#include "ros/cdr_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "features/error.h"

namespace glint::ros {

void CdrReader::BeginCdr(absl::Span<const uint8_t> bytes) {
  if (bytes.size() < 4) {
    Fail(absl::StrCat(bytes.size(), " bytes are less than the 4 of an encapsulation header"));
    return;
  }
  const unsigned kind = bytes[0] << 8 | bytes[1];
  if (kind > 1) {
    Fail(absl::StrCat("encapsulation 0x", absl::Hex(kind, absl::kZeroPad4),
                      " is neither 0x0000 nor 0x0001 (XCDR version 1, big and little endian)"));
    return;
  }
  big_endian_ = kind == 0;
  bytes_ = bytes.subspan(4);
}

void CdrReader::BeginRos1(absl::Span<const uint8_t> bytes) {
  ros1_ = true;
  bytes_ = bytes;
}

bool CdrReader::Reach(size_t size) {
  if (!status_.ok()) return false;
  const size_t begin = ros1_ ? position_ : (position_ + size - 1) / size * size;
  if (begin > bytes_.size() || bytes_.size() - begin < size) {
    Fail(absl::StrCat("ends after ", bytes_.size() - std::min(begin, bytes_.size()), " of ", size, " bytes"));
    return false;
  }
  position_ = begin;
  return true;
}

size_t CdrReader::GetCount(size_t least_bytes, absl::string_view what) {
  const size_t count = GetNumber<uint32_t>();
  const size_t left = bytes_.size() - position_;
  if (count <= left / least_bytes) return count;
  const absl::string_view unit = least_bytes == 1 ? "" : " bytes";
  Fail(absl::StrCat(count, " ", what, " announced, ", left, unit, " are left"));
  return 0;
}

void CdrReader::GetText(std::string& text, size_t most) {
  const size_t count = GetCount(1, "bytes");
  const size_t end = ros1_ || count == 0 ? 0 : 1;  // of its bytes; some write an empty text without
  if (!status_.ok()) return;
  if (end == 1 && bytes_[position_ + count - 1] != 0) return Fail("does not end with a zero byte");
  if (most != 0 && count - end > most) return Fail(absl::StrCat(count - end, " bytes are more than ", most));
  text.assign(reinterpret_cast<const char*>(bytes_.data()) + position_, count - end);
  position_ += count;
}

void CdrReader::GetTime(Time& time) {
  if (!ros1_) return Time::Visit(time, *this);
  uint32_t seconds = 0;
  (*this)("sec", seconds);
  (*this)("nanosec", time.nanosec);
  if (seconds > std::numeric_limits<int32_t>::max()) return Fail(absl::StrCat(seconds, " s are after 2038"));
  time.sec = static_cast<int32_t>(seconds);
}

void CdrReader::Fail(absl::string_view problem) {
  if (!status_.ok()) return;
  std::string path;
  for (const Place* place = place_; place != nullptr; place = place->outer) {
    if (place == &root_) {
      path = absl::StrCat(place->name, path);
    } else if (place->name.empty()) {
      path = absl::StrCat("[", place->index, "]", path);
    } else {
      path = absl::StrCat(".", place->name, path);
    }
  }
  status_ = ContradictionError(path, problem);
}

}  // namespace glint::ros
