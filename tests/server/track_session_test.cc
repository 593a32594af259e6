// The tracks of a stream over a backend that moves every point by a fixed step and finds a keypoint every 8 pixels.
#include "server/operations/track/track_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace glint {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr Shape kShape = {160, 96};  // 5 x 3 cells of 32 pixels

class FakeBackend : public TrackBackend {
 public:
  bool HasFrames(int camera) const override { return has_last[static_cast<size_t>(camera)]; }
  absl::StatusOr<ImageView> SetFrame(int, int number, const Pixels& image) override {
    shows[static_cast<size_t>(number)] = frames + 1;
    return image.view;
  }
  // The scene has moved by `step` since each frame.
  absl::Status StartFollow(int, int to, const TrackInput& points, absl::Span<const TrackSegment> segments,
                           const TrackOptions&, TrackResult* result) override {
    ++follows;
    const auto count = static_cast<size_t>(points.count);
    result->Resize(count);
    looked_for_x.clear();
    from.clear();
    size_t i = 0;
    for (const TrackSegment& segment : segments) {
      EXPECT_NE(segment.frame, to);
      EXPECT_GT(segment.count, 0);
      from.insert(from.end(), static_cast<size_t>(segment.count), shows[static_cast<size_t>(segment.frame)]);
    }
    for (; i < count; ++i) {
      looked_for_x.push_back(points.to_x[i]);
      result->x[i] = points.x[i] + step * static_cast<float>(shows[static_cast<size_t>(to)] - from[i]);
      result->y[i] = points.y[i];
      const bool inside = result->x[i] < static_cast<float>(kShape.width);
      result->status[i] = inside ? TrackStatus::kTracked : TrackStatus::kOutOfImage;
      result->residual[i] = 2;
      result->gain[i] = 1.5f;
      result->offset[i] = -3;
    }
    return absl::OkStatus();
  }
  absl::Status FinishFollow(int, TrackResult*) override {
    calls += 'f';
    return follow_status;
  }
  absl::Status StartDetect(const DetectorOptions&, const ImageView& image, const ImageView& mask,
                           Features* features) override {
    ++detections;
    calls += 'D';
    std::vector<std::pair<int, int>> at;
    for (int y = 4; y < image.height; y += 8) {
      for (int x = 4; x < image.width; x += 8) {
        if (ignores_mask || mask.empty() || mask.at(x, y) != 0) at.emplace_back(x, y);
      }
    }
    features->Resize(at.size(), 0);
    for (size_t i = 0; i < at.size(); ++i) {
      features->x[i] = static_cast<float>(at[i].first);
      features->y[i] = static_cast<float>(at[i].second);
      // The best of a cell is not its first; cells further right are better.
      features->response[i] = static_cast<float>(at[i].first % 32 == 20 ? 1000 + at[i].first : at[i].first);
    }
    return absl::OkStatus();
  }
  absl::Status FinishDetect() override {
    calls += 'd';
    return detect_status;
  }

  std::array<bool, kMaxTrackCameras> has_last = {};
  bool ignores_mask = false;  // as coarser levels of a pyramid may
  float step = 0;
  int follows = 0, detections = 0;
  std::string calls;                           // f: FinishFollow(), D: StartDetect(), d: FinishDetect()
  int frames = 0;                              // good ones
  std::array<int, kMaxKeptFrames> shows = {};  // the how manieth frame each number is
  std::vector<int> from;                       // of each point that was followed
  std::vector<float> looked_for_x;
  absl::Status follow_status, detect_status;
};

TrackingOptions Options(int target = 15) {
  TrackingOptions options;
  options.detector = *PresetOptions("fast_grid");
  options.target = target;
  return options;
}

class TrackSessionTest : public ::testing::Test {
 protected:
  explicit TrackSessionTest(const TrackingOptions& options = Options()) : session_(options) {}

