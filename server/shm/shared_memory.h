// Registry of the shared memory regions of clients: owners, names, total size.
#ifndef GLINT_SERVER_SHM_SHARED_MEMORY_H_
#define GLINT_SERVER_SHM_SHARED_MEMORY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/shm/shared_region.h"

namespace glint {

// Names are 1..kMaxRegionName letters, digits, '.', '_' and '-'.
inline constexpr size_t kMaxRegionName = 64;

struct SharedMemoryOptions {
  bool enabled = false;
  int64_t max_bytes = int64_t{1} << 30;  // of all regions together
  int max_regions = 64;
};

// Registry of regions. A region belongs to the holder of its token. It exists from Take() to Drop(), and stays mapped
// while a frame uses it. Thread-safe.
class SharedMemory {
 public:
  // Pins regions if `pinning` supports it; `not_pinned` receives the first error. `pinning` must outlive this and all
  // frames.
  SharedMemory(const SharedMemoryOptions& options, const MemoryPinning* pinning,
               std::function<void(const absl::Status&)> not_pinned)
      : options_(options), pinning_(pinning), not_pinned_(std::move(not_pinned)), usage_(std::make_shared<Usage>()) {}

  bool enabled() const { return options_.enabled; }

  // Maps a region (errors of SharedRegion::Map(), RESOURCE_EXHAUSTED beyond the limits) and returns its token.
  absl::StatusOr<std::string> Take(int fd, uint64_t bytes);
  void Drop(const std::string& token);

  // Gives a region its name and returns its size. NOT_FOUND: no such token. ALREADY_EXISTS: another region has the
  // name. FAILED_PRECONDITION: the region has a name.
  absl::StatusOr<size_t> Register(const std::string& token, const std::string& name);
  // Removes the region's name. NOT_FOUND: no such token, or no name.
  absl::Status Unregister(const std::string& token);

  // Finds a region by name. Allocates nothing unless it fails. `local`: the client is connected through a unix socket.
  // FAILED_PRECONDITION: not local, or sharing is off. NOT_FOUND: no region of that name. Errors name the field
  // `image`.
  absl::StatusOr<std::shared_ptr<const SharedRegion>> Find(absl::string_view name, bool local) const;

  // Bytes of all mapped regions.
  int64_t bytes() const;

 private:
  struct Usage {
    std::mutex mutex;
    int64_t bytes = 0;
    int regions = 0;
  };
  struct Owned {
    std::shared_ptr<const SharedRegion> region;
    std::string name;  // empty: none
  };
  using Names = std::map<std::string, std::shared_ptr<const SharedRegion>, std::less<>>;

  void PinOrTell(SharedRegion* region);

  const SharedMemoryOptions options_;
  const MemoryPinning* const pinning_;
  const std::function<void(const absl::Status&)> not_pinned_;
  std::once_flag told_;
  const std::shared_ptr<Usage> usage_;  // shared with the regions, which may be mapped for longer than this lives

  mutable std::mutex mutex_;
  std::map<std::string, Owned> owned_;  // by token
  Names names_;
};

}  // namespace glint

#endif  // GLINT_SERVER_SHM_SHARED_MEMORY_H_
