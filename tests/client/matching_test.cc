// The client library's matching and stereo against a server: the results of the reference, errors, answers in order.
#include "client/matching.h"

#include <thread>
#include <vector>

#include "client/client.h"
#include "cpu/pipeline.h"
#include "features/reference/matcher.h"
#include "features/reference/stereo.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cpu/stereo_pair.h"
#include "tests/server/harness.h"
#include "tests/support/descriptors.h"
#include "tests/support/features.h"
#include "tests/support/images.h"

namespace glint::client {
namespace {

using ::glint::testing::DescriptorSet;
using ::glint::testing::Likeness;
using ::glint::testing::OrbWithDescriptors;
using ::glint::testing::RandomConditions;
using ::glint::testing::SameFeatures;
using ::glint::testing::StereoPair;
using ::glint::testing::Texture;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ClientMatching : public ::testing::Test {
 protected:
  glint::testing::TestServer server_{glint::testing::TestOptions()};
  const Client client_ = Client::Connect(server_->addresses().at(0)).value();
};

// Two views of one scene, 8 pixels apart.
struct Views {
  const Image scene = Texture({328, 240}, 7);
  const ImageView left{scene.row(0), 320, 240, scene.stride()};
  const ImageView right{scene.row(0) + 8, 320, 240, scene.stride()};
};

TEST_F(ClientMatching, ImagesAreMatchedAsTheReferenceMatchesTheirFeatures) {
  const Views views;
  MatchSettings settings;
  settings.detector = OrbWithDescriptors(300);
  settings.match.k = 2;
  settings.match.max_distance = 90;
  const auto found = client_.Match(settings, ImageInput(views.left), ImageInput(views.right));
  ASSERT_TRUE(found.ok()) << found.status();
  const StereoPair pair(settings.detector, views.left, views.right);
  EXPECT_TRUE(SameFeatures(*pair.input().left.features, found->query));
  EXPECT_TRUE(SameFeatures(*pair.input().right.features, found->train));
  MatchInput input;
  input.query = DescriptorInput(found->query).rows;
  input.train = DescriptorInput(found->train).rows;
  const MatchResult expected = reference::Match(input, settings.match);
  EXPECT_EQ(found->matches.index, expected.index);
  EXPECT_EQ(found->matches.distance, expected.distance);
  EXPECT_EQ(found->trains, static_cast<int>(found->train.count()));
  EXPECT_GT(found->timings.match_ns, 0);
}

// Of each side with a camera, in calls and streams.
TEST_F(ClientMatching, SidesWithACameraHaveRays) {
  const Views views;
  Camera camera;
  camera.image = {320, 240};
  camera.fx = camera.fy = 200;
  camera.cx = 160;
  camera.cy = 120;
  const auto expect_rays = [&](const Rays& rays, const Features& features, bool wanted) {
    ASSERT_EQ(rays.x.size(), wanted ? features.count() : 0);
    ASSERT_EQ(rays.y.size(), rays.x.size());
    ASSERT_EQ(rays.z.size(), rays.x.size());
    for (size_t i = 0; i < rays.x.size(); ++i) {
      EXPECT_NEAR(rays.x[i] / rays.z[i], (features.x[i] - 160) / 200, 1e-5);
      EXPECT_NEAR(rays.y[i] / rays.z[i], (features.y[i] - 120) / 200, 1e-5);
    }
  };
  for (const auto& [query, train] : {std::pair(false, false), std::pair(true, false), std::pair(false, true)}) {
    MatchStreamOptions options;
    if (query) options.settings.query_camera = camera;
    if (train) options.settings.train_camera = camera;
    const auto check = [&, query = query, train = train](const MatchFound& found) {
      EXPECT_GT(found.query.count(), 50u);
      expect_rays(found.query_rays, found.query, query);
      expect_rays(found.train_rays, found.train, train);
    };
    const auto found = client_.Match(options.settings, ImageInput(views.left), ImageInput(views.right));
    ASSERT_TRUE(found.ok()) << found.status();
    check(*found);
    int answers = 0;
    const auto stream = client_.OpenMatchStream(options, [&](const MatchAnswer& answer) {
      ++answers;
      EXPECT_TRUE(answer.status.ok()) << answer.status;
      if (answer.found.query.count() > 0) check(answer.found);
    });
    ASSERT_TRUE(stream.ok()) << stream.status();
    EXPECT_TRUE((*stream)->Write(0, ImageInput(views.left), ImageInput(views.right)).ok());
    const auto descriptors = DescriptorInput(found->train);
    EXPECT_TRUE((*stream)->Write(1, ImageInput(views.left), MatchSide(descriptors)).ok());
    EXPECT_TRUE((*stream)->UpdateSet(2, {"map", {}, descriptors}).ok());  // whose answer has no features
    EXPECT_TRUE((*stream)->Finish().ok());
    EXPECT_EQ(answers, 3);
  }
}

TEST(ClientMatchingCalls, OfManyThreadsWaitForTheirTurn) {
  ServerOptions options = glint::testing::TestOptions();
  options.max_detect_calls = 2;
  glint::testing::TestServer server(options);
  const auto client = Client::Connect(server->addresses().at(0));
  ASSERT_TRUE(client.ok()) << client.status();
  const Views views;
  const auto match = [&] { return client->Match({}, ImageInput(views.left), ImageInput(views.right)); };
  const auto expected = match();
  ASSERT_TRUE(expected.ok()) << expected.status();
  std::vector<std::thread> threads;
  for (int i = 0; i < 24; ++i) {
    threads.emplace_back([&] {
      const auto found = match();
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ(found->matches.index, expected->matches.index);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// An empty message on the wire and settings that nobody has touched ask for the same.
TEST_F(ClientMatching, SettingsAsTheyComeAreTheServersDefaults) {
  const Views views;
  const auto found = client_.Match(MatchSettings{}, ImageInput(views.left), ImageInput(views.right));
  ASSERT_TRUE(found.ok()) << found.status();
  const auto unsaid = PresetOptions("orb");
  ASSERT_TRUE(unsaid.ok());
  const StereoPair pair(*unsaid, views.left, views.right);
  EXPECT_TRUE(SameFeatures(*pair.input().left.features, found->query));
  MatchInput input;
  input.query = DescriptorInput(found->query).rows;
  input.train = DescriptorInput(found->train).rows;
  EXPECT_EQ(found->matches.index, reference::Match(input, {}).index);

  std::vector<StereoAnswer> answers;
  auto stream = client_.OpenStereoStream({}, [&](const StereoAnswer& answer) { answers.push_back(answer); });
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_TRUE((*stream)->Write(1, ImageInput(views.left), ImageInput(views.right)).ok());
  EXPECT_TRUE((*stream)->Finish().ok());
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0].status.ok()) << answers[0].status;
  EXPECT_EQ(answers[0].left_index.size(), static_cast<size_t>(reference::MatchStereo(pair.input(), {}).matches));
}

TEST_F(ClientMatching, SetsConditionsAndErrorsGoThroughAStream) {
  const DescriptorSet query(40, 32, Likeness::kNoisy, 1), train(60, 32, Likeness::kNoisy, 2);
  const RandomConditions conditions(40, 60, 3);
  QueryConditions c = conditions.all();
  c.angle = nullptr;
  MatchInput input;
  input.query = query.view();
  input.train = train.view();
  input.conditions = c;
  input.keypoints = conditions.keypoints();
  const MatchResult expected = reference::Match(input, {});
  DescriptorInput kept(train.view());
  kept.keypoints = conditions.keypoints();

  std::vector<MatchAnswer> answers;
  auto stream = client_.OpenMatchStream({}, [&](const MatchAnswer& answer) { answers.push_back(answer); });
  ASSERT_TRUE(stream.ok()) << stream.status();
  SetUpdate update;
  update.set = "map";
  update.add = kept;
  EXPECT_TRUE((*stream)->UpdateSet(1, update).ok());
  EXPECT_TRUE((*stream)->Write(2, DescriptorInput(query.view()), MatchSide::Set("map"), c).ok());
  EXPECT_TRUE((*stream)->Write(3, DescriptorInput(query.view()), MatchSide::Set("gone")).ok());
  update = SetUpdate();
  update.set = "map";
  update.remove = {0, 59};
  EXPECT_TRUE((*stream)->UpdateSet(4, update).ok());
  const absl::Status refused = (*stream)->Write(5, MatchSide::Set("map"), MatchSide::Set("map"), c);
  EXPECT_THAT(refused.message(), HasSubstr("conditions: are of queries that are descriptors in the call"));
  EXPECT_TRUE((*stream)->ForgetSet(6, "map").ok());
  EXPECT_TRUE((*stream)->ForgetSet(7, "map").ok());
  EXPECT_TRUE((*stream)->Finish().ok());

  ASSERT_EQ(answers.size(), 6u);
  EXPECT_EQ(answers[0].found.set_size, 60);
  EXPECT_TRUE(answers[1].status.ok()) << answers[1].status;
  EXPECT_EQ(answers[1].found.matches.index, expected.index);
  EXPECT_EQ(answers[1].found.matches.distance, expected.distance);
  EXPECT_TRUE(absl::IsNotFound(answers[2].status)) << answers[2].status;
  EXPECT_EQ(answers[2].found.matches.queries, 0);
  EXPECT_EQ(answers[3].found.set_size, 58);
  EXPECT_TRUE(answers[4].status.ok()) << answers[4].status;
  EXPECT_EQ(answers[4].found.set_size, 0);
  EXPECT_TRUE(absl::IsNotFound(answers[5].status)) << answers[5].status;
}

TEST_F(ClientMatching, StereoPairsAreTheReferences) {
  const Views views;
  StereoStreamOptions options;
  options.detector = OrbWithDescriptors(300);
  options.stereo.focal_length = 300;
  options.stereo.baseline = 0.5;
  const StereoPair pair(options.detector, views.left, views.right);
  const StereoResult expected = reference::MatchStereo(pair.input(), options.stereo);
  ASSERT_GT(expected.matches, 50);

  std::vector<StereoAnswer> answers;
  auto stream = client_.OpenStereoStream(options, [&](const StereoAnswer& answer) { answers.push_back(answer); });
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_TRUE((*stream)->Write(1, ImageInput(views.left), ImageInput(views.right)).ok());
  const ImageView shorter{views.right.data, 320, 200, views.right.stride};
  EXPECT_TRUE((*stream)->Write(2, ImageInput(views.left), ImageInput(shorter)).ok());
  EXPECT_TRUE((*stream)->Write(3, ImageInput(views.left), ImageInput(views.right), 1, 50'000'001).ok());
  EXPECT_TRUE((*stream)->Finish().ok());

  ASSERT_EQ(answers.size(), 3u);
  EXPECT_TRUE(SameFeatures(*pair.input().left.features, answers[0].left));
  ASSERT_EQ(answers[0].left_index.size(), static_cast<size_t>(expected.matches));
  for (size_t i = 0; i < answers[0].left_index.size(); ++i) {
    const size_t at = answers[0].left_index[i];
    EXPECT_EQ(answers[0].disparity[i], expected.disparity[at]);
    EXPECT_EQ(answers[0].right_x[i], expected.right_x[at]);
    EXPECT_EQ(answers[0].depth[i], expected.depth[at]);
    EXPECT_EQ(answers[0].distance[i], static_cast<uint32_t>(expected.distance[at]));
  }
  EXPECT_THAT(answers[0].warnings, IsEmpty());
  EXPECT_TRUE(absl::IsInvalidArgument(answers[1].status)) << answers[1].status;
  EXPECT_THAT(answers[1].disparity, IsEmpty());
  ASSERT_EQ(answers[2].warnings.size(), 1u);
  const Warning& late = answers[2].warnings[0];
  EXPECT_EQ(late.kind, WarningKind::kOutOfSync);
  EXPECT_NEAR(late.figure, 50, 1e-9);
  EXPECT_STREQ(late.unit, "ms");
  EXPECT_THAT(late.text, HasSubstr("50"));
  EXPECT_EQ(answers[2].disparity, answers[0].disparity);
}

}  // namespace
}  // namespace glint::client