  absl::Status Frame(int64_t time_ns = 0, bool detect = false, Shape shape = kShape,
                     absl::Span<const TrackPrediction> predictions = {}) {
    image_.Resize(shape);
    if (absl::Status s = session_.Begin(time_ns, detect, predictions, &scratch_); !s.ok()) return s;
    for (int c = 0; c < session_.options().cameras; ++c) {
      if (absl::Status s = session_.Start(c, image_, &backend_, &scratch_, &found_[c], mask_); !s.ok()) {
        return s;
      }
    }
    for (int c = 0; c < session_.options().cameras; ++c) {
      if (absl::Status s = session_.Finish(c, &backend_, &scratch_, &found_[c]); !s.ok()) return s;
    }
    session_.Commit(found_);
    ++backend_.frames;
    for (int c = 0; c < session_.options().cameras; ++c) backend_.has_last[static_cast<size_t>(c)] = true;
    return absl::OkStatus();
  }

  TrackSession session_;
  FakeBackend backend_;
  TrackScratch scratch_;
  // Allows what is to the left of column `end`.
  void AllowBefore(int end) {
    allowed_.Resize(kShape);
    for (int y = 0; y < kShape.height; ++y) {
      for (int x = 0; x < kShape.width; ++x) allowed_.row(y)[x] = x < end ? 255 : 0;
    }
    mask_ = allowed_;
  }

  Image image_, allowed_;
  ImageView mask_;  // of each frame
  CameraTracks found_[kMaxTrackCameras];
  const CameraTracks& tracks_ = found_[0];
};

TEST_F(TrackSessionTest, TheBestOfEachCellBeginsTheBestFirst) {
  ASSERT_TRUE(Frame().ok());
  EXPECT_TRUE(tracks_.detected);
  ASSERT_EQ(tracks_.count(), 15u);
  std::set<std::pair<int, int>> cells;
  for (size_t i = 0; i < 15; ++i) {
    EXPECT_EQ(tracks_.id[i], i + 1);
    EXPECT_EQ(tracks_.age[i], 0u);
    EXPECT_EQ(static_cast<int>(tracks_.x[i]) % 32, 20);
    EXPECT_EQ(tracks_.last_x[i], tracks_.x[i]);
    EXPECT_EQ(tracks_.gain[i], 1);
    EXPECT_LE(tracks_.x[i], tracks_.x[i == 0 ? 0 : i - 1]);
    cells.emplace(static_cast<int>(tracks_.x[i]) / 32, static_cast<int>(tracks_.y[i]) / 32);
  }
  EXPECT_EQ(cells.size(), 15u);
}

TEST_F(TrackSessionTest, TracksKeepTheirIdsAgeAndEndOnce) {
  ASSERT_TRUE(Frame().ok());
  backend_.step = 6;
  ASSERT_TRUE(Frame().ok());
  EXPECT_EQ(backend_.follows, 1);
  EXPECT_EQ(backend_.detections, 1);
  ASSERT_EQ(tracks_.count(), 15u);
  EXPECT_THAT(tracks_.age, Each(1u));
  EXPECT_EQ(tracks_.x[0], 154);
  EXPECT_EQ(tracks_.last_x[0], 148);
  EXPECT_EQ(tracks_.residual[0], 2);
  EXPECT_EQ(tracks_.gain[0], 1.5f);
  EXPECT_EQ(tracks_.offset[0], -3);
  // The last column leaves the image: 3 of 15, so 12 are left, not fewer than 0.8 x 15.
  ASSERT_TRUE(Frame().ok());
  ASSERT_EQ(tracks_.count(), 15u);
  EXPECT_EQ(tracks_.state[0], TrackState::kOutOfImage);
  EXPECT_EQ(tracks_.age[0], 1u);
  EXPECT_EQ(tracks_.age[3], 2u);
  EXPECT_FALSE(tracks_.detected);
  EXPECT_EQ(session_.live(), 12u);
  ASSERT_TRUE(Frame().ok());
  EXPECT_EQ(tracks_.count(), 12u);
  EXPECT_EQ(tracks_.id[0], 4u);
}

