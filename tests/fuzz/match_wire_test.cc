// The parsers of matches, stereo pairs, tracked frames and located pairs against protobuf: they accept and refuse what
// it does, and find the same content.
#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/unknown_field_set.h>
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
#include "server/wire/options_images.h"
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
  EXPECT_EQ(set.bytes, proto.descriptor_bytes());
  EXPECT_TRUE(Same(set.x, proto.x()) && Same(set.y, proto.y()));
  EXPECT_TRUE(Same(set.octave, proto.octave()) && Same(set.angle, proto.angle()));
}

template <typename Pair>
void ExpectSamePair(const DescriptorSet& query, const DescriptorSet& train, const ConditionArrays& c,
                    const Pair& proto) {
  ExpectSameSet(query, proto.query().descriptors());
  ExpectSameSet(train, proto.train().descriptors());
  EXPECT_TRUE(Same(c.x, proto.conditions().x()) && Same(c.y, proto.conditions().y()));
  EXPECT_TRUE(Same(c.radius, proto.conditions().radius()));
  EXPECT_TRUE(Same(c.min_octave, proto.conditions().min_octave()));
  EXPECT_TRUE(Same(c.max_octave, proto.conditions().max_octave()));
}

void ExpectSameImage(const WireImage& image, const v1::Image& proto) {
  EXPECT_EQ(image.content == WireImage::Content::kRaw, proto.has_raw());
  EXPECT_EQ(image.content == WireImage::Content::kEncoded, proto.has_encoded());
  EXPECT_EQ(image.content == WireImage::Content::kShared, proto.has_shared());
  EXPECT_EQ(image.width, proto.raw().width() + proto.shared().width());
  EXPECT_EQ(image.encoding, proto.encoded().encoding());
  EXPECT_EQ(image.data.size,
            proto.raw().data().size() + proto.encoded().data().size() + proto.shared().region().size());
}

void ExpectSameSide(const WireMatchSide& side, const v1::MatchSide& proto, decode::Pieces pieces) {
  using Content = WireMatchSide::Content;
  EXPECT_EQ(side.content == Content::kImage, proto.has_image());
  EXPECT_EQ(side.content == Content::kDescriptors, proto.has_descriptors());
  EXPECT_EQ(side.content == Content::kSet, proto.has_set());
  ExpectSameImage(side.image, proto.image());
  EXPECT_EQ(side.sizes.rows, proto.descriptors().data().size());
  EXPECT_EQ(NameFromWire(pieces, side.set), proto.set().substr(0, kMaxSetName + 1));
}

void ExpectSameCamera(const std::string& wire, const v1::Camera& proto) {
  if (wire.size() > kMaxCameraBytes) return;  // cut
  v1::Camera camera;
  EXPECT_TRUE(camera.ParseFromString(wire));
  EXPECT_EQ(camera.SerializeAsString(), proto.SerializeAsString());
}

bool Check(const v1::MatchStreamRequest& proto, decode::Pieces pieces) {
  WireMatchStreamRequest wire;
  if (!ParseMatchStreamRequest(pieces, &wire)) return false;
  EXPECT_EQ(wire.content == WireContent::kOptions, proto.has_options());
  EXPECT_EQ(wire.content == WireContent::kFrame, proto.has_pair());
  EXPECT_EQ(wire.content == WireContent::kEdit, proto.has_update_set() || proto.has_forget_set());
  EXPECT_EQ(wire.forgets, proto.has_forget_set());
  if (proto.has_pair()) {
    EXPECT_EQ(wire.frame_id, proto.pair().frame_id());
    EXPECT_EQ(wire.max_age_ns, proto.pair().max_age_ns());
    ExpectSameSide(wire.match.query, proto.pair().query(), pieces);
    ExpectSameSide(wire.match.train, proto.pair().train(), pieces);
    DescriptorSet query, train;
    ConditionArrays conditions;
    UnpackPair(pieces, wire.match, &query, &train, &conditions);
    ExpectSamePair(query, train, conditions, proto.pair());
  }
  if (wire.content == WireContent::kEdit) {
    EXPECT_EQ(wire.frame_id, proto.update_set().frame_id() + proto.forget_set().frame_id());
    EXPECT_EQ(NameFromWire(pieces, wire.set),
              (proto.update_set().set() + proto.forget_set().set()).substr(0, kMaxSetName + 1));
    EXPECT_EQ(wire.update.remove, static_cast<size_t>(proto.update_set().remove_size()));
    SetUpdate update;
    UnpackUpdate(pieces, wire.update, &update);
    EXPECT_TRUE(Same(update.remove, proto.update_set().remove()));
    EXPECT_EQ(update.adds, proto.update_set().has_add());
    ExpectSameSet(update.add, proto.update_set().add());
  }
  return true;
}

