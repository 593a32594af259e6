#include "server/shm/shared_memory.h"

#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
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

bool IsOwner(absl::string_view text) {
  uint32_t user = 0;
  if (text.size() > kMaxOwnerBytes) return false;
  if (absl::ConsumePrefix(&text, "user ")) return absl::SimpleAtoi(text, &user) && text == absl::StrCat(user);
  return absl::ConsumePrefix(&text, "identity ") && !text.empty();
}

absl::Status CheckReaders(const std::vector<std::string>& readers) {
  constexpr size_t kMost = kMaxReaders;
  GLINT_RETURN_IF_ERROR(CheckRange("shared_with.size", readers.size(), size_t{0}, kMost));
  for (size_t i = 0; i < readers.size(); ++i) {
    if (readers[i] == kAllReaders || IsOwner(readers[i])) continue;
    return NotOneOfError(absl::StrCat("shared_with[", i, "]"), readers[i], "user UID, identity NAME, *");
  }
  return absl::OkStatus();
}

bool MayRead(absl::string_view reader, absl::string_view owner, const std::vector<std::string>& readers) {
  return reader == owner || std::any_of(readers.begin(), readers.end(), [reader](const std::string& allowed) {
           return allowed == kAllReaders || allowed == reader;
         });
}

// A token of 128 random bits.
absl::StatusOr<std::string> NewToken() {
  std::string token(kTokenBytes, '\0');
  if (getrandom(&token[0], token.size(), 0) == kTokenBytes) return token;
  return absl::InternalError("the kernel has no random bytes");
}

absl::Status NoSuchToken() { return absl::NotFoundError("token: no memory was handed over under it"); }

}  // namespace

absl::StatusOr<std::string> SharedMemory::Take(int fd, uint64_t bytes, const std::string& owner) {
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
  taken_[*token] = {region, owner, Name()};
  return token;
}

void SharedMemory::PinOrTell(SharedRegion* region) {
  if (pinning_->pin == nullptr) return;
  if (absl::Status s = region->Pin(pinning_); !s.ok()) std::call_once(told_, [&] { not_pinned_(s); });
}

void SharedMemory::Drop(const std::string& token) {
  Taken gone;  // unmapped without the lock
  std::lock_guard<std::mutex> lock(mutex_);
  const auto at = taken_.find(token);
  if (at == taken_.end()) return;
  gone = std::move(at->second);
  taken_.erase(at);
  names_.erase(gone.name);  // `gone` still has the region
}

absl::StatusOr<size_t> SharedMemory::Register(const std::string& token, const std::string& owner,
                                              const std::string& name, std::vector<std::string> readers) {
  if (!IsOwner(owner)) return absl::FailedPreconditionError("token: nobody knows whose call this is");
  GLINT_RETURN_IF_ERROR(CheckName(name));
  GLINT_RETURN_IF_ERROR(CheckReaders(readers));
  std::lock_guard<std::mutex> lock(mutex_);
  const auto at = taken_.find(token);
  if (at == taken_.end()) return NoSuchToken();
  if (const std::string& has = at->second.name.second; !has.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("token: its memory has the name \"", has, "\""));
  }
  const Name key(owner, name);
  if (!names_.emplace(key, Named{at->second.region, std::move(readers)}).second) {
    return absl::AlreadyExistsError(absl::StrCat("name: \"", name, "\" is another region's"));
  }
  at->second.name = key;
  return at->second.region->bytes().size();
}

absl::Status SharedMemory::Unregister(const std::string& token) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto at = taken_.find(token);
  if (at == taken_.end()) return NoSuchToken();
  if (names_.erase(at->second.name) == 0) return absl::NotFoundError("token: its memory has no name");
  at->second.name = Name();
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const SharedRegion>> SharedMemory::Find(absl::string_view region,
                                                                       absl::string_view reader) const {
  if (!options_.enabled) {
    return absl::FailedPreconditionError("image.shared: this server shares no memory (--shared-memory)");
  }
  if (reader.empty()) return absl::FailedPreconditionError("image.shared: is for clients of a unix socket only");
  // A name has no '/', but the name of an identity may have.
  const size_t slash = region.rfind('/');
  const bool is_own = slash == absl::string_view::npos;
  const absl::string_view owner = is_own ? reader : region.substr(0, slash);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto at = names_.find(Less::View(owner, is_own ? region : region.substr(slash + 1)));
    if (at != names_.end() && MayRead(reader, owner, at->second.readers)) {
      at->second.region->Use();
      return at->second.region;
    }
  }
  return NotFoundError("image.shared.region", region,
                       absl::StrCat("no memory is registered as \"", Echo(region), "\" for this client"));
}

SharedMemory::Share SharedMemory::ShareOf(absl::string_view owner) const {
  Share share;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [token, taken] : taken_) {
    if (taken.owner != owner) continue;
    ++share.regions;
    share.bytes += static_cast<int64_t>(taken.region->bytes().size());
  }
  return share;
}

int64_t SharedMemory::UsedAt(const std::string& token) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto at = taken_.find(token);
  return at == taken_.end() ? 0 : at->second.region->used_at();
}

int64_t SharedMemory::bytes() const {
  std::lock_guard<std::mutex> lock(usage_->mutex);
  return usage_->bytes;
}

}  // namespace glint
