// The requests of Detect and DetectStream, read where they lie as frame_parser.h reads images.
#ifndef GLINT_SERVER_OPERATIONS_DETECT_DETECT_PARSER_H_
#define GLINT_SERVER_OPERATIONS_DETECT_DETECT_PARSER_H_

#include <vector>

#include "absl/types/span.h"
#include "server/wire/frame_parser.h"

namespace glint {

// glint.v1.DetectStreamRequest: of a frame, all; of options, that they are there.
struct WireDetectStreamRequest : WireEnvelope {
  bool has_image = false;
  WireImage image;
  bool has_mask = false;
  WireImage mask;
  Region region;
};

// glint.v1.DetectRequest.
struct WireDetectRequest {
  // The serialized detector: all that came, side by side, which is their merger; those behind the first
  // kMaxOptionsBytes + 1 bytes may be missing.
  std::vector<absl::Span<const uint8_t>> detector;
  bool has_image = false;
  WireImage image;
  bool has_mask = false;
  WireImage mask;
  Region region;
};

// False if `message` is not a serialized message of that type. `*request` is overwritten and keeps its memory.
bool ParseDetectStreamRequest(decode::Pieces message, WireDetectStreamRequest* request);
bool ParseDetectRequest(decode::Pieces message, WireDetectRequest* request);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_DETECT_DETECT_PARSER_H_
