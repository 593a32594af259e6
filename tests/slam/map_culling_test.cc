// Maps grow with the space that they show, not with time: drives through made-up worlds whose every pose is known, and
// what the removal of keyframes leaves of a map.
#include "slam/map/map_culling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "slam/front_end/feature_kind.h"
#include "slam/localizer.h"
#include "slam/map/landmark_table.h"
#include "slam/map/map_file.h"
#include "slam/map/place_index.h"
#include "tests/slam/point_world.h"

namespace glint::slam {
namespace {

constexpr double kTurn = 6.283185307179586;
constexpr uint32_t kSeeds = 5;

StereoCamera Camera() { return {{800, 400}, 450, 402, 196, 0.5, Eigen::Vector3d::Zero()}; }

// Points on the walls of a square room of `side` metres, 4 m high.
std::vector<Eigen::Vector3d> RoomOf(double side, int points, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> share(-0.5, 0.5);
  std::vector<Eigen::Vector3d> room;
  for (int i = 0; i < points; ++i) {
    const Eigen::Vector3d on_wall(side * share(random), 4 * share(random), side / 2 + share(random));
    room.push_back(RotationOf({0, kTurn / 4 * (i % 4), 0}) * on_wall);
  }
  return room;
}

struct Robot {
  Robot(std::vector<Eigen::Vector3d> points, const LocalizerOptions& options, uint32_t seed)
      : world(Camera(), std::move(points), seed), picture(800, 400) {
    world.SetFlips(20);
    auto created = Localizer::Create(Camera(), options, &world);
    EXPECT_TRUE(created.ok()) << created.status();
    localizer = *std::move(created);
  }
  LocalizerResult Take(const Pose& pose) {
    if (time_ns == 0) start = pose;
    world.Look(pose);
    LocalizerResult result;
    const absl::Status status = localizer->Track(picture, picture, {0, time_ns += 100'000'000}, &result);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(result.status, TrackingStatus::kTracking) << time_ns;
    return result;
  }
  LocalizerResult Search(const Pose& pose) {
    world.Look(pose);
    LocalizerResult result;
    const absl::Status status = localizer->Relocalize(picture, picture, &result);
    EXPECT_TRUE(status.ok()) << status;
    return result;
  }
  double ErrorOf(const LocalizerResult& result, const Pose& truth) const {
    return (result.world_from_camera.translation - (start.Inverse() * truth).translation).norm();
  }

