// The frames that a load generator sends, serialized once, and the pictures they are made of.
#ifndef GLINT_CLIENT_LOAD_FRAMES_H_
#define GLINT_CLIENT_LOAD_FRAMES_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/image.h"
#include "client/matching.h"
#include "client/stream.h"
#include "features/types.h"

namespace glint::load {

// Rectangles of many sizes and shades over each other, with a little noise: corners at all scales, and about as many
// for a given area as in a photograph of buildings. A function of its arguments alone.
Image SyntheticPicture(Shape shape, uint32_t seed);

// The pixels of `gray` in memory order of `format`, rows without gaps; colours are shades of grey, so that the server
// gets `gray` back. Of a Bayer mosaic the samples are `gray`, which the conversion blurs.
std::string InFormat(const ImageView& gray, client::PixelFormat format);

// `count` descriptors of 256 bits, row after row. Every third one of a set of another seed is like this set's, with
// some bits turned over; the others are random.
std::vector<uint8_t> SyntheticDescriptors(int count, uint32_t seed);

// The first message of a stream.
absl::StatusOr<std::string> SerializeOptions(const client::StreamOptions& options);
std::string SerializeOptions(const client::MatchStreamOptions& options);
absl::StatusOr<std::string> SerializeOptions(const client::StereoStreamOptions& options);

// One frame or pair but for its number. Every message made of it refers to the same bytes; so this must outlive them,
// and making one copies its few bytes of header only. Pixels in shared memory stay where they are, and as they are.
class FrameBody {
 public:
  // Errors of DetectStream::Write().
  static absl::StatusOr<FrameBody> Of(const client::ImageInput& image);
  // Frames of StereoStream and of MatchStream. Errors of their Write().
  static absl::StatusOr<FrameBody> OfStereoPair(const client::ImageInput& left, const client::ImageInput& right);
  static absl::StatusOr<FrameBody> OfPair(const client::MatchSide& query, const client::MatchSide& train);

  // A message; the number of its bytes that were copied to make it is added to `copied`.
  grpc::ByteBuffer Message(uint64_t frame_id, int64_t* copied) const;
  // What Message(0) has.
  size_t size() const;

 private:
  std::string body_;  // of a v1::DetectFrame, StereoPair or MatchPair without number
  std::vector<client::SharedSlot> slots_;
};

}  // namespace glint::load

#endif  // GLINT_CLIENT_LOAD_FRAMES_H_