TEST_F(TrackSessionTest, NewPointsAreSoughtInEmptyCellsOnlyAndBelowTheShare) {
  ASSERT_TRUE(Frame().ok());
  backend_.step = 32;  // each column becomes the next one; the last leaves
  ASSERT_TRUE(Frame().ok());
  EXPECT_FALSE(tracks_.detected);
  ASSERT_TRUE(Frame().ok());  // 9 are left
  EXPECT_TRUE(tracks_.detected);
  EXPECT_EQ(session_.live(), 15u);
  for (size_t i = 0; i < tracks_.count(); ++i) {
    EXPECT_TRUE(tracks_.id[i] <= 15 || tracks_.x[i] < 64) << tracks_.id[i];
  }
  EXPECT_EQ(tracks_.id.back(), 21u);
}

TEST_F(TrackSessionTest, AFrameMayAskForNewPoints) {
  ASSERT_TRUE(Frame().ok());
  backend_.step = 32;
  ASSERT_TRUE(Frame(0, true).ok());
  EXPECT_TRUE(tracks_.detected);
  EXPECT_EQ(session_.live(), 15u);
  // All cells are taken: there is nothing to look for.
  backend_.step = 0;
  ASSERT_TRUE(Frame(0, true).ok());
  EXPECT_FALSE(tracks_.detected);
}

// Waiting for the tracker is left to the end where that changes no track.
TEST_F(TrackSessionTest, TheDetectorWorksBesideTheTracker) {
  ASSERT_TRUE(Frame().ok());
  backend_.step = 32;
  ASSERT_TRUE(Frame(0, true).ok());  // asked for, but by now there are as many as wanted
  ASSERT_TRUE(Frame().ok());
  ASSERT_TRUE(Frame(0, true).ok());  // 12 have been left
  EXPECT_EQ(backend_.calls, "DdfDdfDfd");
  EXPECT_TRUE(tracks_.detected);
  EXPECT_EQ(session_.live(), 15u);
}

class Masked : public TrackSessionTest {
 protected:
  static TrackingOptions Best() {
    TrackingOptions options = Options();
    options.detector = *PresetOptions("orb");
    return options;
  }
  Masked() : TrackSessionTest(Best()) { backend_.step = 32; }
};

TEST_F(Masked, TheDetectorWaitsForWhatIsOccupied) {
  ASSERT_TRUE(Frame().ok());
  ASSERT_TRUE(Frame().ok());
  ASSERT_TRUE(Frame(0, true).ok());
  EXPECT_EQ(backend_.calls, "DdffDd");
}

TEST_F(Masked, TheDetectorLooksInEmptyCellsWhereTheMaskAllows) {
  AllowBefore(64);  // two of the five columns of cells
  ASSERT_TRUE(Frame().ok());
  EXPECT_EQ(session_.live(), 6u);
  ASSERT_TRUE(Frame(0, true).ok());  // the first column is the second now, which has left
  EXPECT_EQ(session_.live(), 6u);
  for (size_t i = 0; i < tracks_.count(); ++i) {
    EXPECT_EQ(tracks_.state[i], i < 3 ? TrackState::kMasked : TrackState::kTracked) << i;
    EXPECT_EQ(tracks_.x[i], i < 3 || (i >= 3 && i < 6) ? 52 : 20) << i;
  }
}

TEST_F(TrackSessionTest, TracksBeginWhereTheMaskAllows) {
  for (const bool ignores : {false, true}) {
    backend_.ignores_mask = ignores;
    AllowBefore(0);
    for (int x = 25; x < kShape.width; x += 32) {
      for (int y = 0; y < kShape.height; ++y) std::fill_n(allowed_.row(y) + x, 7, uint8_t{255});
    }
    ASSERT_TRUE(Frame().ok());
    ASSERT_EQ(session_.live(), 15u);  // in each cell there is such a point, though not its best
    for (const float x : tracks_.x) EXPECT_EQ(static_cast<int>(x) % 32, 28);
    session_.ResetAll(found_);
  }
}

