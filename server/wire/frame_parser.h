// Parses the requests that carry frames in place: numbers are read, pixels are located but not copied. The result for
// every message equals that of the generated classes: fields in any order, repeated, unknown; the last content of a
// oneof wins; repeated submessages are merged.
#ifndef GLINT_SERVER_WIRE_FRAME_PARSER_H_
#define GLINT_SERVER_WIRE_FRAME_PARSER_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "decode/pieces.h"
#include "server/operations/match/pair.h"
#include "server/schedule/frame_job.h"
#include "server/wire/wire_reader.h"

namespace glint {

// glint.v1.Image.
struct WireImage {
  enum class Content { kNone, kRaw, kEncoded, kShared };
  Content content = Content::kNone;
  // RawImage, SharedImage
  int32_t format = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t stride = 0;
  // EncodedImage
  int32_t encoding = 0;
  // SharedImage
  uint64_t offset = 0;
  // The pixels, the file, or the name of the shared region.
  WireBytes data;
};

// glint.v1.MatchSide: what there is, and how much.
struct WireMatchSide {
  enum class Content { kNone, kImage, kDescriptors, kSet };
  Content content = Content::kNone;
  SetSizes sizes;  // of descriptors
  WireBytes set;   // the name
};

// glint.v1.MatchConditions: elements of each array.
struct WireConditions {
  size_t x = 0, y = 0, radius = 0, min_octave = 0, max_octave = 0;
};

struct WireMatch {
  WireMatchSide query, train;
  WireConditions conditions;
};

// glint.v1.SetEdit.
struct WireEdit {
  size_t remove = 0;  // elements
  SetSizes add;
};

// glint.v1.TrackFrame but for what WireFrame has.
struct WireTrack {
  size_t images = 0;  // those beyond kMaxTrackCameras are counted only
  std::array<WireImage, kMaxTrackCameras> image;
  int64_t time_ns = 0;
  bool detect = false;
  size_t predictions = 0;
  size_t predicted = 0;  // elements of the longest array of each of them, together
};

// glint.v1.Frame, and what pairs have of it.
struct WireFrame {
  uint64_t frame_id = 0;
  bool has_image = false;
  WireImage image;
  bool has_second = false;
  WireImage second;  // of a pair
  bool has_mask = false;
  WireImage mask;
  Region region;
  int64_t max_age_ns = 0;
};

// glint.v1.DetectStreamRequest, MatchStreamRequest, StereoStreamRequest, TrackStreamRequest or LocalizeStreamRequest.
struct WireStreamRequest {
  enum class Content { kNone, kOptions, kFrame, kEdit };
  Content content = Content::kNone;  // what options hold is not looked at here
  WireFrame frame;                   // or pair; an edit's frame_id is here, too
  WireMatch match;
  WireEdit edit;
  WireTrack track;
  int64_t left_time_ns = 0, right_time_ns = 0;  // of a stereo pair
  int64_t time_ns = 0;                          // of a pair that is to be located
  bool relocalize = false;                      // it is to be found in the map
  bool has_depth = false;                       // it has a depth image
  WireImage depth;
};

// Serialized options, all together. No string in them is long.
inline constexpr size_t kMaxOptionsBytes = 1 << 16;

// glint.v1.DetectRequest.
struct WireDetectRequest {
  // The serialized options: all that came, side by side, which is their merger; those behind the first
  // kMaxOptionsBytes + 1 bytes may be missing.
  std::vector<absl::Span<const uint8_t>> options;
  bool has_image = false;
  WireImage image;
  bool has_mask = false;
  WireImage mask;
  Region region;
};

// False if `message` is not a serialized message of that type. `*request` is overwritten and keeps its memory.
bool ParseStreamRequest(decode::Pieces message, WireStreamRequest* request);
bool ParseDetectRequest(decode::Pieces message, WireDetectRequest* request);
bool ParseImage(decode::Pieces message, WireImage* image);
// An image inside another message.
void ReadImage(WireReader* in, WireImage* image);

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_FRAME_PARSER_H_
