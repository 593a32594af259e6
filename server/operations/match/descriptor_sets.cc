#include "server/operations/match/descriptor_sets.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/server_error.h"
#include "features/status_macros.h"

namespace glint {
namespace {

absl::Status CheckSetName(absl::string_view name) {
  const bool good = std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  });
  if (good && !name.empty() && name.size() <= kMaxSetName) return absl::OkStatus();
  return ContradictionError(
      "set", absl::StrCat("\"", Echo(name), "\" is not 1..", kMaxSetName, " letters, digits, '.', '_' and '-'"));
}

// Erases the elements, of `size` values each, whose indices are in `removed`, which ascends.
template <typename T>
void Remove(const std::vector<uint32_t>& removed, size_t size, std::vector<T>* values) {
  if (removed.empty() || values->empty()) return;
  const size_t count = values->size() / size;
  size_t kept = removed.front();
  size_t next = 0;
  for (size_t i = kept; i < count; ++i) {
    if (next < removed.size() && removed[next] == i) {
      ++next;
      continue;
    }
    std::copy_n(values->begin() + static_cast<ptrdiff_t>(i * size), size,
                values->begin() + static_cast<ptrdiff_t>(kept * size));
    ++kept;
  }
  values->resize(kept * size);
}

// Appends with exact growth: the memory of a set is bounded.
template <typename T>
void Append(const std::vector<T>& more, std::vector<T>* values) {
  values->reserve(values->size() + more.size());
  values->insert(values->end(), more.begin(), more.end());
}

}  // namespace

