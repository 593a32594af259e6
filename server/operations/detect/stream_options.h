// First message of a DetectStream. The mask is located in place, as pixels of frames are. The rest must be small to be
// parsed: protobuf allocates forty bytes and more for each empty unknown field.
#ifndef GLINT_SERVER_OPERATIONS_DETECT_STREAM_OPTIONS_H_
#define GLINT_SERVER_OPERATIONS_DETECT_STREAM_OPTIONS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "glint/v1/feature_detection.pb.h"
#include "server/wire/frame_parser.h"

namespace glint {

struct StreamOptionsMessage {
  v1::DetectStreamOptions options;  // without mask and unknown fields
  bool has_mask = false;
  WireImage mask;
  // Pieces that `mask` refers to, within the parsed message.
  std::vector<absl::Span<const uint8_t>> mask_pieces;
};

// Parses a DetectStreamRequest with protobuf's rules: the last content wins, repeated options are merged.
// FAILED_PRECONDITION: no options. INVALID_ARGUMENT: malformed, or more than kMaxOptionsBytes (see frame_parser.h)
// without the mask. `bytes` must stay unchanged while the mask is used.
absl::Status ParseStreamOptions(decode::Pieces bytes, StreamOptionsMessage* message);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_DETECT_STREAM_OPTIONS_H_
