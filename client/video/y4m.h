// YUV4MPEG2 (y4m): raw video with a header, as FFmpeg, GStreamer and mjpegtools write it to pipes. The format is that
// of mjpegtools' yuv4mpeg(5). Read are 8-bit frames of one size, mono, 4:2:0, 4:2:2 or 4:4:4.
#ifndef GLINT_CLIENT_VIDEO_Y4M_H_
#define GLINT_CLIENT_VIDEO_Y4M_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "features/types.h"

namespace glint::video {

// What every file of the format begins with.
inline constexpr absl::string_view kY4mMagic = "YUV4MPEG2";

enum class Chroma { kMono, k420, k422, k444 };

struct Y4mHeader {
  Shape shape;  // sides in 1..kMaxImageSide
  Chroma chroma = Chroma::k420;
  // Frames per second, as a fraction; 0/0: unknown, in the file 0:0 or, as GStreamer has it, 0:1.
  int64_t rate_numerator = 0, rate_denominator = 0;

  size_t luma_bytes() const { return static_cast<size_t>(shape.pixels()); }
  Shape chroma_shape() const;  // of each of the two planes; 0x0 for mono
  size_t chroma_bytes() const { return 2 * static_cast<size_t>(chroma_shape().pixels()); }
  bool operator==(const Y4mHeader& other) const;
  bool operator!=(const Y4mHeader& other) const { return !(*this == other); }
};

// "W640 H480 F25:1 C420jpeg", the header's line without the magic. Fields are separated by single spaces; those that
// are not known, given twice or missing (W, H) are errors, but for X, comments. INVALID_ARGUMENT names field and value.
absl::StatusOr<Y4mHeader> ParseY4mHeader(absl::string_view fields);

// Where bytes come from. Thread-compatible.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // At least one byte and at most `size` (above 0), or 0 at the end. Errors are final.
  virtual absl::StatusOr<size_t> Read(uint8_t* to, size_t size) = 0;
};

// Thread-compatible. After an error of Next() there are no more frames.
class Y4mReader {
 public:
  // `bytes` must outlive this.
  explicit Y4mReader(ByteSource* bytes) : bytes_(bytes) {}

  // First of all. INVALID_ARGUMENT: no header, or one of something that is not read; and errors of the source.
  absl::Status ReadHeader();
  const Y4mHeader& header() const { return header_; }

  // The next frame, its rows without gaps, straight into `luma` (luma_bytes()) and `chroma` (chroma_bytes(), first Cb;
  // null: left out). OUT_OF_RANGE at the end. INVALID_ARGUMENT: no frame begins here, the frame is cut off, or another
  // header changes size, format or rate; the frame's number, counted from 0, is in the text.
  absl::Status Next(uint8_t* luma, uint8_t* chroma);

 private:
  // All of `size` bytes, or fewer at the end.
  absl::StatusOr<size_t> ReadAll(uint8_t* to, size_t size);
  // The rest of a line of at most `limit` bytes, without its end.
  absl::StatusOr<std::string> ReadLine(size_t limit);
  absl::Status ReadPlane(uint8_t* to, size_t size);
  absl::Status Skip(size_t size);
  // The line before a frame. OUT_OF_RANGE at the end.
  absl::Status ReadFrameLine();
  // A header between frames, after the bytes that told it from one.
  absl::Status ReadAnotherHeader();
  std::string FrameName() const;

  ByteSource* const bytes_;
  Y4mHeader header_;
  int64_t frames_ = 0;
};

}  // namespace glint::video

#endif  // GLINT_CLIENT_VIDEO_Y4M_H_