TEST_F(TrackSessionTest, ATrackEndsWhereItsNearestPixelIsMasked) {
  AllowBefore(150);
  ASSERT_TRUE(Frame().ok());
  EXPECT_EQ(tracks_.x[0], 148);
  backend_.step = 1.25f;
  ASSERT_TRUE(Frame().ok());
  EXPECT_EQ(tracks_.state[0], TrackState::kTracked);  // at 149.25
  ASSERT_TRUE(Frame().ok());
  ASSERT_EQ(tracks_.count(), 15u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(tracks_.state[i], TrackState::kMasked);
    EXPECT_EQ(tracks_.age[i], 1u);
    EXPECT_EQ(tracks_.x[i], 149.25f);
    EXPECT_EQ(tracks_.last_x[i], 149.25f);
    EXPECT_EQ(tracks_.residual[i], 2);
  }
  EXPECT_EQ(tracks_.state[3], TrackState::kTracked);
  EXPECT_EQ(session_.live(), 12u);
  mask_ = {};  // of this frame: they stay ended, and everything is allowed
  backend_.step = 40;
  ASSERT_TRUE(Frame().ok());
  EXPECT_EQ(tracks_.count(), 12u);
  EXPECT_EQ(tracks_.state[0], TrackState::kTracked);
  EXPECT_EQ(tracks_.x[0], 158.5f);
}

TEST_F(TrackSessionTest, PointsOfTheClientBeginWhereTheyAreAndEndIfTheyStayThere) {
  AllowBefore(0);
  ASSERT_TRUE(Frame().ok());
  EXPECT_TRUE(tracks_.detected);
  EXPECT_EQ(tracks_.count(), 0u);
  ASSERT_TRUE(session_.Add(0, {50}, {60}, found_).ok());
  EXPECT_EQ(session_.live(), 1u);
  ASSERT_TRUE(Frame().ok());
  EXPECT_THAT(tracks_.state, ElementsAre(TrackState::kMasked));
}

TEST_F(TrackSessionTest, AFrameOfAnotherSizeEndsAllTracks) {
  ASSERT_TRUE(Frame().ok());
  ASSERT_TRUE(Frame(0, false, {128, 96}).ok());
  EXPECT_EQ(backend_.follows, 0);
  ASSERT_EQ(tracks_.count(), 27u);
  EXPECT_EQ(tracks_.state[14], TrackState::kImageResized);
  EXPECT_EQ(tracks_.state[15], TrackState::kTracked);
  EXPECT_EQ(tracks_.id[15], 16u);
  EXPECT_EQ(session_.live(), 12u);
}

TEST_F(TrackSessionTest, ALostFrameEndsAllTracks) {
  ASSERT_TRUE(Frame().ok());
  backend_.has_last[0] = false;
  ASSERT_TRUE(Frame().ok());
  EXPECT_EQ(tracks_.state[14], TrackState::kLastFrameLost);
  EXPECT_EQ(tracks_.count(), 30u);
}

TEST_F(TrackSessionTest, AFrameThatFailsChangesNothing) {
  ASSERT_TRUE(Frame(100).ok());
  backend_.step = 32;
  backend_.follow_status = absl::InternalError("a device");
  EXPECT_EQ(Frame(200), backend_.follow_status);
  backend_.follow_status = absl::OkStatus();
  backend_.detect_status = absl::ResourceExhaustedError("memory");
  EXPECT_EQ(Frame(300, true), backend_.detect_status);
  backend_.detect_status = absl::OkStatus();
  ASSERT_TRUE(Frame(200, true).ok());
  EXPECT_EQ(tracks_.id.back(), 18u);
  EXPECT_EQ(tracks_.last_x[0], 148);
}

TEST_F(TrackSessionTest, TimesAscend) {
  ASSERT_TRUE(Frame(7).ok());
  EXPECT_THAT(Frame(7).message(), HasSubstr("time_ns: 7 is not above 7, that of the last good frame"));
  EXPECT_EQ(Frame(5).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Frame(0).ok());  // unknown
  EXPECT_TRUE(Frame(5).ok());
  session_.ResetAll(found_);
  EXPECT_TRUE(Frame(3).ok());
}

