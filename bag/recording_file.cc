#include "bag/recording_file.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "bag/compression.h"
#include "bag/file.h"
#include "bag/mcap_reader.h"
#include "bag/reader.h"
#include "bag/ros1_reader.h"
#include "bag/sqlite_reader.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::bag {
namespace {

constexpr absl::string_view kMcapMagic = "\x89MCAP";
constexpr absl::string_view kSqliteMagic("SQLite format 3\0", 16);

constexpr absl::string_view kLfsBeginning = "version https://git-lfs.github.com/spec/";

constexpr int64_t kMostTemporaryBytes = int64_t{1} << 34;
constexpr int64_t kMostRatio = 256;
constexpr int64_t kAnyTemporaryBytes = int64_t{1} << 26;  // whatever the ratio is

// A file in a folder of its own; both are removed with it.
class TemporaryFile {
 public:
  TemporaryFile() {
    std::error_code error;
    base_ = std::filesystem::temp_directory_path(error).string();
    folder_ = absl::StrCat(base_, "/glint-XXXXXX");
    if (error || mkdtemp(folder_.data()) == nullptr) {
      folder_.clear();
      return;
    }
    path_ = absl::StrCat(folder_, "/recording");
    fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  }
  ~TemporaryFile() {
    if (fd_ >= 0) close(fd_);
    if (!path_.empty()) unlink(path_.c_str());
    if (!folder_.empty()) rmdir(folder_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& base() const { return base_; }
  const std::string& path() const { return path_; }
  int64_t Free() const {
    struct statvfs info;
    return statvfs(base_.c_str(), &info) != 0 ? 0 : static_cast<int64_t>(info.f_bavail * info.f_frsize);
  }
  bool Append(absl::Span<const char> bytes) {
    while (!bytes.empty() && fd_ >= 0) {
      const ssize_t written = write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return fd_ >= 0;
  }

 private:
  std::string base_, folder_, path_;
  int fd_ = -1;
};

// INVALID_ARGUMENT: damaged, and `to` has what came before; RESOURCE_EXHAUSTED: it is too large for `to`.
absl::Status Decompress(const File& file, TemporaryFile* to) {
  const int64_t most = std::min({to->Free() / 2, kMostTemporaryBytes, kAnyTemporaryBytes + kMostRatio * file.size()});
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(), ZSTD_freeDStream);
  if (stream == nullptr) return absl::ResourceExhaustedError("no memory for Zstandard");
  std::string read, written(ZSTD_DStreamOutSize(), '\0');
  int64_t bytes = 0;
  size_t wanted = 0;
  for (int64_t at = 0; at < file.size(); at += static_cast<int64_t>(read.size())) {
    read = file.ReadText(at, ZSTD_DStreamInSize());
    if (read.empty()) return absl::InvalidArgumentError("it cannot be read to its end");
    ZSTD_inBuffer in = {read.data(), read.size(), 0};
    ZSTD_outBuffer out = {written.data(), written.size(), 0};
    for (bool more = true; more; more = in.pos < in.size || (out.pos == out.size && wanted != 0)) {
      out.pos = 0;
      wanted = ZSTD_decompressStream(stream.get(), &out, &in);
      if (ZSTD_isError(wanted) != 0) return absl::InvalidArgumentError(ZSTD_getErrorName(wanted));
      bytes += static_cast<int64_t>(out.pos);
      if (bytes > most) {
        return absl::ResourceExhaustedError(
            absl::StrCat("decompressed it has over ", most, " bytes, which are the most that go into ", to->base()));
      }
      if (!to->Append(absl::MakeConstSpan(written.data(), out.pos))) {
        return absl::ResourceExhaustedError(absl::StrCat(to->base(), " cannot be written"));
      }
    }
  }
  return wanted == 0 ? absl::OkStatus() : absl::InvalidArgumentError("cut off");
}

absl::StatusOr<std::unique_ptr<Bag>> OpenPlain(const std::string& path) {
  std::string beginning;
  {
    GLINT_ASSIGN_OR_RETURN(const File file, File::Open(path));
    beginning = file.ReadText(0, 64);
  }
  if (absl::StartsWith(beginning, kMcapMagic)) return OpenMcap(path);
  if (absl::StartsWith(beginning, kSqliteMagic)) return OpenSqlite(path);
  if (IsRos1(beginning)) return OpenRos1(path);
  if (absl::StartsWith(beginning, kLfsBeginning)) {
    return InFile(path, absl::InvalidArgumentError("a pointer of Git LFS, not the file: `git lfs pull` fetches it"));
  }
  return InFile(path, absl::InvalidArgumentError(
                          absl::StrCat(beginning.empty() ? "empty" : "no recording that is known by its content",
                                       ": MCAP, rosbag2 (a folder, .db3, .mcap) and bags of ROS 1 are read")));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Bag>> OpenRecordingFile(const std::string& path, std::vector<std::string>* notes) {
  TemporaryFile temporary;
  {
    GLINT_ASSIGN_OR_RETURN(const File file, File::Open(path));
    if (file.ReadText(0, kZstdMagic.size()) != kZstdMagic) return OpenPlain(path);
    const absl::Status status = Decompress(file, &temporary);
    if (absl::IsResourceExhausted(status)) {
      return InFile(path, absl::InvalidArgumentError(
                              absl::StrCat(status.message(), ": `zstd -d` makes a file of it that can be read")));
    }
    if (!status.ok()) notes->push_back(absl::StrCat("its compression is damaged: ", status.message()));
  }
  auto bag = OpenPlain(temporary.path());
  if (!bag.ok()) {
    const absl::string_view text =
        absl::StripPrefix(bag.status().message(), absl::StrCat(Echo(temporary.path()), ": "));
    return InFile(path, absl::Status(bag.status().code(), absl::StrCat("decompressed: ", text)));
  }
  return bag;
}

}  // namespace glint::bag
