#include "client/cli/source/raw_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/base/command.h"
#include "client/video/process.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

class RawSource : public Source {
 public:
  RawSource(std::string name, const RawLayout& layout) : name_(std::move(name)), layout_(layout) {}

  absl::Status Open() {
    descriptor_ = name_ == "-" ? STDIN_FILENO : open(name_.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) return absl::NotFoundError(absl::StrCat(name_, ": ", std::strerror(errno)));
    video::Patience patience;
    patience.stop = Interrupted;
    bytes_ = std::make_unique<video::DescriptorBytes>(descriptor_, std::move(patience));
    return absl::OkStatus();
  }

  absl::Status Next(Picture* picture) override {
    if (ended_) return absl::OutOfRangeError("no more frames");
    picture->name = absl::StrFormat("%s#%06d", name_, number_);
    picture->raw = layout_;
    picture->file.resize(layout_.bytes());
    size_t read = 0;
    while (read < picture->file.size()) {
      const auto count =
          bytes_->Read(reinterpret_cast<uint8_t*>(picture->file.data()) + read, picture->file.size() - read);
      if (absl::IsCancelled(count.status())) return absl::OutOfRangeError("interrupted");
      if (!count.ok()) {
        ended_ = true;
        return absl::Status(count.status().code(), absl::StrCat(name_, ": ", count.status().message()));
      }
      if (*count == 0) break;
      read += *count;
    }
    if (read == 0) return absl::OutOfRangeError("no more frames");
    ++number_;
    if (read == picture->file.size()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(picture->name, ": ends after ", read, " of ", picture->file.size(), " bytes"));
  }
  absl::Status Rewind() override {
    number_ = 0;
    if (lseek(descriptor_, 0, SEEK_SET) == 0) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat(name_, ": ", std::strerror(errno)));
  }
  int64_t count() const override {
    std::error_code error;
    const uintmax_t bytes = fs::is_regular_file(name_, error) ? fs::file_size(name_, error) : 0;
    return error ? 0 : static_cast<int64_t>(bytes / layout_.bytes());
  }
  double rate() const override { return kDefaultRate; }

 private:
  const std::string name_;
  const RawLayout layout_;
  int descriptor_ = -1;  // of bytes_
  std::unique_ptr<video::DescriptorBytes> bytes_;
  bool ended_ = false;  // by an error
  int number_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> OpenRawSource(const std::string& name, const RawLayout& layout) {
  auto source = std::make_unique<RawSource>(name, layout);
  GLINT_RETURN_IF_ERROR(source->Open());
  return source;
}

}  // namespace glint::cli
