// The first message of a DetectStream. Its mask is located where it lies, as pixels of frames are; the rest is small,
// and is parsed only if it is: protobuf makes forty bytes and more of each empty field that it does not know.
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
  // What `mask` speaks of; in the message that was parsed.
  std::vector<absl::Span<const uint8_t>> mask_pieces;
};

// Reads a DetectStreamRequest. As protobuf does it: the last content wins, options that come twice are merged.
// FAILED_PRECONDITION: it has no options. INVALID_ARGUMENT: it is damaged, or is more than kMaxOptionsBytes (see
// frame_parser.h) without its mask. `bytes` must stay as they are while the mask is used.
absl::Status ParseStreamOptions(decode::Pieces bytes, StreamOptionsMessage* message);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_DETECT_STREAM_OPTIONS_H_