bool Check(const v1::MatchRequest& proto, decode::Pieces pieces) {
  WireMatchRequest wire;
  if (!ParseMatchRequest(pieces, &wire)) return false;
  v1::DetectorOptions detector;
  v1::MatchOptions match;
  EXPECT_TRUE(detector.ParseFromString(wire.detector) && match.ParseFromString(wire.options));
  EXPECT_EQ(detector.SerializeAsString(), proto.detector().SerializeAsString());
  EXPECT_EQ(match.SerializeAsString(), proto.match().SerializeAsString());
  EXPECT_EQ(wire.gray_range.wanted, proto.has_gray_range());
  EXPECT_EQ(wire.gray_range.lowest, proto.gray_range().lowest());
  EXPECT_EQ(wire.gray_range.highest, proto.gray_range().highest());
  EXPECT_EQ(wire.has_query_camera, proto.has_query_camera());
  EXPECT_EQ(wire.has_train_camera, proto.has_train_camera());
  ExpectSameCamera(wire.query_camera, proto.query_camera());
  ExpectSameCamera(wire.train_camera, proto.train_camera());
  ExpectSameSide(wire.match.query, proto.query(), pieces);
  ExpectSameSide(wire.match.train, proto.train(), pieces);
  DescriptorSet query, train;
  ConditionArrays conditions;
  UnpackRequest(pieces, wire.match, &query, &train, &conditions);
  ExpectSamePair(query, train, conditions, proto);
  return true;
}

// Of a StereoPair or a LocalizePair.
template <typename Pair>
void ExpectSameMasks(const WireImagePair& wire, const Pair& proto) {
  EXPECT_EQ(wire.has_mask, proto.has_mask());
  EXPECT_EQ(wire.has_right_mask, proto.has_right_mask());
  ExpectSameImage(wire.mask, proto.mask());
  ExpectSameImage(wire.right_mask, proto.right_mask());
}

bool Check(const v1::StereoStreamRequest& proto, decode::Pieces pieces) {
  WireStereoStreamRequest wire;
  if (!ParseStereoStreamRequest(pieces, &wire)) return false;
  EXPECT_EQ(wire.content == WireContent::kOptions, proto.has_options());
  EXPECT_EQ(wire.content == WireContent::kFrame, proto.has_pair());
  if (!proto.has_pair()) return true;
  EXPECT_EQ(wire.frame_id, proto.pair().frame_id());
  EXPECT_EQ(wire.left_time_ns, proto.pair().left_time_ns());
  EXPECT_EQ(wire.right_time_ns, proto.pair().right_time_ns());
  EXPECT_EQ(wire.pair.has_left, proto.pair().has_left());
  EXPECT_EQ(wire.pair.has_right, proto.pair().has_right());
  ExpectSameImage(wire.pair.left, proto.pair().left());
  ExpectSameImage(wire.pair.right, proto.pair().right());
  ExpectSameMasks(wire.pair, proto.pair());
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
  EXPECT_EQ(wire.content == WireContent::kEdit,
            proto.has_reset_tracks() || proto.has_forget_tracks() || proto.has_add_points());
  if (wire.content == WireContent::kEdit) {
    EXPECT_EQ(wire.frame_id,
              proto.reset_tracks().frame_id() + proto.forget_tracks().frame_id() + proto.add_points().frame_id());
  }
  if (!proto.has_frame()) return true;
  EXPECT_EQ(wire.frame_id, proto.frame().frame_id());
  EXPECT_EQ(wire.max_age_ns, proto.frame().max_age_ns());
  EXPECT_EQ(wire.time_ns, proto.frame().time_ns());
  EXPECT_EQ(wire.detect, proto.frame().detect());
  EXPECT_EQ(wire.images, static_cast<size_t>(proto.frame().images_size()));
  CheckPredictions(proto.frame(), wire, pieces);
  EXPECT_EQ(wire.masks, static_cast<size_t>(proto.frame().masks_size()));
  for (size_t c = 0; c < std::min(wire.masks, wire.mask.size()); ++c) {
    ExpectSameImage(wire.mask[c], proto.frame().masks(static_cast<int>(c)));
  }
  for (size_t c = 0; c < std::min(wire.images, wire.image.size()); ++c) {
    ExpectSameImage(wire.image[c], proto.frame().images(static_cast<int>(c)));
  }
  return true;
}

