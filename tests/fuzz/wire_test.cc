// The frames' parser and protobuf's must agree about every message: whether it is good, and every field of it.
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glint/v1/feature_detection.pb.h"
#include "server/operations/detect/detect_parser.h"
#include "tests/fuzz/wire_messages.h"

namespace glint {
namespace {

using Bytes = absl::Span<const uint8_t>;
using testing::Random;

// A message in random pieces, each in an allocation of exactly its size, so that a sanitizer sees every byte too far.
class Pieces {
 public:
  Pieces(const std::string& message, Random* random) {
    for (size_t at = 0; at < message.size();) {
      size_t size = static_cast<size_t>(random->OneIn(3) ? random->Uniform(0, 3) : random->Uniform(1, 200));
      size = std::min(size, message.size() - at);
      owned_.emplace_back(new uint8_t[size]);
      std::copy_n(message.data() + at, size, owned_.back().get());
      spans_.emplace_back(owned_.back().get(), size);
      at += size;
    }
  }
  decode::Pieces spans() const { return spans_; }

  std::string Gather(const WireBytes& bytes) const {
    std::vector<Bytes> pieces;
    AppendPieces(spans_, bytes, &pieces);
    return Join(pieces);
  }
  static std::string Join(const std::vector<Bytes>& pieces) {
    std::string out;
    for (const Bytes piece : pieces) out.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return out;
  }

 private:
  std::vector<std::unique_ptr<uint8_t[]>> owned_;
  std::vector<Bytes> spans_;
};

bool Parse(const std::string& bytes, int block, google::protobuf::Message* message) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()), block);
  return message->ParseFromZeroCopyStream(&stream);
}

void ExpectSameImage(const WireImage& wire, const v1::Image& proto, const Pieces& pieces) {
  using Content = WireImage::Content;
  ASSERT_EQ(wire.content == Content::kRaw, proto.has_raw());
  ASSERT_EQ(wire.content == Content::kEncoded, proto.has_encoded());
  if (proto.has_raw()) {
    EXPECT_EQ(wire.format, static_cast<int>(proto.raw().format()));
    EXPECT_EQ(wire.width, proto.raw().width());
    EXPECT_EQ(wire.height, proto.raw().height());
    EXPECT_EQ(wire.stride, proto.raw().stride());
    EXPECT_EQ(pieces.Gather(wire.data), proto.raw().data());
  }
  ASSERT_EQ(wire.content == Content::kShared, proto.has_shared());
  if (proto.has_shared()) {
    EXPECT_EQ(wire.format, static_cast<int>(proto.shared().format()));
    EXPECT_EQ(wire.width, proto.shared().width());
    EXPECT_EQ(wire.height, proto.shared().height());
    EXPECT_EQ(wire.stride, proto.shared().stride());
    EXPECT_EQ(wire.offset, proto.shared().offset());
    EXPECT_EQ(pieces.Gather(wire.data), proto.shared().region());
  }
  if (proto.has_encoded()) {
    EXPECT_EQ(wire.encoding, static_cast<int>(proto.encoded().encoding()));
    EXPECT_EQ(pieces.Gather(wire.data), proto.encoded().data());
  }
}

void ExpectSameRegion(const Region& wire, bool wanted, const v1::ImageRegion& proto) {
  EXPECT_EQ(wire.wanted, wanted);
  EXPECT_EQ(wire.x, proto.x());
  EXPECT_EQ(wire.y, proto.y());
  EXPECT_EQ(wire.width, proto.width());
  EXPECT_EQ(wire.height, proto.height());
}

void ExpectSameRange(const WireGrayRange& wire, bool wanted, const v1::GrayRange& proto) {
  EXPECT_EQ(wire.wanted, wanted);
  EXPECT_EQ(wire.lowest, proto.lowest());
  EXPECT_EQ(wire.highest, proto.highest());
  EXPECT_EQ(wire.has_percentile, proto.has_percentile());
  EXPECT_EQ(wire.has_images, proto.has_images());
  const float percentile = proto.percentile();
  EXPECT_EQ(std::memcmp(&wire.percentile, &percentile, sizeof(percentile)), 0);  // a NaN is not itself
  EXPECT_EQ(wire.images, proto.images());
  EXPECT_EQ(wire.equalize, proto.equalize());
}