  PointWorld world;
  const Image picture;
  std::unique_ptr<Localizer> localizer;
  Pose start;
  int64_t time_ns = 0;
};

// A camera on a circle of 3 m in the room, looking outwards a little ahead of its way.
Pose InRoom(double angle) {
  return {RotationOf({0, angle + kTurn / 6, 0}), {3 * std::sin(angle), 0, 3 * std::cos(angle)}};
}

// Each round is a little beside the last one.
TEST(MapCulling, ManyRoundsMakeAMapLikeThatOfOne) {
  constexpr int kRound = 100, kRounds = 3;
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    Robot robot(RoomOf(16, 1500, seed), {}, seed);
    int64_t first = 0;
    size_t second_bytes = 0;
    LocalizerResult result;
    for (int i = 0; i < kRounds * kRound; ++i) {
      Pose pose = InRoom(kTurn * (i + 0.1 * (i / kRound)) / kRound);
      pose.translation.x() += 0.05 * (i / kRound % 3);
      result = robot.Take(pose);
      ASSERT_LT(robot.ErrorOf(result, pose), 0.2) << "seed " << seed << " frame " << i;
      if (i + 1 == kRound) first = result.keyframes;
      if (i + 1 == 2 * kRound) second_bytes = robot.localizer->MemoryBytes();
    }
    EXPECT_GT(first, 15) << "seed " << seed;
    // Those of odometry's window are not judged yet.
    EXPECT_LE(result.keyframes, 12 * first / 10 + OdometryOptions().window) << "seed " << seed;
    EXPECT_LE(robot.localizer->MemoryBytes(), 12 * second_bytes / 10) << "seed " << seed;
    EXPECT_FALSE(result.map_full);
    // What is left shows all of the way.
    int found = 0;
    constexpr int kSearched = kRound / 5;
    for (int i = 0; i < kSearched; ++i) {
      const Pose pose = InRoom(kTurn * (i + 0.1) / kSearched);
      const LocalizerResult single = robot.Search(pose);
      if (single.status != TrackingStatus::kRelocalized) continue;
      ++found;
      EXPECT_LT(robot.ErrorOf(single, pose), 0.2) << "seed " << seed << " pair " << i;
    }
    EXPECT_GE(found, 95 * kSearched / 100) << "seed " << seed;
  }
}

// A map of so few keyframes has no room for two streets, but for one that is driven to and fro, and then for another.
// Each session loads what the one before has saved.
TEST(MapCulling, SessionsMakeAMapLikeThatOfOne) {
  constexpr int kRound = 100, kSessions = 4;
  const std::string path = ::testing::TempDir() + "sessions.glintmap";
  int64_t first = 0, last = 0;
  for (int session = 0; session < kSessions; ++session) {
    Robot robot(RoomOf(16, 1500, 1), {}, 1);
    ASSERT_TRUE(session == 0 || robot.localizer->LoadMap(path).ok());
    for (int i = 0; i < kRound; ++i) {
      robot.world.Look(InRoom(kTurn * (i + 0.1 * session) / kRound));
      LocalizerResult result;
      ASSERT_TRUE(
          robot.localizer->Track(robot.picture, robot.picture, {0, robot.time_ns += 100'000'000}, &result).ok());
      EXPECT_EQ(result.status, session > 0 && i == 0 ? TrackingStatus::kRelocalized : TrackingStatus::kTracking)
          << "session " << session << " frame " << i;
      last = result.keyframes;
    }
    if (session == 0) first = last;
    ASSERT_TRUE(robot.localizer->SaveMap(path).ok());
  }
  EXPECT_LE(last, 12 * first / 10 + OdometryOptions().window) << first;
  std::remove(path.c_str());
}

TEST(MapCulling, TheRedundantMakeRoomForNewPlaces) {
  LocalizerOptions options;
  options.max_keyframes = 40;
  Robot robot(RoomOf(16, 1500, 1), options, 1);
  LocalizerResult result;
  double angle = 0;
  for (int i = 0; i < 200; ++i) result = robot.Take(InRoom(angle = 1.2 * (1 - std::cos(kTurn * i / 50))));
  EXPECT_FALSE(result.map_full);
  for (int i = 0; i < 20; ++i) result = robot.Take(InRoom(angle += 0.1));
  EXPECT_FALSE(result.map_full);
  EXPECT_LE(result.keyframes, 40);
  const Pose late = InRoom(angle - 0.15);
  const LocalizerResult single = robot.Search(late);
  EXPECT_EQ(single.status, TrackingStatus::kRelocalized);
  EXPECT_LT(robot.ErrorOf(single, late), 0.2);
}

TEST(MapCulling, AFullMapSaysSo) {
  LocalizerOptions options;
  options.max_keyframes = 10;
  Robot robot(RoomOf(16, 1500, 1), options, 1);
  bool was_full = false;
  for (int i = 0; i < 40; ++i) {
    const LocalizerResult result = robot.Take(InRoom(0.12 * i));
    EXPECT_LE(result.keyframes, 10);
    const auto is_about_it = [](const Warning& w) { return w.kind == WarningKind::kMapFull; };
    const auto warning = std::find_if(result.warnings.begin(), result.warnings.end(), is_about_it);
    EXPECT_EQ(result.map_full, warning != result.warnings.end());
    if (!result.map_full) continue;
    was_full = true;
    EXPECT_EQ(warning->figure, 10);
    EXPECT_NE(warning->text.find("10 of 10 keyframes"), std::string::npos) << warning->text;
  }
  EXPECT_TRUE(was_full);
}

// A chain of keyframes with loops, whose edges all agree with the poses.
GlobalMap MapOf(int keyframes, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> share(-1, 1);
  constexpr int kPoints = 20;
  std::vector<MapKeyframe> made(static_cast<size_t>(keyframes));
  std::vector<MapLandmark> points(static_cast<size_t>(kPoints * keyframes));
  for (size_t i = 0; i < points.size(); ++i) points[i].position = {share(random), share(random), 5};
  for (size_t i = 0; i < made.size(); ++i) {
    MapKeyframe& k = made[i];
    k.id = static_cast<int64_t>(3 * i);
    k.camera_from_world = {RotationOf({share(random), share(random), share(random)}),
                           {5 * share(random), share(random), 5 * share(random)}};
    auto features = std::make_shared<KeyframeFeatures>();
    features->descriptor_bytes = 32;
    // Its points and those of the keyframe before.
    for (size_t p = kPoints * (i - std::min<size_t>(i, 1)); p < kPoints * (i + 1); ++p) {
      k.points.push_back(static_cast<int32_t>(p));
      features->keypoints.push_back({50, 50, 5, 0, 1, 0, 1});
      features->descriptors.insert(features->descriptors.end(), 32, static_cast<uint8_t>(p));
    }
    k.features = std::move(features);
    if (i == 0) continue;
    k.parent = made[i - 1].id;
    k.from_parent = k.camera_from_world * made[i - 1].camera_from_world.Inverse();
    k.neighbours.push_back({k.parent, kPoints});
    made[i - 1].neighbours.push_back({k.id, kPoints});
  }
  std::vector<LoopEdge> loops;
  for (int l = 0; l < keyframes / 3; ++l) {
    const size_t to = 2 + random() % (made.size() - 2), from = random() % (to - 1);
    loops.push_back(
        {made[from].id, made[to].id, made[to].camera_from_world * made[from].camera_from_world.Inverse(), 0.01, 0.02});
  }
  GlobalMap map;
  map.Restore(std::move(made), points, std::move(loops));
  return map;
}

void ExpectAgrees(const GlobalMap& map, int64_t from, int64_t to, const Pose& to_from) {
  ASSERT_NE(map.IndexOf(from), GlobalMap::kNone);
  ASSERT_NE(map.IndexOf(to), GlobalMap::kNone);
  const Pose& a = map.keyframes()[map.IndexOf(from)].camera_from_world;
  const Pose& b = map.keyframes()[map.IndexOf(to)].camera_from_world;
  const Pose apart = to_from * (b * a.Inverse()).Inverse();
  EXPECT_LT(AngleOf(apart.rotation) + apart.translation.norm(), 1e-6) << from << " to " << to;
}

// Everything that later code and files rely upon.
void ExpectWhole(const GlobalMap& map) {
  std::set<int64_t> reached{map.keyframes().front().id};
  for (size_t pass = 0; pass < map.keyframes().size(); ++pass) {
    const auto join = [&reached](int64_t a, int64_t b) {
      if (reached.count(a) + reached.count(b) > 0) reached.insert({a, b});
    };
    for (const MapKeyframe& k : map.keyframes()) {
      if (k.parent >= 0) join(k.parent, k.id);
    }
    for (const LoopEdge& l : map.loops()) join(l.from, l.to);
  }
  EXPECT_EQ(reached.size(), map.keyframes().size());
  int64_t observed = 0;
  for (const MapKeyframe& k : map.keyframes()) {
    if (k.parent >= 0) {
      EXPECT_LT(k.parent, k.id);
      ExpectAgrees(map, k.parent, k.id, k.from_parent);
    }
    for (const MapKeyframe::Neighbour& n : k.neighbours) EXPECT_NE(map.IndexOf(n.id), GlobalMap::kNone);
    for (const int32_t p : k.points) observed += p >= 0 ? 1 : 0;
  }
  for (const LoopEdge& l : map.loops()) {
    EXPECT_NE(l.from, l.to);
    ExpectAgrees(map, l.from, l.to, l.to_from);
  }
  int64_t counted = 0, live = 0;
  for (size_t id = 0; id < map.points().size(); ++id) {
    counted += map.points()[id].observations;
    live += map.points()[id].observations > 0 ? 1 : 0;
  }
  EXPECT_EQ(counted, observed);
  EXPECT_EQ(live, map.live_points());
}

// Whichever keyframes are removed, and whoever takes over: the graph stays connected, its edges agree with the poses,
// and the map can be saved.
TEST(MapCulling, RemovalLeavesAWholeMap) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    GlobalMap map = MapOf(30, seed);
    ExpectWhole(map);
    const size_t before = map.MemoryBytes();
    const size_t edges = 29 + map.loops().size();
    std::mt19937 random(seed);
    while (map.keyframes().size() > 3) {
      const size_t gone = 1 + random() % (map.keyframes().size() - 1);
      size_t heir = random() % (map.keyframes().size() - 1);
      heir += heir >= gone ? 1 : 0;
      map.Remove(map.keyframes()[gone].id, map.keyframes()[heir].id);
      ExpectWhole(map);
    }
    EXPECT_LE(map.loops().size(), edges);
    EXPECT_LE(map.loops().size(), 3U);  // of three keyframes
    map.RemoveLandmarksSeenOnce(map.keyframes().back().id);
    ExpectWhole(map);
    EXPECT_LT(map.MemoryBytes(), before / 4);