void CheckImu(const v1::ImuReadings& proto, const WireImuReadings& wire, decode::Pieces pieces) {
  EXPECT_EQ(wire.gyroscope_times, static_cast<size_t>(proto.gyroscope_time_ns_size()));
  EXPECT_EQ(wire.angular_velocities, static_cast<size_t>(proto.angular_velocity_size()));
  EXPECT_EQ(wire.accelerometer_times, static_cast<size_t>(proto.accelerometer_time_ns_size()));
  EXPECT_EQ(wire.accelerations, static_cast<size_t>(proto.acceleration_size()));
  ImuValues values;
  values.gyroscope_time_ns = values.accelerometer_time_ns = {1, 2};  // what an earlier message left
  values.angular_velocity = values.acceleration = {3};
  WireLocalizeStreamRequest again;
  EXPECT_TRUE(ParseLocalizeStreamRequest(pieces, &again, &values));
  EXPECT_TRUE(Same(values.gyroscope_time_ns, proto.gyroscope_time_ns()));
  EXPECT_TRUE(Same(values.angular_velocity, proto.angular_velocity()));
  EXPECT_TRUE(Same(values.accelerometer_time_ns, proto.accelerometer_time_ns()));
  EXPECT_TRUE(Same(values.acceleration, proto.acceleration()));
}

bool Check(const v1::LocalizeStreamRequest& proto, decode::Pieces pieces) {
  WireLocalizeStreamRequest wire;
  if (!ParseLocalizeStreamRequest(pieces, &wire)) return false;
  EXPECT_EQ(wire.content == WireContent::kOptions, proto.has_options());
  EXPECT_EQ(wire.content == WireContent::kFrame, proto.has_pair() || proto.has_relocalize());
  EXPECT_EQ(wire.content == WireContent::kEdit,
            proto.has_get_map() || proto.has_save_map() || proto.has_load_map() || proto.has_add_imu());
  EXPECT_EQ(wire.relocalize, proto.has_relocalize());
  EXPECT_EQ(wire.has_imu, proto.has_add_imu() || proto.pair().has_imu() || proto.relocalize().has_imu());
  if (wire.content == WireContent::kEdit) {
    EXPECT_EQ(wire.frame_id, proto.get_map().frame_id() + proto.save_map().frame_id() + proto.load_map().frame_id() +
                                 proto.add_imu().frame_id());
    CheckImu(proto.add_imu().readings(), wire.imu, pieces);
    EXPECT_EQ(wire.wants_poses, proto.add_imu().poses());
  }
  if (wire.content != WireContent::kFrame) return true;
  const v1::LocalizePair& pair = proto.has_pair() ? proto.pair() : proto.relocalize();
  EXPECT_EQ(wire.frame_id, pair.frame_id());
  EXPECT_EQ(wire.max_age_ns, pair.max_age_ns());
  EXPECT_EQ(wire.time_ns, pair.time_ns());
  EXPECT_EQ(wire.pair.has_left, pair.has_left());
  EXPECT_EQ(wire.pair.has_right, pair.has_right());
  EXPECT_EQ(wire.has_depth, pair.has_depth());
  ExpectSameImage(wire.pair.left, pair.left());
  ExpectSameImage(wire.pair.right, pair.right());
  ExpectSameImage(wire.depth, pair.depth());
  CheckImu(pair.imu(), wire.imu, pieces);
  ExpectSameMasks(wire.pair, pair);
  return true;
}