// Counts what was compared, so that a generator that makes bad messages only is noticed.
struct Tally {
  int good = 0;
  int bad = 0;
  int raw = 0;
  int encoded = 0;
  int shared = 0;
  int options = 0;
  int cameras = 0;  // with a lens
};

void CompareStreamRequest(const std::string& bytes, Random* random, Tally* tally) {
  v1::DetectStreamRequest proto;
  const bool good = Parse(bytes, random->Uniform(1, 100), &proto);
  const Pieces pieces(bytes, random);
  WireDetectStreamRequest wire;
  ASSERT_EQ(ParseDetectStreamRequest(pieces.spans(), &wire), good);
  ++(good ? tally->good : tally->bad);
  if (!good) return;
  using Content = WireContent;
  ASSERT_EQ(wire.content == Content::kOptions, proto.has_options());
  ASSERT_EQ(wire.content == Content::kFrame, proto.has_frame());
  tally->options += proto.has_options();
  tally->cameras += proto.options().camera().lens_case() != v1::Camera::LENS_NOT_SET;
  if (!proto.has_frame()) return;
  EXPECT_EQ(wire.frame_id, proto.frame().frame_id());
  EXPECT_EQ(wire.max_age_ns, proto.frame().max_age_ns());
  ASSERT_EQ(wire.has_image, proto.frame().has_image());
  ASSERT_EQ(wire.has_mask, proto.frame().has_mask());
  ExpectSameImage(wire.image, proto.frame().image(), pieces);
  ExpectSameImage(wire.mask, proto.frame().mask(), pieces);
  ExpectSameRegion(wire.region, proto.frame().has_region(), proto.frame().region());
  tally->raw += proto.frame().image().has_raw();
  tally->encoded += proto.frame().image().has_encoded();
  tally->shared += proto.frame().image().has_shared();
}

void CompareDetectRequest(const std::string& bytes, Random* random, Tally* tally) {
  v1::DetectRequest proto;
  const bool good = Parse(bytes, random->Uniform(1, 100), &proto);
  const Pieces pieces(bytes, random);
  WireDetectRequest wire;
  wire.has_image = wire.has_mask = wire.has_camera = random->OneIn(2);  // what an earlier message left
  wire.camera = "left";
  wire.image.width = random->Bits();
  ASSERT_EQ(ParseDetectRequest(pieces.spans(), &wire), good);
  ++(good ? tally->good : tally->bad);
  if (!good) return;
  ASSERT_EQ(wire.has_image, proto.has_image());
  ASSERT_EQ(wire.has_mask, proto.has_mask());
  ExpectSameImage(wire.image, proto.image(), pieces);
  ExpectSameImage(wire.mask, proto.mask(), pieces);
  ExpectSameRegion(wire.region, proto.has_region(), proto.region());
  ExpectSameRange(wire.gray_range, proto.has_gray_range(), proto.gray_range());
  v1::DetectorOptions options;
  ASSERT_TRUE(options.ParseFromString(Pieces::Join(wire.detector)));
  EXPECT_EQ(options.SerializeAsString(), proto.detector().SerializeAsString());
  ASSERT_EQ(wire.has_camera, proto.has_camera());
  if (wire.camera.size() <= kMaxCameraBytes) {  // else cut
    v1::Camera camera;
    ASSERT_TRUE(camera.ParseFromString(wire.camera));
    EXPECT_EQ(camera.SerializeAsString(), proto.camera().SerializeAsString());
  }
  tally->cameras += proto.camera().lens_case() != v1::Camera::LENS_NOT_SET;
  tally->raw += proto.image().has_raw();
  tally->encoded += proto.image().has_encoded();
  tally->shared += proto.image().has_shared();
  tally->options += proto.detector().ByteSizeLong() > 0;
}

