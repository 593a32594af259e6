// Registry of the shared memory regions of clients: owners, names, readers, total size.
#ifndef GLINT_SERVER_SHM_SHARED_MEMORY_H_
#define GLINT_SERVER_SHM_SHARED_MEMORY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/shm/shared_region.h"

namespace glint {

// An owner is a client as its account has it (Gate): "user 1000", the user of a unix socket, or "identity NAME" where
// an access file knows it by that name. Names of regions are 1..kMaxRegionName letters, digits, '.', '_' and '-', for
// each owner; to others a region is "OWNER/NAME".
inline constexpr size_t kMaxRegionName = 64;
inline constexpr size_t kMaxOwnerBytes = 80;
inline constexpr size_t kMaxRegionPath = kMaxOwnerBytes + 1 + kMaxRegionName;
// Of one region. An entry is an owner, or kAllReaders.
inline constexpr int kMaxReaders = 16;
inline constexpr char kAllReaders[] = "*";

struct SharedMemoryOptions {
  bool enabled = false;
  int64_t max_bytes = int64_t{1} << 30;  // of all regions together
  int max_regions = 64;
};

// Registry of regions. A region exists from Take() to Drop(), and stays mapped while a frame uses it. The holder of its
// token may name it, and is the name's owner: he and the readers that he lists find it. Thread-safe.
class SharedMemory {
 public:
  // Pins regions if `pinning` supports it; `not_pinned` receives the first error. `pinning` must outlive this and all
  // frames.
  SharedMemory(const SharedMemoryOptions& options, const MemoryPinning* pinning,
               std::function<void(const absl::Status&)> not_pinned)
      : options_(options), pinning_(pinning), not_pinned_(std::move(not_pinned)), usage_(std::make_shared<Usage>()) {}

  bool enabled() const { return options_.enabled; }

  // Maps a region (errors of SharedRegion::Map(), RESOURCE_EXHAUSTED beyond the limits) and returns its token. `owner`
  // handed it over.
  absl::StatusOr<std::string> Take(int fd, uint64_t bytes, const std::string& owner);
  void Drop(const std::string& token);

  // Gives a region a name of `owner`'s, which `readers` may use, too, and returns the region's size. INVALID_ARGUMENT:
  // a bad name, more than kMaxReaders or a bad one. NOT_FOUND: no such token. ALREADY_EXISTS: another region of the
  // owner has the name. FAILED_PRECONDITION: the region has a name, or `owner` is none.
  absl::StatusOr<size_t> Register(const std::string& token, const std::string& owner, const std::string& name,
                                  std::vector<std::string> readers);
  // Removes the region's name. NOT_FOUND: no such token, or no name.
  absl::Status Unregister(const std::string& token);

  // Finds a region for `reader` by "NAME", one of his own, or "OWNER/NAME". Allocates nothing unless it fails. Empty
  // `reader`: the client is not connected through a unix socket. FAILED_PRECONDITION: that, or sharing is off.
  // NOT_FOUND: there is no such region, or he may not read it. Errors name the field `image`.
  absl::StatusOr<std::shared_ptr<const SharedRegion>> Find(absl::string_view region, absl::string_view reader) const;

  // Bytes of all mapped regions.
  int64_t bytes() const;
  int64_t max_bytes() const { return options_.max_bytes; }
  // MonotonicNs() at which a region was last found, or taken; 0: no such token.
  int64_t UsedAt(const std::string& token) const;
  // What this owner has handed over, regions from Take() to Drop().
  struct Share {
    int regions = 0;
    int64_t bytes = 0;
  };
  Share ShareOf(absl::string_view owner) const;

 private:
  struct Usage {
    std::mutex mutex;
    int64_t bytes = 0;
    int regions = 0;
  };
  using Name = std::pair<std::string, std::string>;  // owner and name
  struct Taken {
    std::shared_ptr<const SharedRegion> region;
    std::string owner;  // who handed it over
    Name name;          // empty: none
  };
  struct Named {
    std::shared_ptr<const SharedRegion> region;
    std::vector<std::string> readers;
  };
  struct Less {  // compares pairs of views with names
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return View(a.first, a.second) < View(b.first, b.second);
    }
    using View = std::pair<absl::string_view, absl::string_view>;
  };

  void PinOrTell(SharedRegion* region);

  const SharedMemoryOptions options_;
  const MemoryPinning* const pinning_;
  const std::function<void(const absl::Status&)> not_pinned_;
  std::once_flag told_;
  const std::shared_ptr<Usage> usage_;  // shared with the regions, which may be mapped for longer than this lives

  mutable std::mutex mutex_;
  std::map<std::string, Taken> taken_;  // by token
  std::map<Name, Named, Less> names_;
};

}  // namespace glint

#endif  // GLINT_SERVER_SHM_SHARED_MEMORY_H_
