// Files that hold pixels and nothing else, as cameras and frame grabbers write them: what is in them.
#ifndef GLINT_CLIENT_CLI_SOURCE_RAW_FLAGS_H_
#define GLINT_CLIENT_CLI_SOURCE_RAW_FLAGS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/base/flags.h"
#include "client/image.h"
#include "features/types.h"

namespace glint::cli {

// "gray8", "nv12"...: all formats by the names that the command line has for them.
const std::vector<std::pair<std::string, client::PixelFormat>>& PixelFormatNames();

// "640x480"; INVALID_ARGUMENT names the option.
absl::StatusOr<Shape> ParseSize(absl::string_view option, const std::string& text);

// One picture: rows without gaps.
struct RawLayout {
  client::PixelFormat format = client::PixelFormat::kGray8;
  Shape shape;

  size_t row_bytes() const;
  size_t bytes() const;
};

struct RawFlags {
  std::optional<client::PixelFormat> format;
  std::string size;

  void AddTo(Flags* flags);
  // Nothing if the files are no such files. INVALID_ARGUMENT names the option.
  absl::StatusOr<std::optional<RawLayout>> Layout() const;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_RAW_FLAGS_H_