absl::Status ValidateSet(absl::string_view field, const SetSizes& set, int max_descriptors) {
  const auto name = [field](absl::string_view member) { return absl::StrCat(field, ".", member); };
  if (set.rows > 0 || set.bytes != 0) {
    GLINT_RETURN_IF_ERROR(CheckRange(name("descriptor_bytes"), set.bytes, kDescriptorUnit, kMaxDescriptorBytes));
    if (set.bytes % kDescriptorUnit != 0) {
      return ContradictionError(name("descriptor_bytes"),
                                absl::StrCat(set.bytes, " is not a multiple of ", kDescriptorUnit));
    }
    if (set.rows % static_cast<size_t>(set.bytes) != 0) {
      return ContradictionError(name("data"),
                                absl::StrCat(set.rows, " bytes are no multiple of descriptor_bytes, ", set.bytes));
    }
  }
  const int64_t count = static_cast<int64_t>(set.count());
  if (count > max_descriptors) {
    return LimitError(field, count, "descriptors", max_descriptors, "--max-features");
  }
  if (const int64_t most = max_descriptors * kSetBytesPerDescriptor; static_cast<int64_t>(set.rows) > most) {
    return LimitError(name("data"), static_cast<int64_t>(set.rows), "bytes", most,
                      absl::StrCat(kSetBytesPerDescriptor, " x --max-features"));
  }
  const auto complete = [&](absl::string_view member, size_t size) {
    if (size == 0 || size == set.count()) return absl::OkStatus();
    return ContradictionError(name(member), absl::StrCat(size, " elements, but there are ", count, " descriptors"));
  };
  for (const absl::Status& s :
       {complete("x", set.x), complete("y", set.y), complete("octave", set.octave), complete("angle", set.angle)}) {
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::StatusOr<const DescriptorSet*> DescriptorSets::Find(absl::string_view field, absl::string_view name) const {
  if (const auto found = sets_.find(name); found != sets_.end()) return &found->second;
  std::string there;
  for (const auto& [other, set] : sets_) absl::StrAppend(&there, there.empty() ? "" : ", ", other);
  return NotFoundError(field, name,
                       absl::StrCat("\"", Echo(name), "\" is not kept in this stream, which has ",
                                    there.empty() ? "no sets" : Echo(there)));
}

absl::Status DescriptorSets::CheckRemovals(const SetUpdate& update, int count) const {
  for (size_t i = 0; i < update.remove.size(); ++i) {
    const uint32_t index = update.remove[i];
    const std::string field = absl::StrCat("remove[", i, "]");
    if (index >= static_cast<uint32_t>(count)) {
      if (count == 0) return ContradictionError(field, absl::StrCat(index, ", but the set is empty"));
      return OutOfRangeError(field, index, 0, count - 1);
    }
    if (i > 0 && index <= update.remove[i - 1]) {
      return ContradictionError(field, absl::StrCat(index, " is not above ", update.remove[i - 1], " before it"));
    }
  }
  return absl::OkStatus();
}

absl::Status DescriptorSets::CheckAddition(const SetUpdate& update, const DescriptorSet* set, int left) const {
  if (!update.adds) return absl::OkStatus();
  const DescriptorSet& add = update.add;
  if (absl::Status s = ValidateSet("add", add.sizes(), max_descriptors_);
      !s.ok() || set == nullptr || left == 0 || add.count() == 0)
    return s;
  if (add.bytes != set->bytes) {
    return ContradictionError("add.descriptor_bytes", absl::StrCat(add.bytes, ", but the set has ", set->bytes));
  }
  const auto same = [](absl::string_view member, bool has, bool had) {
    if (has == had) return absl::OkStatus();
    return ContradictionError(absl::StrCat("add.", member), had ? "missing, but the set has it" : "not in the set");
  };
  for (const absl::Status& s : {same("x", !add.x.empty(), !set->x.empty()), same("y", !add.y.empty(), !set->y.empty()),
                                same("octave", !add.octave.empty(), !set->octave.empty()),
                                same("angle", !add.angle.empty(), !set->angle.empty())}) {
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status DescriptorSets::CheckRoom(const SetUpdate& update, const DescriptorSet* set) const {
  int64_t count = update.add.count() - static_cast<int64_t>(update.remove.size());
  int64_t bytes = static_cast<int64_t>(update.add.rows.size());
  if (set != nullptr) bytes -= static_cast<int64_t>(update.remove.size()) * set->bytes;
  for (const auto& [name, other] : sets_) {
    count += other.count();
    bytes += static_cast<int64_t>(other.rows.size());
  }
  if (set == nullptr && sets_.size() >= kMaxSets) {
    return ExhaustedError("set", absl::StrCat("a stream keeps up to ", kMaxSets, " sets; forget one"),
                          absl::StrCat(kMaxSets), "");
  }
  if (count > max_descriptors_) {
    return LimitError("add", count, "descriptors of all sets", max_descriptors_, "--max-features");
  }
  const int64_t max_bytes = max_descriptors_ * kSetBytesPerDescriptor;
  if (bytes > max_bytes) {
    return LimitError("add.data", bytes, "bytes of all sets", max_bytes,
                      absl::StrCat(kSetBytesPerDescriptor, " x --max-features"));
  }
  return absl::OkStatus();
}

absl::Status DescriptorSets::Forget(absl::string_view name) {
  GLINT_RETURN_IF_ERROR(CheckSetName(name));
  const auto found = sets_.find(name);
  if (found == sets_.end()) return Find("set", name).status();
  sets_.erase(found);
  return absl::OkStatus();
}

absl::StatusOr<int> DescriptorSets::Update(absl::string_view name, const SetUpdate& update) {
  GLINT_RETURN_IF_ERROR(CheckSetName(name));
  const auto found = sets_.find(name);
  DescriptorSet* const set = found == sets_.end() ? nullptr : &found->second;
  if (set == nullptr && !update.adds) return Find("set", name).status();
  const int count = set == nullptr ? 0 : set->count();
  GLINT_RETURN_IF_ERROR(CheckRemovals(update, count));
  const int left = count - static_cast<int>(update.remove.size());
  GLINT_RETURN_IF_ERROR(CheckAddition(update, set, left));
  GLINT_RETURN_IF_ERROR(CheckRoom(update, set));

  DescriptorSet& to = set != nullptr ? *set : sets_[std::string(name)];
  if (left == 0) {
    to = DescriptorSet();
  } else {
    Remove(update.remove, static_cast<size_t>(to.bytes), &to.rows);
    for (auto* values : {&to.x, &to.y, &to.angle}) Remove(update.remove, 1, values);
    Remove(update.remove, 1, &to.octave);
  }
  if (update.adds && update.add.count() > 0) {
    to.bytes = update.add.bytes;
    Append(update.add.rows, &to.rows);
    Append(update.add.x, &to.x);
    Append(update.add.y, &to.y);
    Append(update.add.angle, &to.angle);
    Append(update.add.octave, &to.octave);
  }
  return to.count();
}

}  // namespace glint
