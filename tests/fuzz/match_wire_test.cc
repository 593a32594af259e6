// The parsers of matches, pairs of eyes and tracked frames against protobuf: what it accepts is a good message with the
// same content, and what protobuf serializes it accepts.
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "glint/v1/localization.pb.h"
#include "glint/v1/matching.pb.h"
#include "glint/v1/tracking.pb.h"
#include "server/operations/localize/localize_parser.h"
#include "server/operations/match/match_parser.h"
#include "server/operations/stereo/stereo_parser.h"
#include "server/operations/track/track_parser.h"
#include "tests/fuzz/wire_messages.h"

namespace glint {
namespace {

using testing::Random;

// A message in random pieces, each in an allocation of exactly its size, so that a sanitizer sees every byte too far.
class Pieces {
 public:
  Pieces(const std::string& message, Random* random) {
    for (size_t at = 0; at < message.size();) {
      const size_t size = std::min(message.size() - at, static_cast<size_t>(random->Uniform(1, 100)));
      owned_.emplace_back(new uint8_t[size]);
      std::copy_n(message.data() + at, size, owned_.back().get());
      spans_.emplace_back(owned_.back().get(), size);
      at += size;
    }
  }
  decode::Pieces spans() const { return spans_; }

 private:
  std::vector<std::unique_ptr<uint8_t[]>> owned_;
  std::vector<absl::Span<const uint8_t>> spans_;
};

// Bit for bit, since a NaN is not itself.
template <typename T>
bool Same(const std::vector<T>& values, const google::protobuf::RepeatedField<T>& field) {
  return values.size() == static_cast<size_t>(field.size()) &&
         (values.empty() || std::memcmp(values.data(), field.data(), values.size() * sizeof(T)) == 0);
}

void ExpectSameSet(const DescriptorSet& set, const v1::DescriptorSet& proto) {
  EXPECT_EQ(std::string(set.rows.begin(), set.rows.end()), proto.data());
  EXPECT_EQ(static_cast<uint32_t>(set.bytes), proto.descriptor_bytes());
  EXPECT_TRUE(Same(set.x, proto.x()) && Same(set.y, proto.y()));
  EXPECT_TRUE(Same(set.octave, proto.octave()) && Same(set.angle, proto.angle()));
}

template <typename Pair>
void ExpectSamePair(const DescriptorSet& query, const DescriptorSet& train, const ConditionArrays& c,
                    const Pair& proto) {
  if (proto.query().has_descriptors()) ExpectSameSet(query, proto.query().descriptors());
  if (proto.train().has_descriptors()) ExpectSameSet(train, proto.train().descriptors());
  EXPECT_TRUE(Same(c.x, proto.conditions().x()) && Same(c.y, proto.conditions().y()));
  EXPECT_TRUE(Same(c.radius, proto.conditions().radius()));
  EXPECT_TRUE(Same(c.min_octave, proto.conditions().min_octave()));
  EXPECT_TRUE(Same(c.max_octave, proto.conditions().max_octave()));
}

bool Check(const v1::MatchStreamRequest& proto, decode::Pieces pieces) {
  WireMatchStreamRequest wire;
  if (!ParseMatchStreamRequest(pieces, &wire)) return false;
  EXPECT_EQ(wire.content == WireContent::kOptions, proto.has_options());
  EXPECT_EQ(wire.content == WireContent::kFrame, proto.has_pair());
  EXPECT_EQ(wire.content == WireContent::kEdit, proto.has_edit());
  if (proto.has_pair()) {
    EXPECT_EQ(wire.frame_id, proto.pair().frame_id());
    EXPECT_EQ(wire.max_age_ns, proto.pair().max_age_ns());
    DescriptorSet query, train;
    ConditionArrays conditions;
    UnpackPair(pieces, &query, &train, &conditions);
    ExpectSamePair(query, train, conditions, proto.pair());
  }
  if (proto.has_edit()) {
    EXPECT_EQ(wire.frame_id, proto.edit().frame_id());
    SetChange change;
    UnpackEdit(pieces, &change);
    EXPECT_EQ(change.set, proto.edit().set().substr(0, kMaxSetName + 1));
    EXPECT_TRUE(Same(change.remove, proto.edit().remove()));
    EXPECT_EQ(change.forget, proto.edit().forget());
    EXPECT_EQ(change.adds, proto.edit().has_add());
    ExpectSameSet(change.add, proto.edit().add());
  }
  return true;
}

bool Check(const v1::MatchRequest& proto, decode::Pieces pieces) {
  WireMatchRequest wire;
  if (!ParseMatchRequest(pieces, &wire)) return false;
  DescriptorSet query, train;
  ConditionArrays conditions;
  UnpackRequest(pieces, &query, &train, &conditions);
  ExpectSamePair(query, train, conditions, proto);
  return true;
}

bool Check(const v1::StereoStreamRequest& proto, decode::Pieces pieces) {
  WireStereoStreamRequest wire;
  if (!ParseStereoStreamRequest(pieces, &wire)) return false;
  EXPECT_EQ(wire.content == WireContent::kFrame, proto.has_pair());
  if (!proto.has_pair()) return true;
  EXPECT_EQ(wire.frame_id, proto.pair().frame_id());
  EXPECT_EQ(wire.left_time_ns, proto.pair().left_time_ns());
  EXPECT_EQ(wire.right_time_ns, proto.pair().right_time_ns());
  EXPECT_EQ(wire.eyes.has_left, proto.pair().has_left());
  EXPECT_EQ(wire.eyes.has_right, proto.pair().has_right());
  return true;
}

template <typename Field, typename Value>
void ExpectSameBits(const Field& field, const std::vector<Value>& values) {
  ASSERT_EQ(static_cast<size_t>(field.size()), values.size());
  EXPECT_TRUE(values.empty() || std::memcmp(field.data(), values.data(), values.size() * sizeof(Value)) == 0);
}

void CheckPredictions(const v1::TrackFrame& proto, const WireTrackStreamRequest& wire, decode::Pieces pieces) {
  EXPECT_EQ(wire.predictions, static_cast<size_t>(proto.predictions_size()));
  size_t predicted = 0;
  for (const v1::TrackPrediction& of : proto.predictions()) {
    const int homography = of.homography_size() > 9 ? of.homography_size() : 0;
    predicted += static_cast<size_t>(std::max({homography, of.ids_size(), of.x_size(), of.y_size()}));
  }
  EXPECT_EQ(wire.predicted, predicted);
  TrackPredictions unpacked;
  if (wire.predictions > unpacked.of.size()) return;  // CheckPredictions() refuses
  UnpackPredictions(pieces, &unpacked);
  ASSERT_EQ(unpacked.count, wire.predictions);
  for (size_t i = 0; i < unpacked.count; ++i) {
    const v1::TrackPrediction& of = proto.predictions(static_cast<int>(i));
    EXPECT_EQ(of.camera(), unpacked.of[i].camera);
    ExpectSameBits(of.homography(), unpacked.of[i].homography);
    ExpectSameBits(of.ids(), unpacked.of[i].ids);
    ExpectSameBits(of.x(), unpacked.of[i].x);
    ExpectSameBits(of.y(), unpacked.of[i].y);
  }
}

bool Check(const v1::TrackStreamRequest& proto, decode::Pieces pieces) {
  WireTrackStreamRequest wire;
  if (!ParseTrackStreamRequest(pieces, &wire)) return false;
  EXPECT_EQ(wire.content == WireContent::kOptions, proto.has_options());
  EXPECT_EQ(wire.content == WireContent::kFrame, proto.has_frame());
  EXPECT_EQ(wire.content == WireContent::kEdit, proto.has_reset() || proto.has_forget() || proto.has_add());
  if (wire.content == WireContent::kEdit) {
    EXPECT_EQ(wire.frame_id, proto.reset().frame_id() + proto.forget().frame_id() + proto.add().frame_id());
  }
  if (!proto.has_frame()) return true;
  EXPECT_EQ(wire.frame_id, proto.frame().frame_id());
  EXPECT_EQ(wire.max_age_ns, proto.frame().max_age_ns());
  EXPECT_EQ(wire.time_ns, proto.frame().time_ns());
  EXPECT_EQ(wire.detect, proto.frame().detect());
  EXPECT_EQ(wire.images, static_cast<size_t>(proto.frame().images_size()));
  CheckPredictions(proto.frame(), wire, pieces);
  for (size_t c = 0; c < std::min(wire.images, wire.image.size()); ++c) {
    const v1::Image& image = proto.frame().images(static_cast<int>(c));
    EXPECT_EQ(wire.image[c].content == WireImage::Content::kRaw, image.has_raw());
    EXPECT_EQ(wire.image[c].content == WireImage::Content::kEncoded, image.has_encoded());
    if (image.has_raw()) {
      EXPECT_EQ(wire.image[c].width, image.raw().width());
    }
    if (image.has_encoded()) {
      EXPECT_EQ(wire.image[c].data.size, image.encoded().data().size());
    }
  }
  return true;
}

bool Check(const v1::LocalizeStreamRequest& proto, decode::Pieces pieces) {
  WireLocalizeStreamRequest wire;
  if (!ParseLocalizeStreamRequest(pieces, &wire)) return false;
  EXPECT_EQ(wire.content == WireContent::kOptions, proto.has_options());
  EXPECT_EQ(wire.content == WireContent::kFrame, proto.has_pair() || proto.has_relocalize());
  EXPECT_EQ(wire.content == WireContent::kEdit, proto.has_get_map() || proto.has_save_map() || proto.has_load_map());
  EXPECT_EQ(wire.relocalize, proto.has_relocalize());
  if (wire.content == WireContent::kEdit) {
    EXPECT_EQ(wire.frame_id, proto.get_map().frame_id() + proto.save_map().frame_id() + proto.load_map().frame_id());
  }
  if (wire.content != WireContent::kFrame) return true;
  const v1::LocalizePair& pair = proto.has_pair() ? proto.pair() : proto.relocalize();
  EXPECT_EQ(wire.frame_id, pair.frame_id());
  EXPECT_EQ(wire.max_age_ns, pair.max_age_ns());
  EXPECT_EQ(wire.time_ns, pair.time_ns());
  EXPECT_EQ(wire.eyes.has_left, pair.has_left());
  EXPECT_EQ(wire.eyes.has_right, pair.has_right());
  EXPECT_EQ(wire.has_depth, pair.has_depth());
  EXPECT_EQ(wire.depth.content == WireImage::Content::kRaw, pair.depth().has_raw());
  EXPECT_EQ(wire.depth.content == WireImage::Content::kEncoded, pair.depth().has_encoded());
  EXPECT_EQ(wire.depth.content == WireImage::Content::kShared, pair.depth().has_shared());
  EXPECT_EQ(wire.depth.width, pair.depth().raw().width() + pair.depth().shared().width());
  EXPECT_EQ(wire.depth.encoding, pair.depth().encoded().encoding());
  return true;
}

// Options are not looked at in a stream: the call parses those of its first message, and refuses later ones.
bool IsTaken(const v1::MatchStreamRequest&, decode::Pieces pieces) {
  WireMatchStreamRequest wire;
  return ParseMatchStreamRequest(pieces, &wire) && wire.content != WireContent::kOptions;
}
bool IsTaken(const v1::StereoStreamRequest&, decode::Pieces pieces) {
  WireStereoStreamRequest wire;
  return ParseStereoStreamRequest(pieces, &wire) && wire.content != WireContent::kOptions;
}
// Nor are edits of tracks, but for their number: they are small, and protobuf's.
bool IsTaken(const v1::TrackStreamRequest&, decode::Pieces pieces) {
  WireTrackStreamRequest wire;
  return ParseTrackStreamRequest(pieces, &wire) &&
         (wire.content == WireContent::kFrame || wire.content == WireContent::kNone);
}
// Nor are requests about maps, which are small, too.
bool IsTaken(const v1::LocalizeStreamRequest&, decode::Pieces pieces) {
  WireLocalizeStreamRequest wire;
  return ParseLocalizeStreamRequest(pieces, &wire) &&
         (wire.content == WireContent::kFrame || wire.content == WireContent::kNone);
}
bool IsTaken(const v1::MatchRequest&, decode::Pieces pieces) {
  WireMatchRequest wire;
  return ParseMatchRequest(pieces, &wire) && v1::DetectorOptions().ParseFromString(wire.detector) &&
         v1::MatchOptions().ParseFromString(wire.options);
}

template <typename Proto>
void Fuzz() {
  const google::protobuf::LogSilencer quiet;  // it reports each string that is not UTF-8
  Random random(1);
  constexpr int kMessages = 50000;
  int accepted = 0, refused = 0, serialized = 0;
  for (int i = 0; i < kMessages && !::testing::Test::HasFailure(); ++i) {
    std::string bytes = testing::RandomMessage(*Proto::descriptor(), &random);
    if (random.OneIn(2)) testing::Damage(&bytes, &random);
    SCOPED_TRACE(absl::BytesToHexString(bytes));
    Proto proto;
    const bool good = proto.ParseFromString(bytes);
    ++(good && Check(proto, Pieces(bytes, &random).spans()) ? accepted : refused);
    if (!good) {
      EXPECT_FALSE(IsTaken(proto, Pieces(bytes, &random).spans())) << "taken, but damaged";
      continue;
    }
    EXPECT_TRUE(Check(proto, Pieces(proto.SerializeAsString(), &random).spans())) << "good, but refused";
    ++serialized;
  }
  for (const int seen : {accepted, refused, serialized}) EXPECT_GT(seen, kMessages / 100);
}

TEST(MatchWireFuzz, StreamRequests) { Fuzz<v1::MatchStreamRequest>(); }
TEST(MatchWireFuzz, Requests) { Fuzz<v1::MatchRequest>(); }
TEST(MatchWireFuzz, StereoRequests) { Fuzz<v1::StereoStreamRequest>(); }
TEST(MatchWireFuzz, LocalizeRequests) { Fuzz<v1::LocalizeStreamRequest>(); }
TEST(MatchWireFuzz, TrackRequests) { Fuzz<v1::TrackStreamRequest>(); }

}  // namespace
}  // namespace glint