class Predicting : public TrackSessionTest {
 protected:
  static TrackingOptions Predict() {
    TrackingOptions options = Options();
    options.predict = true;
    return options;
  }
  Predicting() : TrackSessionTest(Predict()) { backend_.step = 4; }
};

TEST_F(Predicting, PointsAreLookedForWhereTheirMoveLeads) {
  ASSERT_TRUE(Frame(1000).ok());
  ASSERT_TRUE(Frame(2000).ok());
  EXPECT_EQ(backend_.looked_for_x[14], 20);  // they have not moved yet
  ASSERT_TRUE(Frame(4500).ok());             // at 24, by 4 in 1000 ns
  EXPECT_EQ(backend_.looked_for_x[14], 34);
  ASSERT_TRUE(Frame(0).ok());  // at 28; times are unknown
  EXPECT_EQ(backend_.looked_for_x[14], 32);
}

TEST_F(Predicting, PredictionsStayInTheImageAndGoAheadSoFar) {
  ASSERT_TRUE(Frame(std::numeric_limits<int64_t>::min()).ok());
  ASSERT_TRUE(Frame(std::numeric_limits<int64_t>::min() + 1).ok());
  ASSERT_TRUE(Frame(std::numeric_limits<int64_t>::max()).ok());
  EXPECT_EQ(backend_.looked_for_x[14], 24 + 8 * 4);
  EXPECT_EQ(backend_.looked_for_x[0], 159);
}

TEST_F(Predicting, AHomographyReplacesThatAndPositionsOfIdsReplaceIt) {
  ASSERT_TRUE(Frame().ok());
  ASSERT_TRUE(Frame().ok());
  TrackPrediction prediction;
  prediction.homography = {1, 0, 7, 0, 1, 0, 0, 0, 1};
  prediction.ids = {15, 999, 3};  // no such track: it may have ended
  prediction.x = {33, 1, -20};
  prediction.y = {40, 1, 5};
  ASSERT_TRUE(Frame(0, false, kShape, {&prediction, 1}).ok());
  EXPECT_EQ(backend_.looked_for_x[13], 24 + 7);
  EXPECT_EQ(backend_.looked_for_x[14], 33);
  EXPECT_EQ(backend_.looked_for_x[0], 159);  // the nearest inside
  EXPECT_EQ(backend_.looked_for_x[2], 0);
  // Points behind the camera are expected where they would be without it.
  prediction.homography = {1, 0, 7, 0, 1, 0, 0, 0, -1};
  prediction.ids.clear();
  prediction.x.clear();
  prediction.y.clear();
  ASSERT_TRUE(Frame(0, false, kShape, {&prediction, 1}).ok());
  EXPECT_EQ(backend_.looked_for_x[13], 28 + 4);
  // A zoom about the first pixel.
  prediction.homography = {2, 0, 0, 0, 2, 0, 0, 0, 1};
  ASSERT_TRUE(Frame(0, false, kShape, {&prediction, 1}).ok());
  EXPECT_EQ(backend_.looked_for_x[10], 64);  // of the same: the last column has left
}

TEST_F(Predicting, BadPredictionsAreRefused) {
  ASSERT_TRUE(Frame().ok());
  const auto error = [this](auto change) {
    std::vector<TrackPrediction> two(1);
    two[0].ids = {1, 2};
    two[0].x = two[0].y = {3, 4};
    change(&two);
    return std::string(Frame(0, false, kShape, two).message());
  };
  using Two = std::vector<TrackPrediction>;
  EXPECT_THAT(error([](Two*) {}), IsEmpty());
  EXPECT_EQ(error([](Two* p) { (*p)[0].camera = 1; }), "predictions[0].camera: 1 is not in 0..0");
  EXPECT_THAT(error([](Two* p) { p->resize(2); }), HasSubstr("predictions[1].camera: 0 has two"));
  EXPECT_THAT(error([](Two* p) { (*p)[0].homography.resize(8); }), HasSubstr("predictions[0].homography: 8 elements"));
  EXPECT_THAT(error([](Two* p) {
                (*p)[0].homography.resize(9);
                (*p)[0].homography[4] = std::nanf("");
              }),
              HasSubstr("predictions[0].homography[4]: not finite"));
  EXPECT_THAT(error([](Two* p) { (*p)[0].y.resize(3); }), HasSubstr("predictions[0].y: 3 elements, but ids has 2"));
  EXPECT_THAT(error([](Two* p) { (*p)[0].ids[1] = 1; }), HasSubstr("predictions[0].ids: 1 is there twice"));
  EXPECT_THAT(error([](Two* p) { (*p)[0].x[1] = std::nanf(""); }),
              HasSubstr("predictions[0].x[1]: nan is not in -32768..32768"));
  EXPECT_EQ(backend_.follows, 1);
}

