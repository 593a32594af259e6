// FeatureMatching as its clients see it: matches of sets, images and sets that are kept, stereo pairs, bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "cpu/pipeline.h"
#include "features/reference/matcher.h"
#include "features/reference/stereo.h"
#include "glint/v1/matching.grpc.pb.h"
#include "server/operations/match/match_reply.h"
#include "server/operations/stereo/stereo_reply.h"
#include "tests/cpu/stereo_pair.h"
#include "tests/scene/scene.h"
#include "tests/server/harness.h"
#include "tests/server/http_page.h"
#include "tests/support/descriptors.h"
#include "tests/support/features.h"
#include "tests/support/images.h"

namespace glint::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Features ToFeatures(const v1::ImageFeatures& wire) {
  Features f;
  f.x.assign(wire.x().begin(), wire.x().end());
  f.y.assign(wire.y().begin(), wire.y().end());
  f.size.assign(wire.size().begin(), wire.size().end());
  f.angle.assign(wire.angle().begin(), wire.angle().end());
  f.response.assign(wire.response().begin(), wire.response().end());
  f.octave.assign(wire.octave().begin(), wire.octave().end());
  f.descriptors.assign(wire.descriptors().begin(), wire.descriptors().end());
  f.descriptor_bytes = wire.descriptor_bytes();
  f.truncated = wire.truncated();
  return f;
}

// The wire's matches, as the matcher's.
MatchResult ToMatches(const v1::Matches& wire, int k) {
  MatchResult result;
  result.Reset(wire.queries(), k);
  std::vector<int> used(static_cast<size_t>(wire.queries()));
  for (int i = 0; i < wire.query_size(); ++i) {
    const uint32_t q = wire.query(i);
    const size_t at = static_cast<size_t>(q) * static_cast<size_t>(k) + static_cast<size_t>(used[q]++);
    result.index[at] = static_cast<int32_t>(wire.train(i));
    result.distance[at] = static_cast<int32_t>(wire.distance(i));
  }
  return result;
}

void SetImage(const ImageView& image, v1::Image* proto) {
  SetGray(image.width, image.height, 0, proto);
  std::string* const data = proto->mutable_raw()->mutable_data();
  for (int y = 0; y < image.height; ++y) {
    std::memcpy(data->data() + y * image.width, image.row(y), static_cast<size_t>(image.width));
  }
}

void SetRows(const DescriptorView& set, v1::DescriptorSet* proto) {
  proto->set_data(set.data, static_cast<size_t>(set.count) * static_cast<size_t>(set.bytes));
  proto->set_descriptor_bytes(set.bytes);
}

template <typename T>
void Assign(const T* values, int count, google::protobuf::RepeatedField<T>* field) {
  field->Add(values, values + count);
}

class Matching : public ::testing::Test {
 protected:
  using PairStream = grpc::ClientReaderWriter<v1::MatchStreamRequest, v1::MatchStreamResponse>;
  using StereoPairStream = grpc::ClientReaderWriter<v1::StereoStreamRequest, v1::StereoStreamResponse>;

  static ServerOptions Options() {
    ServerOptions options = TestOptions();
    options.metrics_listen = "127.0.0.1:0";
    options.max_features = 4000;
    return options;
  }

  std::unique_ptr<PairStream> Open(const v1::MatchStreamOptions& options = {}) {
    auto stream = stub_->MatchStream(&context_);
    v1::MatchStreamRequest first;
    *first.mutable_options() = options;
    stream->Write(first);
    return stream;
  }
  template <typename Stream, typename Request>
  auto Ask(Stream* stream, const Request& request) {
    EXPECT_TRUE(stream->Write(request));
    return Read(stream);
  }
  static v1::MatchStreamResponse Read(PairStream* stream) {
    v1::MatchStreamResponse response;
    EXPECT_TRUE(stream->Read(&response));
    return response;
  }
  static v1::StereoStreamResponse Read(StereoPairStream* stream) {
    v1::StereoStreamResponse response;
    EXPECT_TRUE(stream->Read(&response));
    return response;
  }

  TestServer server_{Options()};
  std::unique_ptr<v1::FeatureMatching::Stub> stub_ = v1::FeatureMatching::NewStub(server_.channel());
  grpc::ClientContext context_;
};

v1::MatchStreamRequest PairOf(const DescriptorView& query, const DescriptorView& train, uint64_t id = 0) {
  v1::MatchStreamRequest request;
  request.mutable_pair()->set_frame_id(id);
  SetRows(query, request.mutable_pair()->mutable_query()->mutable_descriptors());
  SetRows(train, request.mutable_pair()->mutable_train()->mutable_descriptors());
  return request;
}

