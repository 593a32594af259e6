// Parser of the messages and fields that all requests with images share, in place: numbers are read, pixels are located
// but not copied. The result for every message equals that of the generated classes: fields in any order, repeated,
// unknown; the last content of a oneof wins; repeated submessages are merged.
#ifndef GLINT_SERVER_WIRE_FRAME_PARSER_H_
#define GLINT_SERVER_WIRE_FRAME_PARSER_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "decode/pieces.h"
#include "server/pixels/image_source.h"
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

// Field of the oneof that a message of a stream has; the content of options is not read.
enum class WireContent { kNone, kOptions, kFrame, kEdit };

// Fields that the messages of all streams have.
struct WireEnvelope {
  WireContent content = WireContent::kNone;
  uint64_t frame_id = 0;
  int64_t max_age_ns = 0;
};

// The images of a pair, and their masks.
struct WireImagePair {
  bool has_left = false;
  WireImage left;
  bool has_right = false;
  WireImage right;
  bool has_mask = false;
  WireImage mask;
  bool has_right_mask = false;
  WireImage right_mask;
};

// glint.v1.GrayRange.
struct WireGrayRange {
  bool wanted = false;
  int32_t lowest = 0, highest = 0;
  bool has_percentile = false, has_images = false;
  float percentile = 0;
  int32_t images = 0;
  bool equalize = false;
};

// Limit of serialized options, in total. No string in them is long.
inline constexpr size_t kMaxOptionsBytes = 1 << 16;
// Limit of a serialized camera of a unary call. One with fourteen coefficients has 180 bytes.
inline constexpr size_t kMaxCameraBytes = 1 << 12;

// Reads an image inside another message.
void ReadImage(WireReader* in, WireImage* image);
void ReadRegion(WireReader* in, Region* region);
void ReadGrayRange(WireReader* in, WireGrayRange* range);
// Checks a glint.v1.DetectorOptions and skips it; the caller parses it. It has no submessages and one string.
void CheckDetectorOptions(WireReader* in);
// Check messages of glint.v1/calibration.proto and skip them.
void CheckCamera(WireReader* in);
void CheckTransform(WireReader* in);
void CheckStereoRig(WireReader* in);
void CheckRgbdCamera(WireReader* in);
// Checks an image of a message, or a glint.v1.ImageRegion, and skips it.
void CheckImage(WireReader* in);
void CheckRegion(WireReader* in);
// Checks the options of a stream whose messages are a glint.v1.DetectorOptions, field 1, one without strings, field 2,
// a glint.v1.GrayRange, field `gray_range`, and those that more(tag) reads: it returns false where it has not.
void CheckOperationOptions(WireReader* in, uint32_t gray_range, absl::FunctionRef<bool(uint32_t tag)> more);
inline void CheckOperationOptions(WireReader* in, uint32_t gray_range) {
  CheckOperationOptions(in, gray_range, [](uint32_t) { return false; });
}
// Reads fields 1 to 4 of an image pair's message, and its masks, 7 and 8. False: `tag` is none of these, and nothing
// was read after it.
bool ReadImagePair(WireReader* in, uint32_t tag, WireEnvelope* envelope, WireImagePair* pair);

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_FRAME_PARSER_H_
