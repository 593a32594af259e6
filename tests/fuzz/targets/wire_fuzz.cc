// The frames' parser against protobuf's: both must agree whether a message is good, and about every field of it.
// Input: one byte for the type, four for where the message is cut, the message.
#include <google/protobuf/stubs/logging.h>

#include <cstring>
#include <string>
#include <vector>

#include "glint/v1/feature_detection.pb.h"
#include "server/operations/detect/detect_parser.h"
#include "tests/fuzz/targets/input.h"

namespace glint {
namespace {

using fuzz::CutBytes;

std::string Gather(const CutBytes& message, const WireBytes& bytes) {
  std::vector<fuzz::Bytes> pieces;
  AppendPieces(message.spans(), bytes, &pieces);
  std::string out;
  for (const fuzz::Bytes piece : pieces) out += fuzz::ToString(piece);
  return out;
}

template <typename Proto>
void CheckLayout(const WireImage& wire, const Proto& proto) {
  FUZZ_CHECK(wire.format == static_cast<int>(proto.format()));
  FUZZ_CHECK(wire.width == proto.width() && wire.height == proto.height() && wire.stride == proto.stride());
}

void CheckImage(const WireImage& wire, const v1::Image& proto, const CutBytes& message) {
  using Content = WireImage::Content;
  FUZZ_CHECK((wire.content == Content::kRaw) == proto.has_raw());
  FUZZ_CHECK((wire.content == Content::kEncoded) == proto.has_encoded());
  FUZZ_CHECK((wire.content == Content::kShared) == proto.has_shared());
  if (proto.has_raw()) {
    CheckLayout(wire, proto.raw());
    FUZZ_CHECK(Gather(message, wire.data) == proto.raw().data());
  }
  if (proto.has_shared()) {
    CheckLayout(wire, proto.shared());
    FUZZ_CHECK(wire.offset == proto.shared().offset());
    FUZZ_CHECK(Gather(message, wire.data) == proto.shared().region());
  }
  if (proto.has_encoded()) {
    FUZZ_CHECK(wire.encoding == static_cast<int>(proto.encoded().encoding()));
    FUZZ_CHECK(Gather(message, wire.data) == proto.encoded().data());
  }
}

void CheckRegion(const Region& wire, bool wanted, const v1::ImageRegion& proto) {
  FUZZ_CHECK(wire.wanted == wanted);
  FUZZ_CHECK(wire.x == proto.x() && wire.y == proto.y());
  FUZZ_CHECK(wire.width == proto.width() && wire.height == proto.height());
}

void CheckRange(const WireGrayRange& wire, bool wanted, const v1::GrayRange& proto) {
  FUZZ_CHECK(wire.wanted == wanted);
  FUZZ_CHECK(wire.lowest == proto.lowest() && wire.highest == proto.highest());
  FUZZ_CHECK(wire.has_percentile == proto.has_percentile() && wire.has_images == proto.has_images());
  const float percentile = proto.percentile();
  FUZZ_CHECK(std::memcmp(&wire.percentile, &percentile, sizeof(percentile)) == 0);  // a NaN is not itself
  FUZZ_CHECK(wire.images == proto.images() && wire.equalize == proto.equalize());
}

void CheckStreamRequest(fuzz::Bytes bytes, uint32_t seed) {
  v1::DetectStreamRequest proto;
  const bool good = proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  const CutBytes message(bytes, seed);
  WireDetectStreamRequest wire;
  FUZZ_CHECK(ParseDetectStreamRequest(message.spans(), &wire) == good);
  if (!good) return;
  FUZZ_CHECK((wire.content == WireContent::kOptions) == proto.has_options());
  FUZZ_CHECK((wire.content == WireContent::kFrame) == proto.has_frame());
  if (!proto.has_frame()) return;
  const v1::DetectFrame& frame = proto.frame();
  FUZZ_CHECK(wire.frame_id == frame.frame_id() && wire.max_age_ns == frame.max_age_ns());
  FUZZ_CHECK(wire.has_image == frame.has_image() && wire.has_mask == frame.has_mask());
  CheckImage(wire.image, frame.image(), message);
  CheckImage(wire.mask, frame.mask(), message);
  CheckRegion(wire.region, frame.has_region(), frame.region());
}

void CheckDetectRequest(fuzz::Bytes bytes, uint32_t seed) {
  v1::DetectRequest proto;
  const bool good = proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  const CutBytes message(bytes, seed);
  WireDetectRequest wire;
  wire.has_image = wire.has_mask = wire.has_camera = seed % 2 != 0;  // what an earlier message left
  FUZZ_CHECK(ParseDetectRequest(message.spans(), &wire) == good);
  if (!good) return;
  FUZZ_CHECK(wire.has_image == proto.has_image() && wire.has_mask == proto.has_mask());
  CheckImage(wire.image, proto.image(), message);
  CheckImage(wire.mask, proto.mask(), message);
  CheckRegion(wire.region, proto.has_region(), proto.region());
  CheckRange(wire.gray_range, proto.has_gray_range(), proto.gray_range());
  std::string serialized;
  for (const fuzz::Bytes piece : wire.detector) serialized += fuzz::ToString(piece);
  v1::DetectorOptions options;
  FUZZ_CHECK(options.ParseFromString(serialized));
  FUZZ_CHECK(options.SerializeAsString() == proto.detector().SerializeAsString());
  FUZZ_CHECK(wire.has_camera == proto.has_camera());
  if (wire.camera.size() > kMaxCameraBytes) return;  // cut
  v1::Camera camera;
  FUZZ_CHECK(camera.ParseFromString(wire.camera));
  FUZZ_CHECK(camera.SerializeAsString() == proto.camera().SerializeAsString());
}

}  // namespace
}  // namespace glint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const google::protobuf::LogSilencer quiet;  // it reports each string that is not UTF-8
  glint::fuzz::Input input(data, size);
  const auto type = input.Number<uint8_t>();
  const auto seed = input.Number<uint32_t>();
  (type % 2 == 0 ? glint::CheckStreamRequest : glint::CheckDetectRequest)(input.Rest(), seed);
  return 0;
}