class FirstFrames : public TrackSessionTest {
 protected:
  static TrackingOptions TwoTemplates() {
    TrackingOptions options = Options();
    options.template_frames = 2;
    options.on_request = true;
    return options;
  }
  FirstFrames() : TrackSessionTest(TwoTemplates()) { backend_.step = 1; }

  absl::Status AddAt(std::vector<float> x) {
    CameraTracks added;
    return session_.Add(0, x, std::vector<float>(x.size(), 20), &added);
  }
};

TEST_F(FirstFrames, PointsAreComparedWithWhereTheyBegan) {
  ASSERT_TRUE(Frame().ok());
  ASSERT_TRUE(AddAt({10, 20, 30}).ok());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(Frame().ok());
    EXPECT_THAT(backend_.from, Each(1));
    EXPECT_EQ(tracks_.x[0], 11 + i);
    EXPECT_EQ(tracks_.last_x[0], 10 + i);
    EXPECT_EQ(backend_.looked_for_x[0], 10 + i);
    EXPECT_EQ(tracks_.origin[0].age, static_cast<uint32_t>(i + 1));
  }
  ASSERT_TRUE(AddAt({50, 60}).ok());  // in frame 6
  ASSERT_TRUE(Frame().ok());
  EXPECT_THAT(backend_.from, UnorderedElementsAre(1, 1, 1, 6, 6));
  EXPECT_THAT(tracks_.x, ElementsAre(16, 26, 36, 51, 61));
}

TEST_F(FirstFrames, TheFewestGetANewTemplateWhenFramesRunOut) {
  ASSERT_TRUE(Frame().ok());
  ASSERT_TRUE(AddAt({10, 20, 30}).ok());
  ASSERT_TRUE(Frame().ok());
  ASSERT_TRUE(AddAt({50, 60}).ok());  // in frame 2
  ASSERT_TRUE(Frame().ok());
  ASSERT_TRUE(AddAt({70}).ok());  // in frame 3, which those of frame 2 join
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Frame().ok());
    EXPECT_THAT(backend_.from, UnorderedElementsAre(1, 1, 1, 3, 3, 3));
    EXPECT_THAT(tracks_.x, ElementsAre(13 + i, 23 + i, 33 + i, 52 + i, 62 + i, 71 + i));
  }
  // The first ones end: their frame is free again.
  CameraTracks changed;
  ASSERT_TRUE(session_.Forget({1, 2, 3}, found_).ok());
  ASSERT_TRUE(AddAt({5}).ok());  // in frame 6
  ASSERT_TRUE(Frame().ok());
  EXPECT_THAT(backend_.from, UnorderedElementsAre(3, 3, 3, 6));
}

TEST_F(FirstFrames, DetectedPointsBeginInTheirFrame) {
  ASSERT_TRUE(Frame(0, true).ok());
  EXPECT_EQ(tracks_.count(), 15u);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(Frame(0, true).ok());
  for (size_t i = 0; i < tracks_.count(); ++i) {
    EXPECT_LE(tracks_.origin[i].age, tracks_.age[i]) << i;
    EXPECT_EQ(tracks_.x[i], tracks_.origin[i].x + static_cast<float>(tracks_.origin[i].age)) << i;
  }
}

