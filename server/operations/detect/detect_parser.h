// In-place parser of the requests of Detect and DetectStream; see frame_parser.h.
#ifndef GLINT_SERVER_OPERATIONS_DETECT_DETECT_PARSER_H_
#define GLINT_SERVER_OPERATIONS_DETECT_DETECT_PARSER_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "server/wire/frame_parser.h"

namespace glint {

// glint.v1.DetectStreamRequest. Options are only recognized, not read.
struct WireDetectStreamRequest : WireEnvelope {
  bool has_image = false;
  WireImage image;
  bool has_mask = false;
  WireImage mask;
  Region region;
};

// glint.v1.DetectRequest.
struct WireDetectRequest {
  // The serialized detector options: all occurrences, concatenated, which merges them. Bytes after the first
  // kMaxOptionsBytes + 1 may be missing.
  std::vector<absl::Span<const uint8_t>> detector;
  bool has_image = false;
  WireImage image;
  bool has_mask = false;
  WireImage mask;
  Region region;
  WireGrayRange gray_range;
  // The serialized camera, as the detector options are, beyond kMaxCameraBytes + 1 bytes not complete.
  bool has_camera = false;
  std::string camera;
};

// False if `message` is not a serialized message of that type. `*request` is overwritten and keeps its memory.
bool ParseDetectStreamRequest(decode::Pieces message, WireDetectStreamRequest* request);
bool ParseDetectRequest(decode::Pieces message, WireDetectRequest* request);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_DETECT_DETECT_PARSER_H_