TEST_F(Matching, SetsInTheMessageMatchAsTheReferenceWithEveryOption) {
  const DescriptorSet query(70, 32, Likeness::kNoisy, 1);
  const DescriptorSet train(90, 32, Likeness::kNoisy, 2);
  const RandomConditions conditions(70, 90, 3);
  const QueryConditions c = conditions.all();
  const TrainKeypoints t = conditions.keypoints();
  for (const MatchOptions& options : OptionsToTry()) {
    SCOPED_TRACE(ToString(options));
    v1::MatchRequest request;
    v1::MatchOptions* const o = request.mutable_match();
    o->set_k(options.k);
    o->set_cross_check(options.cross_check);
    o->set_ratio(options.ratio);
    o->set_max_distance(options.max_distance);
    o->set_max_angle_difference(options.max_angle_difference);
    o->set_rotation_histogram(options.rotation_histogram);
    v1::DescriptorSet* const from = request.mutable_query()->mutable_descriptors();
    SetRows(query.view(), from);
    Assign(c.angle, 70, from->mutable_angle());
    v1::DescriptorSet* const to = request.mutable_train()->mutable_descriptors();
    SetRows(train.view(), to);
    Assign(t.x, 90, to->mutable_x());
    Assign(t.y, 90, to->mutable_y());
    Assign(t.octave, 90, to->mutable_octave());
    Assign(t.angle, 90, to->mutable_angle());
    v1::MatchConditions* const wire = request.mutable_conditions();
    Assign(c.x, 70, wire->mutable_x());
    Assign(c.y, 70, wire->mutable_y());
    Assign(c.radius, 70, wire->mutable_radius());
    Assign(c.min_octave, 70, wire->mutable_min_octave());
    Assign(c.max_octave, 70, wire->mutable_max_octave());
    grpc::ClientContext context;
    v1::MatchResponse response;
    const grpc::Status status = stub_->Match(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    const MatchInput input{query.view(), train.view(), c, t};
    EXPECT_TRUE(SameMatches(reference::Match(input, options), ToMatches(response.result().matches(), options.k)));
    EXPECT_EQ(response.result().matches().trains(), 90);
    EXPECT_GT(response.timings().total_ns(), 0);
    EXPECT_GT(response.timings().match_ns(), 0);
  }
}

TEST_F(Matching, ImagesAreDetectedDescribedAndMatchedInOneGo) {
  const Image first = Texture({320, 240}, 1);
  const Image second = Texture({200, 160}, 1);
  DetectorOptions options = *PresetOptions("orb");
  options.max_features = 300;
  Features expected[2];
  cpu::Pipeline pipeline;
  ASSERT_TRUE(pipeline.Detect(options, first, {}, &expected[0], nullptr).ok());
  ASSERT_TRUE(pipeline.Detect(options, second, {}, &expected[1], nullptr).ok());
  const auto view = [](const Features& f) {
    return DescriptorView{f.descriptors.data(), static_cast<int>(f.count()), f.descriptor_bytes};
  };
  const MatchResult matches = reference::Match({view(expected[0]), view(expected[1]), {}, {}}, {});

  v1::MatchStreamOptions stream_options;
  stream_options.mutable_detector()->set_max_features(300);
  const auto stream = Open(stream_options);
  v1::MatchStreamRequest request;
  request.mutable_pair()->set_frame_id(7);
  SetImage(first, request.mutable_pair()->mutable_query()->mutable_image());
  SetImage(second, request.mutable_pair()->mutable_train()->mutable_image());
  const v1::MatchStreamResponse response = Ask(stream.get(), request);
  EXPECT_EQ(response.status().message(), "");
  EXPECT_EQ(response.frame_id(), 7u);
  EXPECT_TRUE(SameFeatures(expected[0], ToFeatures(response.result().query())));
  EXPECT_TRUE(SameFeatures(expected[1], ToFeatures(response.result().train())));
  EXPECT_TRUE(SameMatches(matches, ToMatches(response.result().matches(), 1)));
  EXPECT_GT(response.timings().detect_ns(), 0);
}

TEST_F(Matching, SetsAreKeptAddedToRemovedFromAndForgotten) {
  DescriptorSet map(50, 32, Likeness::kNoisy, 5);
  const DescriptorSet query(20, 32, Likeness::kNoisy, 6);
  const auto stream = Open();
  const auto match = [&] {
    v1::MatchStreamRequest request = PairOf(query.view(), {});
    request.mutable_pair()->mutable_train()->set_set("map");
    return request;
  };
  const v1::FrameStatus unknown = Ask(stream.get(), match()).status();
  EXPECT_THAT(unknown.message(), HasSubstr("train.set: \"map\" is not kept in this stream, which has no sets"));
  ExpectAPath(unknown);
  EXPECT_EQ(unknown.error().reason(), "NOT_FOUND");
  EXPECT_EQ(unknown.error().metadata().at("value"), "map");

  v1::MatchStreamRequest edit;
  edit.mutable_update_set()->set_set("map");
  SetRows({map.row(0), 30, 32}, edit.mutable_update_set()->mutable_add());
  // Sent without waiting: the edits come between the pairs that are sent between them.
  ASSERT_TRUE(stream->Write(edit));
  ASSERT_TRUE(stream->Write(match()));
  edit.mutable_update_set()->add_remove(0);
  edit.mutable_update_set()->add_remove(29);
  SetRows({map.row(30), 20, 32}, edit.mutable_update_set()->mutable_add());
  ASSERT_TRUE(stream->Write(edit));
  ASSERT_TRUE(stream->Write(match()));
  EXPECT_EQ(Read(stream.get()).set().descriptors(), 30);
  EXPECT_TRUE(SameMatches(reference::Match({query.view(), {map.row(0), 30, 32}, {}, {}}, {}),
                          ToMatches(Read(stream.get()).result().matches(), 1)));
  EXPECT_EQ(Read(stream.get()).set().descriptors(), 48);
  std::vector<uint8_t> rest(map.row(1), map.row(29));
  rest.insert(rest.end(), map.row(30), map.row(49) + 32);
  EXPECT_TRUE(SameMatches(reference::Match({query.view(), {rest.data(), 48, 32}, {}, {}}, {}),
                          ToMatches(Read(stream.get()).result().matches(), 1)));

  v1::MatchStreamRequest bad = edit;
  bad.mutable_update_set()->set_remove(1, 48);
  EXPECT_THAT(Ask(stream.get(), bad).status().message(), HasSubstr("remove[1]: 48 is not in 0..47"));
  bad = edit;
  bad.mutable_update_set()->set_remove(1, 0);
  EXPECT_THAT(Ask(stream.get(), bad).status().message(), HasSubstr("remove[1]: 0 is not above 0"));
  bad = edit;
  bad.mutable_update_set()->mutable_add()->set_descriptor_bytes(64);
  EXPECT_THAT(Ask(stream.get(), bad).status().message(), HasSubstr("add.descriptor_bytes: 64, but the set has 32"));
  bad = edit;
  bad.mutable_update_set()->set_set("no/name");
  EXPECT_THAT(Ask(stream.get(), bad).status().message(), HasSubstr("set: \"no/name\""));
  const DescriptorSet many(3960, 32, Likeness::kRandom, 7);
  bad.mutable_update_set()->set_set("more");
  bad.mutable_update_set()->clear_remove();
  SetRows(many.view(), bad.mutable_update_set()->mutable_add());
  EXPECT_THAT(Ask(stream.get(), bad).status().message(),
              HasSubstr("add: 4008 descriptors of all sets are over this server's limit of 4000 (--max-features)"));
  EXPECT_EQ(Ask(stream.get(), match()).result().matches().trains(), 48);

  v1::MatchStreamRequest forget;
  forget.mutable_forget_set()->set_frame_id(8);
  forget.mutable_forget_set()->set_set("map");
  const v1::MatchStreamResponse forgotten = Ask(stream.get(), forget);
  EXPECT_EQ(forgotten.status().message(), "");
  EXPECT_EQ(forgotten.frame_id(), 8u);
  EXPECT_TRUE(forgotten.has_set());
  EXPECT_EQ(forgotten.set().descriptors(), 0);
  EXPECT_THAT(Ask(stream.get(), forget).status().message(), HasSubstr("set: \"map\" is not kept in this stream"));
  forget.mutable_forget_set()->set_set("no/name");
  EXPECT_THAT(Ask(stream.get(), forget).status().message(), HasSubstr("set: \"no/name\""));
  EXPECT_EQ(Ask(stream.get(), match()).status().code(), grpc::NOT_FOUND);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(Matching, BadPairsAreAnsweredAndTheStreamLives) {
  const DescriptorSet query(8, 32, Likeness::kRandom, 1);
  const DescriptorSet train(9, 64, Likeness::kRandom, 2);
  const auto stream = Open();
  const auto expect = [&](const v1::MatchStreamRequest& request, const std::string& text) {
    const v1::MatchStreamResponse response = Ask(stream.get(), request);
    EXPECT_EQ(response.status().code(), grpc::INVALID_ARGUMENT) << response.status().message();
    EXPECT_THAT(response.status().message(), HasSubstr(text));
    EXPECT_EQ(response.answer_case(), v1::MatchStreamResponse::ANSWER_NOT_SET);
    ExpectAPath(response.status());
  };
  expect(PairOf(query.view(), train.view()), "train.descriptors: bytes: 64, but query.bytes is 32");
  v1::MatchStreamRequest none = PairOf(query.view(), query.view());
  none.mutable_pair()->clear_train();
  expect(none, "train: neither image nor descriptors nor set is given");
  v1::MatchStreamRequest odd = PairOf(query.view(), query.view());
  odd.mutable_pair()->mutable_query()->mutable_descriptors()->set_descriptor_bytes(12);
  expect(odd, "query.descriptors.descriptor_bytes: 12 is not a multiple of 8");
  odd.mutable_pair()->mutable_query()->mutable_descriptors()->set_descriptor_bytes(-32);
  expect(odd, "query.descriptors.descriptor_bytes: -32 is not in 8..512");
  odd.mutable_pair()->mutable_query()->mutable_descriptors()->set_descriptor_bytes(24);
  expect(odd, "query.descriptors.data: 256 bytes are no multiple of descriptor_bytes, 24");
  v1::MatchStreamRequest few = PairOf(query.view(), query.view());
  few.mutable_pair()->mutable_conditions()->add_min_octave(1);
  expect(few, "conditions.min_octave: 1 elements, but there are 8 queries");
  v1::MatchStreamRequest window = PairOf({query.view().data, 1, 32}, {});
  SetImage(Texture({160, 120}, 3), window.mutable_pair()->mutable_train()->mutable_image());
  window.mutable_pair()->mutable_conditions()->add_x(200);
  window.mutable_pair()->mutable_conditions()->add_y(10);
  window.mutable_pair()->mutable_conditions()->add_radius(20);
  expect(window, "conditions.x[0]: the window of 20 pixels around 200, 10 is outside the train image of 160x120");
  v1::MatchStreamRequest far = PairOf(query.view(), query.view());
  for (int q = 0; q < 8; ++q) {
    far.mutable_pair()->mutable_train()->mutable_descriptors()->add_x(INFINITY);
    far.mutable_pair()->mutable_train()->mutable_descriptors()->add_y(0);
    far.mutable_pair()->mutable_conditions()->add_x(0);
    far.mutable_pair()->mutable_conditions()->add_y(0);
  }
  expect(far, "conditions.x: some of x, y, radius are missing");
  for (int q = 0; q < 8; ++q) far.mutable_pair()->mutable_conditions()->add_radius(1);
  expect(far, "train.descriptors: x[0]: inf is not in ");
  v1::MatchStreamRequest broken = PairOf(query.view(), {});
  broken.mutable_pair()->mutable_train()->mutable_image()->mutable_encoded()->set_data("no picture");
  expect(broken, "train.image");

  const v1::MatchStreamResponse good = Ask(stream.get(), PairOf(query.view(), query.view(), 9));
  EXPECT_EQ(good.frame_id(), 9u);
  EXPECT_EQ(good.result().matches().query_size(), 8);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  const std::string page = Http(server_->metrics_address(), "GET /metrics");
  EXPECT_EQ(Sample(page, "glint_frames_total{operation=\"match\",result=\"OK\"}"), 1);
  EXPECT_EQ(Sample(page, "glint_frames_total{operation=\"match\",result=\"INVALID_ARGUMENT\"}"), 10);
}

// Fewer matches, and no error; see also OptionsAreCheckedAtTheBeginning.
TEST_F(Matching, KAboveTheSetGivesWhatThereIs) {
  const DescriptorSet query(3, 32, Likeness::kRandom, 1), train(2, 32, Likeness::kRandom, 2);
  v1::MatchStreamOptions options;
  options.mutable_match()->set_k(8);
  const auto stream = Open(options);
  const v1::MatchStreamResponse two = Ask(stream.get(), PairOf(query.view(), train.view()));
  EXPECT_EQ(two.status().code(), grpc::OK) << two.status().message();
  EXPECT_THAT(two.result().matches().query(), ElementsAre(0, 0, 1, 1, 2, 2));
  const v1::MatchStreamResponse none = Ask(stream.get(), PairOf(query.view(), {train.view().data, 0, 32}));
  EXPECT_EQ(none.status().code(), grpc::OK) << none.status().message();
  EXPECT_EQ(none.result().matches().queries(), 3);
  EXPECT_THAT(none.result().matches().query(), SizeIs(0));
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

// Octaves come from the client as they are.
TEST_F(Matching, OctaveRangesEndWhereIntegersDo) {
  const DescriptorSet set(8, 32, Likeness::kRandom, 1);
  v1::MatchStreamOptions options;
  options.mutable_match()->set_max_octave_difference(kMaxLevels - 1);
  const auto stream = Open(options);
  for (const int32_t octave : {INT32_MIN, -1, INT32_MAX}) {
    v1::MatchStreamRequest request = PairOf(set.view(), set.view());
    for (auto* side : {request.mutable_pair()->mutable_query(), request.mutable_pair()->mutable_train()}) {
      side->mutable_descriptors()->mutable_octave()->Resize(8, octave);
    }
    const v1::MatchStreamResponse response = Ask(stream.get(), request);
    EXPECT_EQ(response.status().code(), grpc::OK) << response.status().message();
    EXPECT_EQ(response.result().matches().query_size(), 8) << octave;
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(Matching, OptionsAreCheckedAtTheBeginning) {
  const auto refusal = [&](const v1::MatchStreamOptions& options) {
    grpc::ClientContext context;
    auto stream = stub_->MatchStream(&context);
    v1::MatchStreamRequest first;
    *first.mutable_options() = options;
    stream->Write(first);
    v1::MatchStreamResponse response;
    EXPECT_FALSE(stream->Read(&response));
    return stream->Finish().error_message();
  };
  v1::MatchStreamOptions options;
  options.mutable_match()->set_k(0);
  EXPECT_THAT(refusal(options), HasSubstr("match.k: 0 is not in 1..8"));
  options.mutable_match()->set_k(9);
  EXPECT_THAT(refusal(options), HasSubstr("match.k: 9 is not in 1..8"));
  options.mutable_match()->set_k(2);
  options.mutable_match()->set_cross_check(true);
  EXPECT_THAT(refusal(options), HasSubstr("match.cross_check: needs k 1, not 2"));
  options = {};
  options.mutable_detector()->set_max_features(2001);
  EXPECT_THAT(refusal(options), HasSubstr("max_features: 2001 is over this server's limit of 2000"));
  options = {};
  options.mutable_match()->set_window_radius(-1);
  EXPECT_THAT(refusal(options), HasSubstr("match.window_radius: -1 is not in 0.."));
  options = {};
  options.mutable_match()->set_max_octave_difference(12);
  EXPECT_THAT(refusal(options), HasSubstr("match.max_octave_difference: 12 is not in 0..11"));
  v1::MatchRequest request;
  request.mutable_query()->set_set("map");
  grpc::ClientContext context;
  v1::MatchResponse response;
  EXPECT_THAT(stub_->Match(&context, request, &response).error_message(), HasSubstr("train: neither image"));
}

// The fields of an error, as "field value highest flag".
std::string LimitOf(const v1::ErrorInfo& info) {
  const auto of = [&info](const char* name) {
    const auto at = info.metadata().find(name);
    return at == info.metadata().end() ? std::string("-") : at->second;
  };
  return info.reason() + ": " + of("field") + " " + of("value") + " " + of("highest") + " " + of("flag");
}

TEST_F(Matching, PairsOfOneMessageAreLimited) {
  ServerOptions options = Options();
  options.max_match_pairs = 100 * 100;
  TestServer server(options);
  const auto stub = v1::FeatureMatching::NewStub(server.channel());
  const DescriptorSet most(100, 32, Likeness::kNoisy, 1);
  const DescriptorSet more(101, 32, Likeness::kNoisy, 2);
  const DescriptorSet longer(100, 40, Likeness::kNoisy, 3);  // counts twice
  const auto stream = stub->MatchStream(&context_);
  v1::MatchStreamRequest first;
  first.mutable_options();
  stream->Write(first);
  EXPECT_EQ(Ask(stream.get(), PairOf(most.view(), most.view())).status().code(), 0);
  const v1::FrameStatus refused = Ask(stream.get(), PairOf(more.view(), most.view())).status();
  EXPECT_EQ(refused.code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.message(),
              "query: 10100 pairs of descriptors are over this server's limit of 10000 (--max-match-pairs)");
  EXPECT_EQ(LimitOf(refused.error()), "OVER_LIMIT: query 10100 10000 --max-match-pairs");
  EXPECT_EQ(LimitOf(Ask(stream.get(), PairOf(longer.view(), longer.view())).status().error()),
            "OVER_LIMIT: query 20000 10000 --max-match-pairs");
  // A kept set with itself, by a message of a few bytes.
  v1::MatchStreamRequest edit;
  edit.mutable_update_set()->set_set("map");
  SetRows(more.view(), edit.mutable_update_set()->mutable_add());
  EXPECT_EQ(Ask(stream.get(), edit).status().code(), 0);
  v1::MatchStreamRequest itself;
  itself.mutable_pair()->mutable_query()->set_set("map");
  itself.mutable_pair()->mutable_train()->set_set("map");
  EXPECT_LT(itself.ByteSizeLong(), 20u);
  EXPECT_EQ(LimitOf(Ask(stream.get(), itself).status().error()), "OVER_LIMIT: query 10201 10000 --max-match-pairs");
  // Images by what is found in them.
  v1::MatchStreamRequest images;
  SetImage(Noise({160, 120}, 1), images.mutable_pair()->mutable_query()->mutable_image());
  SetImage(Noise({160, 120}, 2), images.mutable_pair()->mutable_train()->mutable_image());
  EXPECT_EQ(Ask(stream.get(), images).status().code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Ask(stream.get(), PairOf(most.view(), most.view())).status().code(), 0);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(Sample(Http(server->metrics_address(), "GET /metrics"),
                   "glint_frames_total{operation=\"match\",result=\"RESOURCE_EXHAUSTED\"}"),
            4);
  // A call.
  v1::MatchRequest request;
  SetRows(more.view(), request.mutable_query()->mutable_descriptors());
  SetRows(more.view(), request.mutable_train()->mutable_descriptors());
  grpc::ClientContext call_context;
  v1::MatchResponse response;
  const grpc::Status status = stub->Match(&call_context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("10201 pairs of descriptors are over this server's limit of 10000"));
  // Stereo pairs by the features that are asked for.
  for (const int features : {100, 101}) {
    grpc::ClientContext stereo_context;
    const auto stereo = stub->StereoStream(&stereo_context);
    v1::StereoStreamRequest begin;
    begin.mutable_options()->mutable_detector()->set_max_features(features);
    stereo->Write(begin);
    stereo->WritesDone();
    v1::StereoStreamResponse answer;
    EXPECT_FALSE(stereo->Read(&answer));
    const grpc::Status end = stereo->Finish();
    EXPECT_EQ(end.ok(), features == 100) << end.error_message();
    if (features == 100) continue;
    EXPECT_EQ(end.error_message(),
              "detector.max_features: 10201 pairs of descriptors are over this server's limit of 10000 "
              "(--max-match-pairs)");
  }
}

// ---- Stereo.

struct StereoImages {
  explicit StereoImages(uint32_t seed) {
    scene::SceneOptions options;
    options.seed = seed;
    options.shape = {376, 240};
    const scene::Scene scene(options);
    left = scene.Render(scene.PoseAt(3));
    right = scene.Render(scene.RightOf(scene.PoseAt(3)));
  }
  Image left, right;
};

class Stereo : public Matching {
 protected:
  std::unique_ptr<StereoPairStream> Open(const v1::StereoStreamOptions& options) {
    auto stream = stub_->StereoStream(&context_);
    v1::StereoStreamRequest first;
    *first.mutable_options() = options;
    stream->Write(first);
    return stream;
  }
  static v1::StereoStreamRequest Request(const ImageView& left, const ImageView& right) {
    v1::StereoStreamRequest request;
    SetImage(left, request.mutable_pair()->mutable_left());
    if (!right.empty()) SetImage(right, request.mutable_pair()->mutable_right());
    return request;
  }
  static std::vector<int> Kinds(const v1::StereoStreamResponse& response) {
    std::vector<int> kinds;
    for (const v1::Warning& w : response.result().warnings()) kinds.push_back(w.kind());
    return kinds;
  }
};

void ExpectSame(const StereoResult& expected, const v1::StereoMatches& actual) {
  int at = 0;
  for (size_t i = 0; i < expected.right_index.size(); ++i) {
    if (expected.right_index[i] == kNoMatch) continue;
    ASSERT_LT(at, actual.left_size());
    EXPECT_EQ(actual.left(at), i);
    EXPECT_EQ(actual.right_x(at), expected.right_x[i]);
    EXPECT_EQ(actual.disparity(at), expected.disparity[i]);
    EXPECT_EQ(actual.depth(at), expected.depth[i]);
    EXPECT_EQ(actual.distance(at), static_cast<uint32_t>(expected.distance[i]));
    ++at;
  }
  EXPECT_EQ(actual.left_size(), at);
}

TEST_F(Stereo, TwoImagesAndOneSideBySideAreTheReferencesPair) {
  const StereoImages images(1);
  for (const char* preset : {"orb", "pyca"}) {
    SCOPED_TRACE(preset);
    DetectorOptions detector = *PresetOptions(preset);
    detector.max_features = 500;
    const StereoPair pair(detector, images.left, images.right);
    StereoOptions options;
    options.focal_length = 300;
    options.baseline = 0.12;
    const StereoResult expected = reference::MatchStereo(pair.input(), options);
    ASSERT_GT(expected.matches, 20);

    v1::StereoStreamOptions wire;
    wire.mutable_detector()->set_preset(preset);
    wire.mutable_detector()->set_max_features(500);
    wire.mutable_stereo()->set_focal_length(300);
    wire.mutable_stereo()->set_baseline(0.12);
    grpc::ClientContext context;
    auto stream = stub_->StereoStream(&context);
    v1::StereoStreamRequest first;
    *first.mutable_options() = wire;
    stream->Write(first);
    Image both(752, 240);
    for (int y = 0; y < 240; ++y) {
      std::memcpy(both.row(y), images.left.row(y), 376);
      std::memcpy(both.row(y) + 376, images.right.row(y), 376);
    }
    for (const v1::StereoStreamRequest& request : {Request(images.left, images.right), Request(both, {})}) {
      const v1::StereoStreamResponse response = Ask(stream.get(), request);
      EXPECT_EQ(response.status().message(), "");
      EXPECT_TRUE(SameFeatures(*pair.input().left.features, ToFeatures(response.result().left())));
      ExpectSame(expected, response.result().matches());
      EXPECT_EQ(response.result().right_keypoints(), static_cast<int>(pair.input().right.features->count()));
      EXPECT_THAT(response.result().warnings(), SizeIs(0));
      EXPECT_GT(response.timings().match_ns(), 0);
    }
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  }
}

TEST_F(Stereo, DoubtfulPairsAreAnsweredWithWarnings) {
  const StereoImages images(2);
  v1::StereoStreamOptions options;
  options.mutable_detector()->set_max_features(1000);
  const auto stream = Open(options);
  v1::StereoStreamResponse response = Ask(stream.get(), Request(images.right, images.left));
  EXPECT_THAT(Kinds(response), ElementsAre(v1::WARNING_KIND_SWAPPED));
  EXPECT_GT(response.result().warnings(0).figure(), 0.5);
  EXPECT_EQ(response.result().warnings(0).unit(), "1");
  EXPECT_GT(response.result().left().x_size(), 100);

  // The right camera hangs four rows lower.
  const ImageView lower{images.right.row(4), 376, 236, images.right.stride()};
  const ImageView upper{images.left.row(0), 376, 236, images.left.stride()};
  response = Ask(stream.get(), Request(upper, lower));
  EXPECT_THAT(Kinds(response), ElementsAre(v1::WARNING_KIND_UNRECTIFIED));
  EXPECT_NEAR(response.result().warnings(0).figure(), 4, 1);
  EXPECT_EQ(response.result().warnings(0).unit(), "px");
  EXPECT_THAT(response.result().warnings(0).text(), HasSubstr("the median of |dy| is "));

  // One camera on both sides.
  response = Ask(stream.get(), Request(images.left, images.left));
  EXPECT_THAT(Kinds(response), ElementsAre(v1::WARNING_KIND_NO_DISPARITY));
  EXPECT_NEAR(response.result().warnings(0).figure(), 0, 0.3);
  EXPECT_EQ(response.result().warnings(0).unit(), "px");
  EXPECT_THAT(response.result().warnings(0).text(), HasSubstr("is one image, or one camera, given twice?"));

  v1::StereoStreamRequest late = Request(images.left, images.right);
  late.mutable_pair()->set_left_time_ns(1'000'000'000);
  late.mutable_pair()->set_right_time_ns(1'033'000'000);
  response = Ask(stream.get(), late);
  EXPECT_THAT(Kinds(response), ElementsAre(v1::WARNING_KIND_OUT_OF_SYNC));
  EXPECT_NEAR(response.result().warnings(0).figure(), 33, 1e-9);
  EXPECT_EQ(response.result().warnings(0).unit(), "ms");
  EXPECT_EQ(response.result().warnings(0).text(), "out of sync: the images were captured 33.0 ms apart");
  EXPECT_GT(response.result().matches().left_size(), 50);

  response = Ask(stream.get(), Request(images.left, Noise({376, 240}, 9)));
  EXPECT_THAT(Kinds(response), ElementsAre(v1::WARNING_KIND_DIFFERENT_SCENES));
  EXPECT_LT(response.result().warnings(0).figure(), 1 / 3.0);
  EXPECT_EQ(response.result().warnings(0).unit(), "1");
  EXPECT_THAT(response.result().warnings(0).text(), HasSubstr("of the keypoints have a match in the other image"));
}

TEST_F(Stereo, BadPairsAreAnsweredAndTheStreamLives) {
  const StereoImages images(3);
  const auto stream = Open({});
  const auto expect = [&](const v1::StereoStreamRequest& request, const std::string& text) {
    const v1::StereoStreamResponse response = Ask(stream.get(), request);
    EXPECT_EQ(response.status().code(), grpc::INVALID_ARGUMENT);
    EXPECT_THAT(response.status().message(), HasSubstr(text));
  };
  expect(Request(images.left, {images.right.row(0), 376, 239, images.right.stride()}),
         "right: 376x239 pixels, but the left image has 376x240");
  expect(Request({images.left.row(0), 375, 240, images.left.stride()}, {}), "left: the width 375 is odd");
  v1::StereoStreamRequest none;
  none.mutable_pair();
  expect(none, "left: neither raw nor encoded nor shared is set");
  EXPECT_EQ(Ask(stream.get(), Request(images.left, images.right)).status().code(), 0);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());

  const auto refusal = [&](const v1::StereoStreamOptions& options) {
    grpc::ClientContext context;
    auto other = stub_->StereoStream(&context);
    v1::StereoStreamRequest first;
    *first.mutable_options() = options;
    other->Write(first);
    v1::StereoStreamResponse response;
    EXPECT_FALSE(other->Read(&response));
    return other->Finish().error_message();
  };
  v1::StereoStreamOptions options;
  options.mutable_stereo()->set_band(17);
  EXPECT_THAT(refusal(options), HasSubstr("stereo.band: 17 is not in 0..16"));
  options = {};
  options.mutable_stereo()->set_focal_length(300);
  EXPECT_THAT(refusal(options), HasSubstr("stereo.baseline: 0, but focal_length is 300"));
  options = {};
  options.mutable_detector()->set_preset("fast_grid");
  EXPECT_THAT(refusal(options), HasSubstr("detector.descriptor_kind: none"));
}

// ---- Replies.

// A reply that is the bytes which the generated class writes.
template <typename Response>
Response Parsed(const grpc::Slice& slice) {
  const std::string bytes(reinterpret_cast<const char*>(slice.begin()), slice.size());
  Response response;
  EXPECT_TRUE(response.ParseFromString(bytes));
  response.DiscardUnknownFields();
  EXPECT_TRUE(response.SerializeAsString() == bytes);
  return response;
}

TEST(MatchReply, IsWhatTheGeneratedClassesWrite) {
  Features features;
  cpu::Pipeline pipeline;
  ASSERT_TRUE(pipeline.Detect(*PresetOptions("orb"), Texture({320, 240}, 1), {}, &features, nullptr).ok());
  const Features none;
  MatchResult matches;
  matches.Reset(200, 2);
  for (size_t i = 0; i < matches.index.size(); i += 3) matches.index[i] = matches.distance[i] = static_cast<int32_t>(i);
  const MatchResult empty;
  for (const uint64_t id : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    MatchTask task;
    task.matches = &empty;
    EXPECT_FALSE(Parsed<v1::MatchStreamResponse>(SerializeMatchReply(id, task, {})).result().has_query());
    task.matches = &matches;
    task.queries = 200;
    task.trains = 400;
    task.query_features = &features;
    task.train_features = &none;
    const auto response = Parsed<v1::MatchStreamResponse>(SerializeMatchReply(id, task, {}));
    EXPECT_EQ(response.frame_id(), id);
    EXPECT_EQ(response.result().matches().query_size(), 134);
    EXPECT_EQ(response.result().matches().trains(), 400);
    EXPECT_TRUE(SameFeatures(features, ToFeatures(response.result().query())));
    EXPECT_TRUE(response.result().has_train());
    const auto call = Parsed<v1::MatchResponse>(SerializeMatchReply(0, task, {}));
    EXPECT_EQ(call.result().SerializeAsString(), response.result().SerializeAsString());
    for (const int descriptors : {0, 1, 300}) {
      const auto edited = Parsed<v1::MatchStreamResponse>(SerializeSetReply(id, descriptors));
      EXPECT_EQ(edited.frame_id(), id);
      EXPECT_TRUE(edited.has_set());
      EXPECT_EQ(edited.set().descriptors(), descriptors);
    }
  }
}

TEST(StereoReply, IsWhatTheGeneratedClassesWrite) {
  const StereoImages images(1);
  const StereoPair pair(OrbWithDescriptors(500), images.left, images.right);
  for (const bool has_depth : {false, true}) {
    StereoTask task;
    if (has_depth) task.criteria.options.focal_length = task.criteria.options.baseline = 1.5;
    const StereoResult found = reference::MatchStereo(pair.input(), task.criteria.options);
    task.left = pair.input().left.features;
    task.matches = &found;
    task.rights = static_cast<int>(pair.input().right.features->count());
    for (const uint64_t id : {uint64_t{0}, ~uint64_t{0}}) {
      task.left_time_ns = task.right_time_ns = 1;
      EXPECT_EQ(Parsed<v1::StereoStreamResponse>(SerializeStereoReply(id, task, "", {})).result().warnings_size(), 0);
      task.right_time_ns += 1'000'000'000;
      const auto response = Parsed<v1::StereoStreamResponse>(SerializeStereoReply(id, task, "", {}));
      EXPECT_EQ(response.frame_id(), id);
      EXPECT_TRUE(SameFeatures(*task.left, ToFeatures(response.result().left())));
      EXPECT_EQ(response.result().matches().left_size(), found.matches);
      EXPECT_EQ(response.result().matches().depth_size(), has_depth ? found.matches : 0);
      EXPECT_EQ(response.result().right_keypoints(), task.rights);
      EXPECT_EQ(response.result().warnings_size(), 1);
    }
  }
}

}  // namespace
}  // namespace glint::testing