class OnRequest : public TrackSessionTest {
 protected:
  static TrackingOptions Requested() {
    TrackingOptions options = Options();
    options.on_request = true;
    options.max_tracks = 20;
    return options;
  }
  OnRequest() : TrackSessionTest(Requested()) {}
};

TEST_F(OnRequest, PointsOfTheClientAreFollowedAndOthersComeWhenAskedFor) {
  ASSERT_TRUE(Frame().ok());
  EXPECT_EQ(tracks_.count(), 0u);
  CameraTracks added;
  ASSERT_TRUE(session_.Add(0, {10, 159}, {20, 95}, &added).ok());
  EXPECT_THAT(added.id, ElementsAre(1, 2));
  EXPECT_THAT(added.age, ElementsAre(0, 0));
  backend_.step = -1;
  ASSERT_TRUE(Frame().ok());
  EXPECT_THAT(tracks_.x, ElementsAre(9, 158));
  EXPECT_EQ(backend_.detections, 0);
  ASSERT_TRUE(Frame(0, true).ok());
  EXPECT_EQ(backend_.detections, 1);
  EXPECT_EQ(tracks_.count(), 15u);
}

TEST_F(OnRequest, BadPointsAreRefusedAsAWhole) {
  CameraTracks added;
  EXPECT_EQ(session_.Add(0, {10}, {20}, &added).message(),
            "camera: 0 has had no frame; points are positions in its last one");
  ASSERT_TRUE(Frame().ok());
  EXPECT_THAT(session_.Add(1, {10}, {20}, &added).message(), HasSubstr("camera: 1 is not in 0..0"));
  EXPECT_THAT(session_.Add(0, {10, 11}, {20}, &added).message(), HasSubstr("y: 1 elements, but x has 2"));
  EXPECT_THAT(session_.Add(0, {10, 159.5f}, {20, 20}, &added).message(), HasSubstr("x[1]: 159.5 is not in 0..159"));
  EXPECT_THAT(session_.Add(0, {10}, {-1}, &added).message(), HasSubstr("y[0]: -1 is not in 0..95"));
  EXPECT_THAT(session_.Add(0, {std::nanf("")}, {1}, &added).message(), HasSubstr("x[0]: nan is not in 0..159"));
  EXPECT_EQ(session_.live(), 0u);
  const std::vector<float> many(21, 1);
  EXPECT_EQ(session_.Add(0, many, many, &added).message(),
            "x: 21 tracks are over this server's limit of 20 (--max-tracks)");
  ASSERT_TRUE(session_.Add(0, {many.data(), 20}, {many.data(), 20}, &added).ok());
  EXPECT_THAT(session_.Add(0, {1}, {1}, &added).message(), HasSubstr("x: 21 tracks are over"));
}

TEST_F(OnRequest, TracksAreForgottenByTheirIdsAsAWhole) {
  ASSERT_TRUE(Frame().ok());
  CameraTracks changed;
  ASSERT_TRUE(session_.Add(0, {10, 20, 30}, {10, 20, 30}, &changed).ok());
  EXPECT_EQ(session_.Forget({1, 4}, found_).message(), "ids[1]: no live track has the id 4");
  EXPECT_EQ(session_.Forget({3, 3}, found_).message(), "ids[1]: 3 is there twice");
  EXPECT_EQ(session_.live(), 3u);
  ASSERT_TRUE(session_.Forget({3, 1}, found_).ok());
  EXPECT_THAT(tracks_.id, ElementsAre(1, 3));
  EXPECT_THAT(tracks_.state, Each(TrackState::kForgotten));
  EXPECT_EQ(absl::StatusCode::kNotFound, session_.Forget({1}, found_).code());
  ASSERT_TRUE(Frame().ok());
  EXPECT_THAT(tracks_.id, ElementsAre(2));
  ASSERT_TRUE(session_.Add(0, {10}, {10}, &changed).ok());
  EXPECT_THAT(changed.id, ElementsAre(4));  // ids never return
}