template <typename Proto, typename Wire>
void Fuzz(bool (*parse)(decode::Pieces, Wire*)) {
  const google::protobuf::LogSilencer quiet;  // it reports each string that is not UTF-8
  Random random(1);
  constexpr int kMessages = 50000;
  int accepted = 0, refused = 0;
  for (int i = 0; i < kMessages && !::testing::Test::HasFailure(); ++i) {
    std::string bytes = testing::RandomMessage(*Proto::descriptor(), &random);
    if (random.OneIn(2)) testing::Damage(&bytes, &random);
    SCOPED_TRACE(absl::BytesToHexString(bytes));
    Proto proto;
    if (!proto.ParseFromString(bytes)) {
      Wire wire;
      EXPECT_FALSE(parse(Pieces(bytes, &random).spans(), &wire)) << "taken, but damaged";
      ++refused;
      continue;
    }
    EXPECT_TRUE(Check(proto, Pieces(bytes, &random).spans())) << "good, but refused";
    EXPECT_TRUE(Check(proto, Pieces(proto.SerializeAsString(), &random).spans())) << "serialized, but refused";
    ++accepted;
  }
  for (const int seen : {accepted, refused}) EXPECT_GT(seen, kMessages / 100);
}

TEST(MatchWireFuzz, StreamRequests) { Fuzz<v1::MatchStreamRequest>(ParseMatchStreamRequest); }
TEST(MatchWireFuzz, Requests) { Fuzz<v1::MatchRequest>(ParseMatchRequest); }
TEST(MatchWireFuzz, StereoRequests) { Fuzz<v1::StereoStreamRequest>(ParseStereoStreamRequest); }
TEST(MatchWireFuzz, LocalizeRequests) { Fuzz<v1::LocalizeStreamRequest>(ParseLocalizeStreamRequest); }
TEST(MatchWireFuzz, TrackRequests) { Fuzz<v1::TrackStreamRequest>(ParseTrackStreamRequest); }

bool HasOtherMembers(const std::string& bytes) {
  google::protobuf::UnknownFieldSet fields;
  if (!fields.ParseFromString(bytes)) return false;
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i).number() != v1::TrackStreamRequest::kOptionsFieldNumber) return true;
  }
  return false;
}

// The options of a first message with repeated images. What options have replaced is not looked into.
TEST(MatchWireFuzz, OptionsWithImages) {
  const google::protobuf::LogSilencer quiet;
  Random random(2);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 20000 && !::testing::Test::HasFailure(); ++i) {
    v1::TrackStreamRequest request;
    request.mutable_options()->ParsePartialFromString(
        testing::RandomMessage(*v1::TrackStreamOptions::descriptor(), &random));
    std::string bytes = request.SerializePartialAsString();
    if (random.OneIn(4)) bytes = testing::RandomMessage(*v1::TrackStreamRequest::descriptor(), &random) + bytes;
    if (random.OneIn(3)) testing::Damage(&bytes, &random);
    SCOPED_TRACE(absl::BytesToHexString(bytes));
    v1::TrackStreamRequest proto;
    const bool good = proto.ParseFromString(bytes) && proto.has_options();
    OptionImages masks = {v1::TrackStreamOptions::kMasksFieldNumber, 2};
    const Pieces pieces(bytes, &random);
    const auto found = ParseOptionsAndImages<v1::TrackStreamRequest>(
        pieces.spans(), v1::TrackStreamRequest::kAddPointsFieldNumber, {&masks, 1});
    ++(good ? accepted : refused);
    if (!good) {
      EXPECT_TRUE(!found.ok() || HasOtherMembers(bytes)) << "taken, but damaged";
      continue;
    }
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(masks.count, static_cast<size_t>(proto.options().masks_size()));
    ASSERT_EQ(masks.images.size(), std::min<size_t>(masks.count, 2));
    for (size_t c = 0; c < masks.images.size(); ++c) {
      ExpectSameImage(masks.images[c], proto.options().masks(static_cast<int>(c)));
    }
    proto.mutable_options()->clear_masks();
    proto.DiscardUnknownFields();
    EXPECT_EQ(found->options().SerializeAsString(), proto.options().SerializeAsString());
  }
  for (const int seen : {accepted, refused}) EXPECT_GT(seen, 500);
}

