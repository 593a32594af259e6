#include "client/cli/source/raw_source.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

class RawSource : public Source {
 public:
  RawSource(std::string name, const RawLayout& layout) : name_(std::move(name)), layout_(layout) {}
  ~RawSource() override {
    if (file_ != nullptr && file_ != stdin) std::fclose(file_);
  }

  absl::Status Open() {
    file_ = name_ == "-" ? stdin : std::fopen(name_.c_str(), "rb");
    return file_ != nullptr ? absl::OkStatus() : absl::NotFoundError(absl::StrCat(name_, ": ", std::strerror(errno)));
  }

  absl::Status Next(Picture* picture) override {
    picture->name = absl::StrFormat("%s#%06d", name_, number_);
    picture->raw = layout_;
    picture->file.resize(layout_.bytes());
    const size_t read = std::fread(picture->file.data(), 1, picture->file.size(), file_);
    if (read == 0) return absl::OutOfRangeError("no more frames");
    ++number_;
    if (read == picture->file.size()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(picture->name, ": ends after ", read, " of ", picture->file.size(), " bytes"));
  }
  absl::Status Rewind() override {
    number_ = 0;
    if (std::fseek(file_, 0, SEEK_SET) == 0) return absl::OkStatus();
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
  std::FILE* file_ = nullptr;
  int number_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> OpenRawSource(const std::string& name, const RawLayout& layout) {
  auto source = std::make_unique<RawSource>(name, layout);
  GLINT_RETURN_IF_ERROR(source->Open());
  return source;
}

}  // namespace glint::cli