class TwoCameras : public TrackSessionTest {
 protected:
  static TrackingOptions Two() {
    TrackingOptions options = Options();
    options.cameras = 2;
    options.max_tracks = 30;
    return options;
  }
  TwoCameras() : TrackSessionTest(Two()) {}
};

TEST_F(TwoCameras, TheDetectorWorksWhileTheNextImageIsTaken) {
  ASSERT_TRUE(Frame().ok());
  EXPECT_EQ(backend_.calls, "DdDd");
  backend_.step = 32;
  ASSERT_TRUE(Frame().ok());
  backend_.calls.clear();
  ASSERT_TRUE(Frame(0, true).ok());
  EXPECT_EQ(backend_.calls, "DdDffd");
  for (const size_t camera : {0, 1}) {
    EXPECT_TRUE(found_[camera].detected);
    EXPECT_EQ(found_[camera].count(), 18u);  // three of them end
  }
  EXPECT_EQ(session_.live(), 30u);
}

TEST_F(TwoCameras, HaveTracksOfTheirOwnWithIdsInCommon) {
  ASSERT_TRUE(Frame().ok());
  EXPECT_EQ(found_[0].id.back(), 15u);
  EXPECT_EQ(found_[1].id.front(), 16u);
  EXPECT_EQ(session_.live(), 30u);
  CameraTracks changed;
  EXPECT_THAT(session_.Reset(2, &changed).message(), HasSubstr("camera: 2 is not in 0..1"));
  ASSERT_TRUE(session_.Reset(1, &changed).ok());
  EXPECT_EQ(changed.count(), 15u);
  EXPECT_THAT(changed.state, Each(TrackState::kReset));
  ASSERT_TRUE(Frame().ok());
  EXPECT_FALSE(found_[0].detected);
  EXPECT_TRUE(found_[1].detected);
  EXPECT_EQ(found_[1].id.front(), 31u);
  ASSERT_TRUE(session_.Forget({1, 31}, found_).ok());
  EXPECT_THAT(found_[0].id, ElementsAre(1));
  EXPECT_THAT(found_[1].id, ElementsAre(31));
  session_.ResetAll(found_);
  EXPECT_EQ(found_[0].count() + found_[1].count(), 28u);
  EXPECT_EQ(session_.live(), 0u);
}

// Points of the client leave less room than the target.
TEST_F(TwoCameras, KeepToTheLimitOfAllTracks) {
  ASSERT_TRUE(Frame().ok());
  session_.ResetAll(found_);
  CameraTracks changed;
  const std::vector<float> corner(20, 3);
  ASSERT_TRUE(session_.Add(1, corner, corner, &changed).ok());
  ASSERT_TRUE(Frame().ok());
  EXPECT_EQ(found_[0].count(), 10u);
  EXPECT_EQ(found_[1].count(), 20u);
  EXPECT_FALSE(found_[1].detected);
}

TEST(TrackingOptionsTest, ErrorsNameTheField) {
  const auto error = [](auto change) {
    TrackingOptions options = Options();
    change(&options);
    return std::string(ValidateTrackingOptions(options).message());
  };
  EXPECT_THAT(error([](TrackingOptions*) {}), IsEmpty());
  EXPECT_EQ(error([](TrackingOptions* o) { o->cameras = 9; }), "cameras: 9 is not in 1..8");
  EXPECT_EQ(error([](TrackingOptions* o) { o->target = 0; }), "target: 0 is not in 1..65536");
  EXPECT_EQ(error([](TrackingOptions* o) { o->min_share = std::nanf(""); }), "min_share: nan is not in 0..1");
  EXPECT_EQ(error([](TrackingOptions* o) { o->track.levels = 9; }), "levels: 9 is not in 1..8");
  EXPECT_EQ(error([](TrackingOptions* o) { o->cameras = 8, o->target = 600; }),
            "target: 4800 tracks of all cameras are over this server's limit of 4096 (--max-tracks)");
}

}  // namespace
}  // namespace glint