// Another content of a oneof begins anew, the same is merged with.
TEST(MatchWire, TheLastContentOfAOneofWins) {
  std::vector<v1::MatchStreamRequest> requests(7);
  requests[0].mutable_options()->mutable_detector()->set_preset("orb");
  v1::DescriptorSet* const set = requests[1].mutable_pair()->mutable_query()->mutable_descriptors();
  set->set_data(std::string(64, 'a'));
  set->set_descriptor_bytes(32);
  set->add_x(1);
  requests[1].mutable_pair()->mutable_conditions()->add_radius(2);
  requests[2].mutable_pair()->mutable_query()->set_set("map");
  requests[3].mutable_pair()->mutable_query()->mutable_image()->mutable_raw()->set_width(3);
  requests[3].mutable_pair()->set_frame_id(4);
  requests[4].mutable_pair()->mutable_query()->mutable_descriptors()->add_x(5);
  requests[5].mutable_update_set()->set_set("a");
  requests[5].mutable_update_set()->add_remove(6);
  requests[5].mutable_update_set()->mutable_add()->add_x(7);
  requests[6].mutable_forget_set()->set_frame_id(8);
  Random random(1);
  for (const v1::MatchStreamRequest& a : requests) {
    for (const v1::MatchStreamRequest& b : requests) {
      for (const v1::MatchStreamRequest& c : requests) {
        const std::string bytes = a.SerializeAsString() + b.SerializeAsString() + c.SerializeAsString();
        SCOPED_TRACE(absl::BytesToHexString(bytes));
        v1::MatchStreamRequest proto;
        ASSERT_TRUE(proto.ParseFromString(bytes));
        EXPECT_TRUE(Check(proto, Pieces(bytes, &random).spans()));
      }
    }
  }
}

TEST(MatchWire, TheLastReadingsOfAOneofWin) {
  std::vector<v1::LocalizeStreamRequest> requests(5);
  requests[0].mutable_options()->mutable_imu()->mutable_camera_from_imu()->add_rotation(1);
  v1::ImuReadings* const of_pair = requests[1].mutable_pair()->mutable_imu();
  of_pair->add_gyroscope_time_ns(-1);
  for (const double v : {1e300, -0.0, 0.1}) of_pair->add_angular_velocity(v);
  requests[2].mutable_relocalize()->mutable_imu()->add_acceleration(2);
  requests[2].mutable_relocalize()->mutable_imu()->add_accelerometer_time_ns(INT64_MIN);
  requests[3].mutable_add_imu()->set_frame_id(4);
  requests[3].mutable_add_imu()->set_poses(true);
  requests[3].mutable_add_imu()->mutable_readings()->add_gyroscope_time_ns(5);
  requests[4].mutable_get_map()->set_frame_id(6);
  Random random(1);
  for (const v1::LocalizeStreamRequest& a : requests) {
    for (const v1::LocalizeStreamRequest& b : requests) {
      for (const v1::LocalizeStreamRequest& c : requests) {
        const std::string bytes = a.SerializeAsString() + b.SerializeAsString() + c.SerializeAsString();
        SCOPED_TRACE(absl::BytesToHexString(bytes));
        v1::LocalizeStreamRequest proto;
        ASSERT_TRUE(proto.ParseFromString(bytes));
        EXPECT_TRUE(Check(proto, Pieces(bytes, &random).spans()));
      }
    }
  }
}

