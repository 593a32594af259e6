// Parses what requests that carry images have in common, in place: numbers are read, pixels are located but not copied.
// The result for every message equals that of the generated classes: fields in any order, repeated, unknown; the last
// content of a oneof wins; repeated submessages are merged.
#ifndef GLINT_SERVER_WIRE_FRAME_PARSER_H_
#define GLINT_SERVER_WIRE_FRAME_PARSER_H_

#include <cstddef>
#include <cstdint>

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

// Which field of its oneof a message of a stream has; what options hold is not looked at.
enum class WireContent { kNone, kOptions, kFrame, kEdit };

// What the messages of all streams have.
struct WireEnvelope {
  WireContent content = WireContent::kNone;
  uint64_t frame_id = 0;
  int64_t max_age_ns = 0;
};

// The images of a rectified pair.
struct WireEyes {
  bool has_left = false;
  WireImage left;
  bool has_right = false;
  WireImage right;
};

// Serialized options, all together. No string in them is long.
inline constexpr size_t kMaxOptionsBytes = 1 << 16;

// False if `message` is not a serialized image. `*image` is overwritten.
bool ParseImage(decode::Pieces message, WireImage* image);
// An image inside another message.
void ReadImage(WireReader* in, WireImage* image);
void ReadRegion(WireReader* in, Region* region);
// Goes through a glint.v1.DetectorOptions for whoever parses them: they have no message inside, and one string.
void CheckDetectorOptions(WireReader* in);
// What all pairs of eyes have, fields 1 to 4. False: `tag` is none of these, and what follows it is not read.
bool ReadEyes(WireReader* in, uint32_t tag, WireEnvelope* envelope, WireEyes* eyes);

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_FRAME_PARSER_H_
