#include "server/shm/shared_memory.h"

#include <sys/random.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/server_error.h"
#include "features/status_macros.h"
#include "proto/handoff.h"

namespace glint {
namespace {

absl::Status CheckName(absl::string_view name) {
  bool good = !name.empty() && name.size() <= kMaxRegionName;
  for (const char c : name) {
    good = good && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-');
  }
  if (good) return absl::OkStatus();
  return ContradictionError("name", absl::StrCat("is not 1..", kMaxRegionName, " letters, digits, '.', '_' and '-'"));
}

// A token of 128 random bits.
absl::StatusOr<std::string> NewToken() {
  std::string token(kTokenBytes, '\0');
  if (getrandom(&token[0], token.size(), 0) == kTokenBytes) return token;
  return absl::InternalError("the kernel has no random bytes");
}

absl::Status NoSuchToken() { return absl::NotFoundError("token: no memory was handed over under it"); }

}  // namespace

absl::StatusOr<std::string> SharedMemory::Take(int fd, uint64_t bytes) {
  const std::shared_ptr<Usage> usage = usage_;
  {
    std::lock_guard<std::mutex> lock(usage->mutex);
    if (usage->regions >= options_.max_regions) {
      return LimitError("memory.regions", usage->regions + 1, options_.max_regions, "--shared-memory-max-regions");
    }
    if (bytes > static_cast<uint64_t>(options_.max_bytes - usage->bytes)) {
      return absl::ResourceExhaustedError(absl::StrCat("memory.bytes: ", bytes, " more than the ", usage->bytes,
                                                       " in use are over this server's limit of ", options_.max_bytes,
                                                       " (--shared-memory-max-bytes)"));
    }
    usage->bytes += static_cast<int64_t>(bytes);
    ++usage->regions;
  }
  const auto forget = [usage, bytes] {
    std::lock_guard<std::mutex> lock(usage->mutex);
    usage->bytes -= static_cast<int64_t>(bytes);
    --usage->regions;
  };
  auto mapped = SharedRegion::Map(fd, bytes, options_.max_bytes);
  auto token = NewToken();
  if (!mapped.ok() || !token.ok()) {
    forget();
    return mapped.ok() ? token.status() : mapped.status();
  }
  PinOrTell(mapped->get());
  const auto unmap = [forget](const SharedRegion* region) {
    delete region;
    forget();
  };
  const std::shared_ptr<const SharedRegion> region(mapped->release(), unmap);
  std::lock_guard<std::mutex> lock(mutex_);
  owned_[*token] = {region, ""};
  return token;
}

void SharedMemory::PinOrTell(SharedRegion* region) {
  if (pinning_->pin == nullptr) return;
  if (absl::Status s = region->Pin(pinning_); !s.ok()) std::call_once(told_, [&] { not_pinned_(s); });
}

void SharedMemory::Drop(const std::string& token) {
  Owned gone;  // unmapped without the lock
  std::shared_ptr<const SharedRegion> named;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto at = owned_.find(token);
  if (at == owned_.end()) return;
  gone = std::move(at->second);
  owned_.erase(at);
  if (gone.name.empty()) return;
  const auto name = names_.find(gone.name);
  named = std::move(name->second);
  names_.erase(name);
}

absl::StatusOr<size_t> SharedMemory::Register(const std::string& token, const std::string& name) {
  GLINT_RETURN_IF_ERROR(CheckName(name));
  std::lock_guard<std::mutex> lock(mutex_);
  const auto at = owned_.find(token);
  if (at == owned_.end()) return NoSuchToken();
  if (!at->second.name.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("token: its memory has the name \"", at->second.name, "\""));
  }
  if (!names_.emplace(name, at->second.region).second) {
    return absl::AlreadyExistsError(absl::StrCat("name: \"", name, "\" is another region's"));
  }
  at->second.name = name;
  return at->second.region->bytes().size();
}

absl::Status SharedMemory::Unregister(const std::string& token) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto at = owned_.find(token);
  if (at == owned_.end()) return NoSuchToken();
  if (at->second.name.empty()) return absl::NotFoundError("token: its memory has no name");
  names_.erase(at->second.name);  // the region is still in owned_
  at->second.name.clear();
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const SharedRegion>> SharedMemory::Find(absl::string_view name, bool local) const {
  if (!options_.enabled) {
    return absl::FailedPreconditionError("image.shared: this server shares no memory (--shared-memory)");
  }
  if (!local) return absl::FailedPreconditionError("image.shared: is for clients of a unix socket only");
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto at = names_.find(name);
    if (at != names_.end()) return at->second;
  }
  return NotFoundError("image.shared.region", name, absl::StrCat("no memory is registered as \"", Echo(name), "\""));
}

int64_t SharedMemory::bytes() const {
  std::lock_guard<std::mutex> lock(usage_->mutex);
  return usage_->bytes;
}

}  // namespace glint