    const StereoCamera camera{{128, 96}, 100, 64, 48, 0.2, Eigen::Vector3d::Zero()};
    LevelScales scales;
    scales.levels = 1;
    scales.scale[0] = 1;
    const std::string path = testing::TempDir() + "slam_map_culling_test.map";
    const FeatureKind kind{32, "descriptor=random"};
    ASSERT_TRUE(WriteMapFile(path, camera, scales, kind, map).ok());
    const auto loaded = ReadMapFile(path, camera, kind, {100, 1000});
    std::remove(path.c_str());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    ExpectWhole(loaded->map);
    EXPECT_EQ(loaded->map.live_points(), map.live_points());
    EXPECT_EQ(static_cast<int64_t>(loaded->map.points().size()), map.live_points());
  }
}

// Two keyframes that nothing ties to each other, a hand's breadth apart, with `points` landmarks each. The older one
// has the newer one's in its image, or others in front of them.
GlobalMap MapOfTwo(const StereoCamera& camera, int points, bool is_same_place) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> share(-1, 1);
  std::vector<MapKeyframe> keyframes(2);
  std::vector<MapLandmark> landmarks(static_cast<size_t>(2 * points));
  std::vector<std::array<uint8_t, 32>> looks(static_cast<size_t>(points));
  const auto look_new = [&random](std::array<uint8_t, 32>* look) {
    for (uint8_t& byte : *look) byte = static_cast<uint8_t>(random());
  };
  for (auto& look : looks) look_new(&look);
  for (size_t k = 0; k < 2; ++k) {
    MapKeyframe& keyframe = keyframes[k];
    keyframe.id = static_cast<int64_t>(k);
    keyframe.camera_from_world.translation.x() = 0.1 * static_cast<double>(k);
    auto features = std::make_shared<KeyframeFeatures>();
    features->descriptor_bytes = 32;
    for (size_t i = 0; i < looks.size(); ++i) {
      const size_t id = k * looks.size() + i;
      if (k == 0) landmarks[id].position = {3 * share(random), 2 * share(random), 6 + share(random)};
      if (k == 1) landmarks[id].position = landmarks[i].position;
      if (k == 1 && !is_same_place) look_new(&looks[i]);
      const Eigen::Vector3d p = keyframe.camera_from_world * landmarks[id].position;
      keyframe.points.push_back(static_cast<int32_t>(id));
      features->keypoints.push_back({static_cast<float>(camera.focal_length * p.x() / p.z() + camera.centre_x),
                                     static_cast<float>(camera.focal_length * p.y() / p.z() + camera.centre_y), 5, 0, 1,
                                     0, 1});
      features->descriptors.insert(features->descriptors.end(), looks[i].begin(), looks[i].end());
    }
    keyframe.features = std::move(features);
  }
  GlobalMap map;
  map.Restore(std::move(keyframes), landmarks, {});
  return map;
}