// Messages per type. GLINT_FUZZ_MESSAGES: how many, for longer runs; GLINT_FUZZ_SEED: others than usual.
int Number(const char* variable, int otherwise) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? otherwise : std::atoi(value);
}

template <typename Compare>
void Fuzz(const google::protobuf::Descriptor& type, Compare compare) {
  const google::protobuf::LogSilencer quiet;  // it reports each string that is not UTF-8
  Random random(static_cast<uint32_t>(Number("GLINT_FUZZ_SEED", 1)));
  Tally tally;
  const int count = Number("GLINT_FUZZ_MESSAGES", 200000);
  for (int i = 0; i < count; ++i) {
    std::string message = testing::RandomMessage(type, &random);
    if (random.OneIn(2)) testing::Damage(&message, &random);
    compare(message, &random, &tally);
    if (::testing::Test::HasFailure()) {
      std::string hex;
      for (const char c : message) absl::StrAppend(&hex, absl::Hex(static_cast<uint8_t>(c), absl::kZeroPad2));
      FAIL() << "message " << i << ": " << hex;
    }
  }
  EXPECT_GT(tally.cameras, count / 1000);
  // Of everything else a good part.
  for (const int seen : {tally.good, tally.bad, tally.raw, tally.encoded, tally.shared, tally.options})
    EXPECT_GT(seen, count / 200);
  std::cout << count << " messages, " << tally.good << " good, raw " << tally.raw << ", encoded " << tally.encoded
            << ", options " << tally.options << "\n";
}

TEST(WireFuzz, StreamRequests) { Fuzz(*v1::DetectStreamRequest::descriptor(), CompareStreamRequest); }

TEST(WireFuzz, DetectRequests) { Fuzz(*v1::DetectRequest::descriptor(), CompareDetectRequest); }

TEST(WireLimits, NestingIsLimitedAsInProtobuf) {
  Random random(1);
  Tally tally;
  constexpr uint32_t kEncoded = v1::Image::kEncodedFieldNumber;
  constexpr uint32_t kOfFrame[] = {v1::DetectStreamRequest::kFrameFieldNumber, v1::DetectFrame::kImageFieldNumber,
                                   kEncoded};
  constexpr uint32_t kOfOptions[] = {v1::DetectRequest::kDetectorFieldNumber, 1, 1};
  constexpr uint32_t kOfImage[] = {v1::DetectRequest::kImageFieldNumber, kEncoded, v1::EncodedImage::kDataFieldNumber};
  for (int levels = 90; levels <= 110; ++levels) {
    for (size_t messages = 0; messages <= 3; ++messages) {
      CompareStreamRequest(testing::Nested(levels, {kOfFrame, messages}), &random, &tally);
      CompareDetectRequest(testing::Nested(levels, {kOfOptions, messages}), &random, &tally);
      CompareDetectRequest(testing::Nested(levels, {kOfImage, messages}), &random, &tally);
    }
  }
  EXPECT_GT(tally.good, 0);
  EXPECT_GT(tally.bad, 0);
}

// A field added to one of these messages has to be read by the parser and compared above.
TEST(WireFuzz, KnowsEveryField) {
  EXPECT_EQ(v1::DetectStreamRequest::descriptor()->field_count(), 2);
  EXPECT_EQ(v1::DetectRequest::descriptor()->field_count(), 6);
  EXPECT_EQ(v1::DetectStreamOptions::descriptor()->field_count(), 8);
  EXPECT_EQ(v1::Camera::descriptor()->field_count(), 14);
  EXPECT_EQ(v1::DetectFrame::descriptor()->field_count(), 5);
  EXPECT_EQ(v1::ImageRegion::descriptor()->field_count(), 4);
  EXPECT_EQ(v1::GrayRange::descriptor()->field_count(), 5);
  EXPECT_EQ(v1::Image::descriptor()->field_count(), 3);
  EXPECT_EQ(v1::SharedImage::descriptor()->field_count(), 6);
  EXPECT_EQ(v1::RawImage::descriptor()->field_count(), 5);
  EXPECT_EQ(v1::EncodedImage::descriptor()->field_count(), 2);
}

}  // namespace
}  // namespace glint
