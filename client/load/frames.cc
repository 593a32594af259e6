#include "client/load/frames.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <random>
#include <utility>

#include "absl/status/status.h"
#include "client/matching_wire.h"
#include "client/wire.h"
#include "features/status_macros.h"
#include "glint/v1/feature_detection.pb.h"
#include "glint/v1/matching.pb.h"

namespace glint::load {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

// Frames and pairs have the same place in the messages of their streams, and so have their numbers.
constexpr int kInMessage = v1::DetectStreamRequest::kFrameFieldNumber;
constexpr int kIdInBody = v1::DetectFrame::kFrameIdFieldNumber;
static_assert(int{v1::StereoStreamRequest::kPairFieldNumber} == kInMessage &&
              int{v1::MatchStreamRequest::kPairFieldNumber} == kInMessage);
static_assert(int{v1::StereoPair::kFrameIdFieldNumber} == kIdInBody &&
              int{v1::MatchPair::kFrameIdFieldNumber} == kIdInBody);

constexpr size_t kSyntheticBytes = 32;  // of a descriptor

// Size of a DetectStreamRequest's bytes before the frame's image: two tags, a length and a number, ten bytes at most
// each.
constexpr size_t kMaxHeaderBytes = 2 + 5 + 10;

// Serializes the start of a DetectStreamRequest whose frame is `frame_id` and `body_bytes` more; its length.
size_t WriteHeader(uint64_t frame_id, size_t body_bytes, uint8_t* header) {
  constexpr uint32_t kFrame = WireFormatLite::MakeTag(kInMessage, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  constexpr uint32_t kId = WireFormatLite::MakeTag(kIdInBody, WireFormatLite::WIRETYPE_VARINT);
  const size_t frame_bytes = 1 + CodedOutputStream::VarintSize64(frame_id) + body_bytes;
  uint8_t* end = CodedOutputStream::WriteTagToArray(kFrame, header);
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(frame_bytes), end);
  end = CodedOutputStream::WriteTagToArray(kId, end);
  end = CodedOutputStream::WriteVarint64ToArray(frame_id, end);
  return static_cast<size_t>(end - header);
}

}  // namespace

Image SyntheticPicture(Shape shape, uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&random](int limit) { return static_cast<int>(random() % static_cast<uint32_t>(limit)); };
  Image image(shape.width, shape.height);
  for (int y = 0; y < shape.height; ++y) std::fill_n(image.row(y), shape.width, uint8_t{128});
  const int64_t rectangles = shape.pixels() / 600;
  for (int64_t i = 0; i < rectangles; ++i) {
    const int width = 3 + below(1 << (2 + below(5))), height = 3 + below(1 << (2 + below(5)));
    const int left = below(shape.width), top = below(shape.height);
    const auto shade = static_cast<uint8_t>(8 + below(240));
    for (int y = top; y < std::min(top + height, shape.height); ++y) {
      std::fill(image.row(y) + left, image.row(y) + std::min(left + width, shape.width), shade);
    }
  }
  for (int y = 0; y < shape.height; ++y) {
    for (int x = 0; x < shape.width; ++x) image.row(y)[x] = static_cast<uint8_t>(image.row(y)[x] + below(7) - 3);
  }
  return image;
}

std::string InFormat(const ImageView& gray, client::PixelFormat format) {
  const size_t bytes = static_cast<size_t>(client::BytesPerPixel(format));
  const size_t row = static_cast<size_t>(gray.width) * bytes;
  constexpr char kNoColour = '\x80';  // of chroma
  std::string pixels;
  pixels.reserve(row * static_cast<size_t>(client::RowsOf(format, gray.height)));
  for (int y = 0; y < gray.height; ++y) {
    for (int x = 0; x < gray.width; ++x) {
      const char value = static_cast<char>(gray.row(y)[x]);
      pixels.append(bytes, value);
      if (format == client::PixelFormat::kYuyv) pixels.back() = kNoColour;
    }
  }
  pixels.resize(row * static_cast<size_t>(client::RowsOf(format, gray.height)), kNoColour);
  return pixels;
}

absl::StatusOr<std::string> SerializeOptions(const client::StreamOptions& options) {
  v1::DetectStreamRequest message;
  GLINT_RETURN_IF_ERROR(client::ToWire(options, message.mutable_options()));
  return message.SerializeAsString();
}

std::string SerializeOptions(const client::MatchStreamOptions& options) {
  v1::MatchStreamRequest message;
  client::ToWire(options, message.mutable_options());
  return message.SerializeAsString();
}

absl::StatusOr<std::string> SerializeOptions(const client::StereoStreamOptions& options) {
  v1::StereoStreamRequest message;
  GLINT_RETURN_IF_ERROR(client::ToWire(options, message.mutable_options()));
  return message.SerializeAsString();
}

std::vector<uint8_t> SyntheticDescriptors(int count, uint32_t seed) {
  std::mt19937 common(0), own(seed);
  const auto byte = [](std::mt19937* random) { return static_cast<uint8_t>((*random)() >> 24); };
  std::vector<uint8_t> rows(static_cast<size_t>(count) * kSyntheticBytes);
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint8_t shared = byte(&common), turned = byte(&own) & byte(&own) & byte(&own), alone = byte(&own);
    rows[i] = i / kSyntheticBytes % 3 == 0 ? shared ^ turned : alone;
  }
  return rows;
}

absl::StatusOr<FrameBody> FrameBody::Of(const client::ImageInput& image) {
  v1::DetectFrame frame;
  GLINT_RETURN_IF_ERROR(client::ToWire("image", image, frame.mutable_image()));
  if (image.region.wanted()) client::ToWire(image.region, frame.mutable_region());
  FrameBody body;
  body.body_ = frame.SerializeAsString();
  body.slots_ = {image.slot};
  return body;
}

absl::StatusOr<FrameBody> FrameBody::OfStereoPair(const client::ImageInput& left, const client::ImageInput& right) {
  v1::StereoPair pair;
  GLINT_RETURN_IF_ERROR(client::ToWire(left, right, &pair));
  FrameBody body;
  body.body_ = pair.SerializeAsString();
  body.slots_ = {left.slot, right.slot};
  return body;
}

absl::StatusOr<FrameBody> FrameBody::OfPair(const client::MatchSide& query, const client::MatchSide& train) {
  v1::MatchPair pair;
  GLINT_RETURN_IF_ERROR(client::ToWire("query", query, pair.mutable_query()));
  GLINT_RETURN_IF_ERROR(client::ToWire("train", train, pair.mutable_train()));
  FrameBody body;
  body.body_ = pair.SerializeAsString();
  body.slots_ = {query.image.slot, train.image.slot};
  return body;
}

grpc::ByteBuffer FrameBody::Message(uint64_t frame_id, int64_t* copied) const {
  uint8_t header[kMaxHeaderBytes];
  const size_t header_bytes = WriteHeader(frame_id, body_.size(), header);
  *copied += static_cast<int64_t>(header_bytes);
  const grpc::Slice slices[] = {grpc::Slice(header, header_bytes),
                                grpc::Slice(body_.data(), body_.size(), grpc::Slice::STATIC_SLICE)};
  return grpc::ByteBuffer(slices, 2);
}

size_t FrameBody::size() const {
  uint8_t header[kMaxHeaderBytes];
  return WriteHeader(0, body_.size(), header) + body_.size();
}

}  // namespace glint::load
