// Messages that have several members of their oneof, or one several times: the parsers of streams that track and
// localize do as protobuf does. tests/fuzz compares them with it at random.
#include "server/operations/track/track_parser.h"

#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "glint/v1/localization.pb.h"
#include "glint/v1/tracking.pb.h"
#include "server/operations/localize/localize_parser.h"

namespace glint {
namespace {

using ::testing::ElementsAre;

// One message after the other, which is how protobuf merges them.
template <typename... Request>
std::string Together(const Request&... request) {
  return (request.SerializePartialAsString() + ...);
}

template <typename Wire>
bool Parse(bool (*parse)(decode::Pieces, Wire*), const std::string& bytes, Wire* wire) {
  const absl::Span<const uint8_t> whole(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  return parse({&whole, 1}, wire);
}

TrackPredictions Unpack(const std::string& bytes) {
  const absl::Span<const uint8_t> whole(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  TrackPredictions predictions;
  UnpackPredictions({&whole, 1}, &predictions);
  return predictions;
}

v1::TrackStreamRequest FrameOf(int images, int predictions, uint64_t first_id) {
  v1::TrackStreamRequest request;
  for (int i = 0; i < images; ++i) request.mutable_frame()->add_images()->mutable_raw()->set_width(5);
  for (int i = 0; i < predictions; ++i) request.mutable_frame()->add_predictions()->add_ids(first_id++);
  return request;
}

class TrackParser : public ::testing::Test {
 protected:
  TrackParser() {
    reset_.mutable_reset_tracks()->set_frame_id(9);
    second_.mutable_frame()->set_time_ns(5);
  }
  bool Takes(const std::string& bytes) { return Parse(ParseTrackStreamRequest, bytes, &wire_); }

  v1::TrackStreamRequest first_ = FrameOf(2, 2, 10), second_ = FrameOf(1, 1, 20), reset_;
  WireTrackStreamRequest wire_;
};

TEST_F(TrackParser, MergesAFrameWithAFrame) {
  first_.mutable_frame()->set_frame_id(7);
  const std::string bytes = Together(first_, second_);
  ASSERT_TRUE(Takes(bytes));
  EXPECT_EQ(wire_.content, WireContent::kFrame);
  EXPECT_EQ(wire_.frame_id, 7u);
  EXPECT_EQ(wire_.time_ns, 5);
  EXPECT_EQ(wire_.images, 3u);
  EXPECT_EQ(wire_.predictions, 3u);
  EXPECT_EQ(wire_.predicted, 3u);
  const TrackPredictions predictions = Unpack(bytes);
  ASSERT_EQ(predictions.count, 3u);
  EXPECT_THAT(predictions.of[2].ids, ElementsAre(20));
}

TEST_F(TrackParser, KeepsAMaskOfEachCamera) {
  for (uint32_t i = 0; i < 10; ++i) first_.mutable_frame()->add_masks()->mutable_raw()->set_width(100 + i);
  ASSERT_TRUE(Takes(Together(first_, second_)));
  EXPECT_EQ(wire_.images, 3u);
  EXPECT_EQ(wire_.masks, 10u);
  for (uint32_t i = 0; i < kMaxTrackCameras; ++i) EXPECT_EQ(wire_.mask[i].width, 100 + i);
  ASSERT_TRUE(Takes(Together(first_, reset_, second_)));
  EXPECT_EQ(wire_.masks, 0u);
}

TEST_F(TrackParser, TakesTheLastMember) {
  first_ = FrameOf(9, 100, 10);  // more predictions than there may be cameras
  first_.mutable_frame()->set_frame_id(7);
  const std::string bytes = Together(first_, reset_, second_);
  ASSERT_TRUE(Takes(bytes));
  EXPECT_EQ(wire_.content, WireContent::kFrame);
  EXPECT_EQ(wire_.frame_id, 0u);
  EXPECT_EQ(wire_.images, 1u);
  EXPECT_EQ(wire_.predictions, 1u);
  EXPECT_EQ(wire_.predicted, 1u);
  const TrackPredictions predictions = Unpack(bytes);
  ASSERT_EQ(predictions.count, 1u);
  EXPECT_THAT(predictions.of[0].ids, ElementsAre(20));

  ASSERT_TRUE(Takes(Together(first_, second_, reset_)));
  EXPECT_EQ(wire_.content, WireContent::kEdit);
  EXPECT_EQ(wire_.frame_id, 9u);
  EXPECT_EQ(wire_.images, 0u);
  v1::TrackStreamRequest forget, options;
  forget.mutable_forget_tracks()->add_ids(3);
  ASSERT_TRUE(Takes(Together(reset_, forget)));
  EXPECT_EQ(wire_.frame_id, 0u);
  options.mutable_options()->set_cameras(1);
  ASSERT_TRUE(Takes(Together(forget, options)));
  EXPECT_EQ(wire_.content, WireContent::kOptions);
}

TEST_F(TrackParser, RefusesADamagedMemberThoughAnotherIsTheLast) {
  const google::protobuf::LogSilencer quiet;
  v1::TrackStreamRequest options;
  options.mutable_options()->mutable_detector()->set_preset("\xff");
  EXPECT_FALSE(Takes(Together(options, second_)));
  const std::string uneven_points(
      "\x2a\x05\x1a\x03"
      "abc",
      7);  // three bytes of floats
  EXPECT_FALSE(v1::TrackStreamRequest().ParseFromString(uneven_points));
  EXPECT_FALSE(Takes(uneven_points + second_.SerializeAsString()));
  const std::string endless_id("\x22\x03\x12\x01\x80", 5);  // a varint that does not end
  EXPECT_FALSE(v1::TrackStreamRequest().ParseFromString(endless_id));
  EXPECT_FALSE(Takes(endless_id + second_.SerializeAsString()));
}

class LocalizeParser : public ::testing::Test {
 protected:
  LocalizeParser() {
    pair_.mutable_pair()->set_frame_id(7);
    pair_.mutable_pair()->mutable_left()->mutable_raw()->set_width(5);
    get_.mutable_get_map()->set_frame_id(8);
  }
  bool Takes(const std::string& bytes) { return Parse(ParseLocalizeStreamRequest, bytes, &wire_); }

  v1::LocalizeStreamRequest pair_, get_;
  WireLocalizeStreamRequest wire_;
};

TEST_F(LocalizeParser, MergesAPairWithAPair) {
  v1::LocalizeStreamRequest rest;
  rest.mutable_pair()->set_time_ns(3);
  rest.mutable_pair()->mutable_left()->mutable_raw()->set_height(4);
  rest.mutable_pair()->mutable_depth();
  ASSERT_TRUE(Takes(Together(pair_, rest)));
  EXPECT_EQ(wire_.frame_id, 7u);
  EXPECT_EQ(wire_.time_ns, 3);
  EXPECT_EQ(wire_.pair.left.width, 5u);
  EXPECT_EQ(wire_.pair.left.height, 4u);
  EXPECT_TRUE(wire_.has_depth);
}

TEST_F(LocalizeParser, TakesTheLastMember) {
  v1::LocalizeStreamRequest find;
  find.mutable_relocalize()->mutable_right();
  ASSERT_TRUE(Takes(Together(pair_, find)));
  EXPECT_EQ(wire_.content, WireContent::kFrame);
  EXPECT_TRUE(wire_.relocalize);
  EXPECT_EQ(wire_.frame_id, 0u);
  EXPECT_FALSE(wire_.pair.has_left);
  EXPECT_TRUE(wire_.pair.has_right);
  ASSERT_TRUE(Takes(Together(find, get_)));
  EXPECT_EQ(wire_.content, WireContent::kEdit);
  EXPECT_EQ(wire_.frame_id, 8u);
  EXPECT_FALSE(wire_.relocalize);
  ASSERT_TRUE(Takes(Together(find, get_, pair_)));
  EXPECT_EQ(wire_.frame_id, 7u);
  EXPECT_FALSE(wire_.relocalize);
  EXPECT_FALSE(wire_.pair.has_right);
}

TEST_F(LocalizeParser, RefusesADamagedMemberThoughAnotherIsTheLast) {
  const google::protobuf::LogSilencer quiet;
  v1::LocalizeStreamRequest save;
  save.mutable_save_map()->set_name("\xff");
  EXPECT_FALSE(Takes(Together(save, pair_)));
  const std::string uneven_projection(
      "\x0a\x06\x12\x04\x3a\x02"
      "ab",
      8);
  EXPECT_FALSE(v1::LocalizeStreamRequest().ParseFromString(uneven_projection));
  EXPECT_FALSE(Takes(uneven_projection + pair_.SerializeAsString()));
  v1::LocalizeStreamRequest options;
  for (int i = 0; i < 12; ++i) options.mutable_options()->mutable_camera()->add_left_projection(i);
  options.mutable_options()->mutable_camera()->mutable_rig_rotation()->set_x(0.01);
  options.mutable_options()->mutable_depth()->set_unit(0.001);
  EXPECT_TRUE(Takes(Together(options, pair_)));
  EXPECT_TRUE(Takes(Together(pair_, options)));
  EXPECT_EQ(wire_.content, WireContent::kOptions);
}

}  // namespace
}  // namespace glint
