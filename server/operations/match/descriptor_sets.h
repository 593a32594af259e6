// The named sets of descriptors that a stream keeps.
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
inline constexpr size_t kMaxSets = 64;  // of a stream

// What glint.v1.UpdateSet asks for, but for the set's name.
struct SetUpdate {
  std::vector<uint32_t> remove;
  bool adds = false;
  DescriptorSet add;

  // Keeps the memory.
  void Clear() {
    remove.clear();
    adds = false;
    add.Clear();
  }
};

// Thread-compatible.
class DescriptorSets {
 public:
  // Up to `max_descriptors` in all sets together, and kSetBytesPerDescriptor for each of these.
  explicit DescriptorSets(int max_descriptors) : max_descriptors_(max_descriptors) {}

  // Where it is until it is changed. NOT_FOUND names `field`, the set, and the sets that there are.
  absl::StatusOr<const DescriptorSet*> Find(absl::string_view field, absl::string_view name) const;

  // Changes or begins the set: how many descriptors it has afterwards. On error nothing has changed. INVALID_ARGUMENT,
  // NOT_FOUND and RESOURCE_EXHAUSTED name the field.
  absl::StatusOr<int> Update(absl::string_view name, const SetUpdate& update);
  // The set goes. INVALID_ARGUMENT and NOT_FOUND name the field.
  absl::Status Forget(absl::string_view name);

 private:
  absl::Status CheckRemovals(const SetUpdate& update, int count) const;
  absl::Status CheckAddition(const SetUpdate& update, const DescriptorSet* set, int left) const;
  absl::Status CheckRoom(const SetUpdate& update, const DescriptorSet* set) const;

  const int max_descriptors_;
  std::map<std::string, DescriptorSet, std::less<>> sets_;
};

// INVALID_ARGUMENT names the first array of keypoints that is neither empty nor complete, rows that are no multiple of
// the length of a descriptor, or a length that no matcher takes; RESOURCE_EXHAUSTED: more than `max_descriptors`, or
// kSetBytesPerDescriptor for each of these. `field` is what the set is called. A set may be empty.
absl::Status ValidateSet(absl::string_view field, const SetSizes& set, int max_descriptors);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_MATCH_DESCRIPTOR_SETS_H_
