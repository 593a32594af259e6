#include "client/cli/source/jpeg_flags.h"

#include "absl/strings/str_cat.h"
#include "decode/jpeg_writer.h"

namespace glint::cli {
namespace {

constexpr int kDefaultQuality = 90;

}  // namespace

void JpegFlags::AddTo(Flags* flags) {
  flags->Int("quality", "N",
             absl::StrCat("Of the files of --send jpeg (", decode::kMinJpegQuality, "..", decode::kMaxJpegQuality,
                          ", default ", kDefaultQuality, ")."),
             &quality);
}

absl::Status JpegFlags::Validate(bool wanted) const {
  if (!quality.has_value()) return absl::OkStatus();
  if (!wanted) return absl::InvalidArgumentError("option '--quality': is of --send jpeg");
  if (*quality >= decode::kMinJpegQuality && *quality <= decode::kMaxJpegQuality) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("option '--quality': ", *quality, " is not in ",
                                                 decode::kMinJpegQuality, "..", decode::kMaxJpegQuality));
}

int JpegFlags::Quality() const { return quality.value_or(kDefaultQuality); }

}  // namespace glint::cli
