// First message of a stream whose options have images, such as masks. These are located in place, as pixels of frames
// are. The rest must be small to be parsed: protobuf allocates forty bytes and more for each empty unknown field.
#ifndef GLINT_SERVER_WIRE_OPTIONS_IMAGES_H_
#define GLINT_SERVER_WIRE_OPTIONS_IMAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "features/status_macros.h"
#include "server/wire/frame_parser.h"

namespace glint {

// A field of the options that is an image, or several.
struct OptionImages {
  uint32_t field = 0;  // its number
  size_t most = 0;     // 0: one image; else the field is repeated, and the first so many images are kept

  // Results.
  size_t count = 0;                 // all images
  std::vector<WireImage> images{};  // those kept; their bytes lie within the message
};

// The serialized options of a message of type `name` without `images`, which are set; with protobuf's rules: the last
// content of the oneof, whose members are the fields from 1, the options, to `last_member`, wins; repeated options are
// merged. FAILED_PRECONDITION: no options. INVALID_ARGUMENT: malformed, or more than kMaxOptionsBytes (frame_parser.h)
// without the images.
absl::StatusOr<std::string> SplitOptions(decode::Pieces message, const std::string& name, uint32_t last_member,
                                         absl::Span<OptionImages> images);

// A message of type `Request` with options apart from `images` and without unknown fields. Errors of SplitOptions().
template <typename Request>
absl::StatusOr<Request> ParseOptionsAndImages(decode::Pieces message, uint32_t last_member,
                                              absl::Span<OptionImages> images) {
  Request request;
  const std::string name = request.GetTypeName();
  GLINT_ASSIGN_OR_RETURN(const std::string rest, SplitOptions(message, name, last_member, images));
  if (!request.mutable_options()->ParseFromString(rest)) {
    return absl::InvalidArgumentError("message: not a serialized " + name);
  }
  request.DiscardUnknownFields();
  return request;
}

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_OPTIONS_IMAGES_H_
