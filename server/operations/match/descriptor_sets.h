// Named sets of descriptors, kept by a stream.
#ifndef GLINT_SERVER_OPERATIONS_MATCH_DESCRIPTOR_SETS_H_
#define GLINT_SERVER_OPERATIONS_MATCH_DESCRIPTOR_SETS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/operations/match/descriptors.h"

namespace glint {

inline constexpr size_t kMaxSetName = 64;
inline constexpr size_t kMaxSets = 64;  // per stream

// A glint.v1.UpdateSet without the set's name.
struct SetUpdate {
  std::vector<uint32_t> remove;
  bool adds = false;
  DescriptorSet add;

  // Empties the update and keeps its memory.
  void Clear() {
    remove.clear();
    adds = false;
    add.Clear();
  }
};

// Thread-compatible.
class DescriptorSets {
 public:
  // Limits: `max_descriptors` in all sets together, and kSetBytesPerDescriptor bytes for each.
  explicit DescriptorSets(int max_descriptors) : max_descriptors_(max_descriptors) {}

  // The set, valid until the next change. NOT_FOUND names `field`, the set, and the existing sets.
  absl::StatusOr<const DescriptorSet*> Find(absl::string_view field, absl::string_view name) const;

  // Updates or creates the set; returns its number of descriptors. On error nothing has changed. INVALID_ARGUMENT,
  // NOT_FOUND and RESOURCE_EXHAUSTED name the field.
  absl::StatusOr<int> Update(absl::string_view name, const SetUpdate& update);
  // Deletes the set. INVALID_ARGUMENT and NOT_FOUND name the field.
  absl::Status Forget(absl::string_view name);

 private:
  absl::Status CheckRemovals(const SetUpdate& update, int count) const;
  absl::Status CheckAddition(const SetUpdate& update, const DescriptorSet* set, int left) const;
  absl::Status CheckRoom(const SetUpdate& update, const DescriptorSet* set) const;

  const int max_descriptors_;
  std::map<std::string, DescriptorSet, std::less<>> sets_;
};

// Checks a set, which may be empty; `field` is its name in errors. INVALID_ARGUMENT: an array of keypoints that is
// neither empty nor complete, rows that are no multiple of the descriptor's length, or a length that no matcher
// supports. RESOURCE_EXHAUSTED: more than `max_descriptors`, or than kSetBytesPerDescriptor bytes for each.
absl::Status ValidateSet(absl::string_view field, const SetSizes& set, int max_descriptors);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_MATCH_DESCRIPTOR_SETS_H_