TEST(MapCulling, ImagesTellWhetherAWallIsBetweenKeyframesThatNothingTies) {
  const StereoCamera camera{{128, 96}, 100, 64, 48, 0.2, Eigen::Vector3d::Zero()};
  for (const bool is_same_place : {true, false}) {
    GlobalMap map = MapOfTwo(camera, 200, is_same_place);
    MapCuller culler;
    culler.Add(1);
    culler.Cull(camera, LocalMap(), 1, &map);
    EXPECT_EQ(map.IndexOf(1) == GlobalMap::kNone, is_same_place);
  }
}

// Whatever is removed, a keyframe is left with a few edges, not with one to each other.
TEST(MapCulling, EdgesAreNotHandedOnWithoutEnd) {
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    GlobalMap map = MapOf(200, seed);
    std::mt19937 random(seed);
    while (map.keyframes().size() > 50) {
      const size_t gone = 1 + random() % (map.keyframes().size() - 1);
      map.Remove(map.keyframes()[gone].id, map.keyframes()[gone - 1].id);
    }
    ExpectWhole(map);
    EXPECT_LE(map.loops().size(), map.keyframes().size()) << "seed " << seed;
  }
}

TEST(LandmarkTable, GivesBackWhatIsGone) {
  LandmarkTable table;
  for (size_t id = 0; id < 10000; ++id) table[id].observations = 1;
  const size_t full = table.MemoryBytes();
  for (size_t id = 0; id < 9900; ++id) table[id].observations = 0;
  table.Shrink();
  EXPECT_LT(table.MemoryBytes(), full / 20);
  EXPECT_EQ(std::as_const(table)[5].observations, 0);
  EXPECT_EQ(std::as_const(table)[9950].observations, 1);
  EXPECT_EQ(table.size(), 10000U);
  table[5].observations = 2;
  EXPECT_EQ(std::as_const(table)[5].observations, 2);
}

TEST(PlaceIndex, FindsWhatItRetains) {
  std::mt19937 random(1);
  std::vector<KeyframeFeatures> views(16);
  PlaceIndex index;
  for (size_t k = 0; k < views.size(); ++k) {
    views[k].descriptor_bytes = 32;
    for (int i = 0; i < 100; ++i) {
      views[k].strongest.push_back(i);
      for (int b = 0; b < 32; ++b) views[k].descriptors.push_back(static_cast<uint8_t>(random()));
    }
    index.Add(static_cast<int64_t>(k), views[k]);
  }
  const size_t all = index.MemoryBytes();
  for (const int64_t last : {14, 7}) {  // one is less than an eighth, eight are more
    index.Retain([last](int64_t k) { return k <= last; });
    for (size_t k = 0; k < views.size(); ++k) {
      const auto found = index.Query(views[k], 100, 4);
      ASSERT_EQ(found.size(), static_cast<int64_t>(k) <= last ? 1U : 0U) << k;
      EXPECT_TRUE(found.empty() || found[0].keyframe == static_cast<int64_t>(k)) << k;
    }
  }
  EXPECT_LT(index.MemoryBytes(), all);
}

}  // namespace
}  // namespace glint::slam