// Numbers of a repeated field may come one by one, too, with a tag each.
TEST(MatchWire, ReadingsMayBePackedOrNot) {
  const std::string one_by_one("\x3a\x12\x12\x10\x08\x07\x11\0\0\0\0\0\0\xf0\x3f\x0a\x03\x08\x96\x01", 20);
  v1::LocalizeStreamRequest proto;
  ASSERT_TRUE(proto.ParseFromString(one_by_one));
  EXPECT_THAT(proto.add_imu().readings().gyroscope_time_ns(), ::testing::ElementsAre(7, 8, 150));
  EXPECT_THAT(proto.add_imu().readings().angular_velocity(), ::testing::ElementsAre(1.0));
  Random random(1);
  EXPECT_TRUE(Check(proto, Pieces(one_by_one, &random).spans()));
}

TEST(MatchWire, UnpackedReadingsNeverExceedTheirLimit) {
  v1::LocalizeStreamRequest large, small;
  v1::ImuReadings* const readings = large.mutable_pair()->mutable_imu();
  readings->mutable_gyroscope_time_ns()->Resize(1'000'000, 1);
  readings->mutable_acceleration()->Resize(1'000'000, 1);
  small.mutable_add_imu()->mutable_readings()->add_gyroscope_time_ns(2);
  const std::string bytes = large.SerializeAsString() + small.SerializeAsString();
  Random random(1);
  const Pieces pieces(bytes, &random);
  WireLocalizeStreamRequest wire;
  ImuValues values;
  ASSERT_TRUE(ParseLocalizeStreamRequest(pieces.spans(), &wire, &values));
  EXPECT_EQ(wire.imu.gyroscope_times, 1u);
  EXPECT_EQ(wire.imu.accelerations, 0u);
  EXPECT_EQ(values.gyroscope_time_ns, std::vector<int64_t>{2});
  EXPECT_TRUE(values.acceleration.empty());
  EXPECT_LE(values.gyroscope_time_ns.capacity(), 2 * kMaxImuReadings);
  EXPECT_LE(values.acceleration.capacity(), 8 * kMaxImuReadings);
}

// Neither in the memory that is validated before it is filled, nor in that of later messages.
TEST(MatchWire, WhatIsReplacedTakesNoMemory) {
  v1::MatchStreamRequest large, small, named;
  v1::DescriptorSet* const set = large.mutable_pair()->mutable_query()->mutable_descriptors();
  set->set_data(std::string(100000, 'a'));
  small.mutable_pair()->mutable_query()->mutable_descriptors()->set_data("b");
  const auto unpack = [](const std::string& bytes) {
    Random random(1);
    const Pieces pieces(bytes, &random);
    WireMatchStreamRequest wire;
    EXPECT_TRUE(ParseMatchStreamRequest(pieces.spans(), &wire));
    DescriptorSet query, train;
    ConditionArrays conditions;
    UnpackPair(pieces.spans(), wire.match, &query, &train, &conditions);
    return query;
  };
  const DescriptorSet merged = unpack(large.SerializeAsString() + small.SerializeAsString());
  EXPECT_EQ(merged.rows, std::vector<uint8_t>{'b'});
  EXPECT_LT(merged.rows.capacity(), 100u);
  set->mutable_x()->Resize(100000, 1);
  set->mutable_octave()->Resize(100000, 1);
  named.mutable_pair()->mutable_query()->set_set("map");
  const DescriptorSet replaced = unpack(large.SerializeAsString() + named.SerializeAsString());
  EXPECT_EQ(replaced.rows.capacity() + replaced.x.capacity() + replaced.octave.capacity(), 0u);
}

}  // namespace
}  // namespace glint
