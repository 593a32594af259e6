// Map files that were made to deceive: their checksum is right, but no localizer writes such a map. And maps of another
// detector.
#include "slam/map/map_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/options.h"
#include "slam/front_end/feature_kind.h"
#include "slam/map/place_index.h"

namespace glint::slam {
namespace {

constexpr size_t kKeypoints = 8;
constexpr int kDescriptorBytes = 32;
// Which no double holds.
constexpr FrameStamp kStamps[] = {{1, -9'007'199'254'740'993}, {~uint64_t{0}, 1'764'320'000'123'456'789}};

StereoCamera Camera() {
  StereoCamera camera;
  camera.image = {128, 96};
  camera.focal_length = 100;
  camera.centre_x = 64;
  camera.centre_y = 48;
  camera.baseline = 0.2;
  return camera;
}

LevelScales Scales() {
  LevelScales scales;
  scales.levels = 2;
  scales.scale[0] = 1;
  scales.scale[1] = 1.2f;
  return scales;
}

DetectorOptions Detector(const std::string& preset = "orb") {
  const auto detector = PresetOptions(preset);
  EXPECT_TRUE(detector.ok()) << preset;
  return detector.value_or(DetectorOptions());
}

struct Parts {
  FeatureKind features = FeatureKindOf(Detector());
  std::vector<MapKeyframe> keyframes;
  std::vector<KeyframeFeatures> views;  // of the keyframes
  std::vector<MapLandmark> points;
  std::optional<WorldLevel> level;
};

// Two keyframes that see the same points, one a keypoint.
Parts GoodParts() {
  Parts parts;
  for (int64_t id = 0; id < 2; ++id) {
    KeyframeFeatures view;
    view.descriptor_bytes = kDescriptorBytes;
    MapKeyframe keyframe;
    keyframe.id = id;
    keyframe.stamp = kStamps[id];
    keyframe.parent = id - 1;
    keyframe.neighbours = {{1 - id, static_cast<int>(kKeypoints)}};
    for (size_t i = 0; i < kKeypoints; ++i) {
      view.keypoints.push_back({static_cast<float>(10 * i + 20), 40, 5, 0, 1, 0, 1});
      view.descriptors.insert(view.descriptors.end(), kDescriptorBytes, static_cast<uint8_t>(i));
      view.strongest.push_back(static_cast<int32_t>(i));
      keyframe.points.push_back(static_cast<int32_t>(i));
    }
    parts.views.push_back(view);
    parts.keyframes.push_back(keyframe);
  }
  for (size_t i = 0; i < kKeypoints; ++i) parts.points.push_back({{0.1 * static_cast<double>(i), 0, 4}, 1, 2});
  return parts;
}

// What the reader makes of the map, after a change to it, where `detector` is in use.
absl::StatusOr<LoadedMap> Load(const std::function<void(Parts*)>& change, const DetectorOptions& detector) {
  Parts parts = GoodParts();
  change(&parts);
  for (size_t i = 0; i < parts.keyframes.size(); ++i) {
    parts.keyframes[i].features = std::make_shared<const KeyframeFeatures>(parts.views[i]);
  }
  GlobalMap map;
  map.Restore(std::move(parts.keyframes), parts.points, {});
  if (parts.level.has_value()) map.SetLevel(0, *parts.level);
  const std::string path = testing::TempDir() + "slam_map_file_test.map";
  const absl::Status written = WriteMapFile(path, Camera(), Scales(), parts.features, map);
  EXPECT_TRUE(written.ok()) << written;
  auto loaded = ReadMapFile(path, Camera(), FeatureKindOf(detector), {100, 1000});
  std::remove(path.c_str());
  return loaded;
}
absl::Status Read(const std::function<void(Parts*)>& change, const DetectorOptions& detector = Detector()) {
  return Load(change, detector).status();
}

void ExpectDamaged(const std::function<void(Parts*)>& change) {
  const absl::Status status = Read(change);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("cut short or damaged"));
}

TEST(MapFile, ReadsAGoodMap) {
  const auto loaded = Load([](Parts*) {}, Detector());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_EQ(loaded->map.keyframes().size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(loaded->map.keyframes()[i].stamp.frame_id, kStamps[i].frame_id);
    EXPECT_EQ(loaded->map.keyframes()[i].stamp.time_ns, kStamps[i].time_ns);
  }
}

WorldLevel SomeLevel() { return {0.004, {{{0.01, -0.02, 0.03}, {0.1, -0.2, 0.3}}, 0.0005, 0.01}}; }

TEST(MapFile, KeepsWhatIsKnownOfGravity) {
  EXPECT_FALSE(Load([](Parts*) {}, Detector())->map.LevelOf(0).has_value());
  const WorldLevel level = SomeLevel();
  const auto loaded = Load([&](Parts* parts) { parts->level = level; }, Detector());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const std::optional<WorldLevel> found = loaded->map.LevelOf(0);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->gravity_sigma, level.gravity_sigma);
  EXPECT_EQ(found->biases.bias.gyroscope, level.biases.bias.gyroscope);
  EXPECT_EQ(found->biases.bias.accelerometer, level.biases.bias.accelerometer);
  EXPECT_EQ(found->biases.gyroscope_sigma, level.biases.gyroscope_sigma);
  EXPECT_EQ(found->biases.accelerometer_sigma, level.biases.accelerometer_sigma);
}

TEST(MapFile, RefusesALevelOutOfRange) {
  const auto expect = [](const std::function<void(WorldLevel*)>& change, const std::string& text) {
    const absl::Status status = Read([&](Parts* parts) {
      parts->level = SomeLevel();
      change(&*parts->level);
    });
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), testing::EndsWith(text));
  };
  expect([](WorldLevel* l) { l->gravity_sigma = 0; }, ".map: gravity_sigma: 0 is not in 1e-06..0.1");
  expect([](WorldLevel* l) { l->gravity_sigma = 0.2; }, ".map: gravity_sigma: 0.2 is not in 1e-06..0.1");
  expect([](WorldLevel* l) { l->gravity_sigma = std::numeric_limits<double>::quiet_NaN(); },
         ".map: gravity_sigma: nan is not in 1e-06..0.1");
  expect([](WorldLevel* l) { l->biases.bias.gyroscope.x() = -0.6; }, "gyroscope_bias.x: -0.6 is not in -0.5..0.5");
  expect([](WorldLevel* l) { l->biases.bias.gyroscope.y() = 0.6; }, "gyroscope_bias.y: 0.6 is not in -0.5..0.5");
  expect([](WorldLevel* l) { l->biases.bias.gyroscope.z() = 7; }, "gyroscope_bias.z: 7 is not in -0.5..0.5");
  expect([](WorldLevel* l) { l->biases.bias.accelerometer.x() = 2; }, "accelerometer_bias.x: 2 is not in -1.5..1.5");
  expect([](WorldLevel* l) { l->biases.bias.accelerometer.y() = -2; }, "accelerometer_bias.y: -2 is not in -1.5..1.5");
  expect([](WorldLevel* l) { l->biases.bias.accelerometer.z() = std::numeric_limits<double>::infinity(); },
         "accelerometer_bias.z: inf is not in -1.5..1.5");
  expect([](WorldLevel* l) { l->biases.gyroscope_sigma = -1; }, "gyroscope_bias_sigma: -1 is not in 1e-06..0.1");
  expect([](WorldLevel* l) { l->biases.accelerometer_sigma = 1; }, "accelerometer_bias_sigma: 1 is not in 1e-06..0.1");
}

std::string ContentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// FNV-1a.
std::string ChecksumOf(const std::string& bytes) {
  uint64_t sum = 14695981039346656037U;
  for (const char c : bytes) sum = (sum ^ static_cast<uint8_t>(c)) * 1099511628211U;
  return {reinterpret_cast<const char*>(&sum), sizeof(sum)};
}

// Without the byte that says whether the world is level.
TEST(MapFile, ReadsTheVersionBefore) {
  Parts parts = GoodParts();
  for (size_t i = 0; i < 2; ++i) {
    parts.keyframes[i].features = std::make_shared<const KeyframeFeatures>(parts.views[i]);
  }
  GlobalMap map;
  map.Restore(std::move(parts.keyframes), parts.points, {});
  const std::string path = testing::TempDir() + "slam_map_file_test.before";
  ASSERT_TRUE(WriteMapFile(path, Camera(), Scales(), parts.features, map).ok());
  const std::string now = ContentOf(path);
  const auto read = [&](std::string bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes << ChecksumOf(bytes);
    return ReadMapFile(path, Camera(), parts.features, {100, 1000});
  };
  std::string before = now.substr(0, now.size() - 9);
  before[8] = 3;
  const auto loaded = read(before);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->map.keyframes().size(), 2u);
  EXPECT_FALSE(loaded->map.LevelOf(0).has_value());
  ASSERT_TRUE(WriteMapFile(path, Camera(), Scales(), loaded->features, loaded->map).ok());
  EXPECT_EQ(ContentOf(path), now);
  // This version has the byte, and no other value but 0 and 1.
  before[8] = 4;
  EXPECT_TRUE(absl::IsInvalidArgument(read(before).status()));
  EXPECT_TRUE(read(before + '\0').ok());
  EXPECT_TRUE(absl::IsInvalidArgument(read(before + '\1').status()));
  EXPECT_TRUE(absl::IsInvalidArgument(read(before + '\2').status()));
  std::remove(path.c_str());
}

// After the last id comes the next one.
TEST(MapFile, RefusesIdsThatCannotGoOn) {
  ExpectDamaged([](Parts* parts) {
    parts->keyframes[1].id = std::numeric_limits<int64_t>::max();
    parts->keyframes[0].neighbours.clear();
  });
}

// Odometry drops one observation of a point with its keyframe, and would keep the other.
TEST(MapFile, RefusesAPointThatAKeyframeSeesTwice) {
  ExpectDamaged([](Parts* parts) { parts->keyframes[0].points[3] = 2; });
}

TEST(MapFile, RefusesNeighboursThatAreNotInOrder) {
  ExpectDamaged([](Parts* parts) { parts->keyframes[0].neighbours.resize(2, parts->keyframes[0].neighbours[0]); });
}

// Four bytes of the file would take a hundred and more of the index of places.
TEST(MapFile, RefusesKeypointsThatAreIndexedTwice) {
  ExpectDamaged([](Parts* parts) { parts->views[0].strongest[3] = 2; });
  ExpectDamaged([](Parts* parts) { parts->views[0].strongest.resize(PlaceIndex::kStrongest + 1, 0); });
}

TEST(MapFile, RefusesDistancesThatOverflow) {
  ExpectDamaged([](Parts* parts) { parts->points[0].position.z() = 1e300; });
  ExpectDamaged([](Parts* parts) { parts->keyframes[1].camera_from_world.translation.x() = -1e300; });
}

void ExpectOtherDetector(const DetectorOptions& detector, const std::string& difference) {
  const absl::Status status = Read([](Parts*) {}, detector);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::EndsWith("is a map of another detector: " + difference));
}

TEST(MapFile, RefusesAMapOfAnotherDetector) {
  ExpectOtherDetector(Detector("bfrost"), "descriptor RBRIEF in the map, BFROST in use");
  ExpectOtherDetector(Detector("orbslam"), "selection TOP_N in the map, QUADTREE in use");
  DetectorOptions other = Detector();
  other.score = Score::kHarris;
  ExpectOtherDetector(other, "score MAX_THRESHOLD in the map, HARRIS in use");
  other = Detector();
  other.levels = 4;
  ExpectOtherDetector(other, "levels 8 in the map, 4 in use");
  other = Detector();
  other.scale_factor = 1.25f;
  ExpectOtherDetector(other, "scale_factor 1.20000005 in the map, 1.25 in use");
  other = Detector();
  other.patch_size = 25;
  ExpectOtherDetector(other, "patch_size 31 in the map, 25 in use");
}

TEST(MapFile, TakesAMapOfOtherThresholds) {
  DetectorOptions other = Detector();
  other.max_features = 3000;
  other.fast_threshold = 7;
  const absl::Status status = Read([](Parts*) {}, other);
  EXPECT_TRUE(status.ok()) << status;
}

// Of the scale of a detector's pattern, which other detectors do not have.
TEST(MapFile, RefusesAMapWithAChoiceMore) {
  const absl::Status status = Read([](Parts* parts) { parts->features.detector += " bfrost_scale=2"; });
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("another detector: choice bfrost_scale in the map,"));
}

TEST(MapFile, RefusesDescriptorsOfAnotherLength) {
  const auto make_long = [](Parts* parts) {
    parts->features.descriptor_bytes = 64;
    for (KeyframeFeatures& view : parts->views) {
      view.descriptor_bytes = 64;
      view.descriptors.resize(64 * kKeypoints);
    }
  };
  const absl::Status status = Read(make_long);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("descriptor_bytes 64 in the map, 32 in use"));
}

TEST(MapFile, RefusesADetectorThatIsNoneOrLies) {
  ExpectDamaged([](Parts* parts) { parts->features.descriptor_bytes = 12; });
  ExpectDamaged([](Parts* parts) { parts->features.descriptor_bytes = 1 << 20; });
  ExpectDamaged([](Parts* parts) { parts->features.detector += "\n"; });
  ExpectDamaged([](Parts* parts) { parts->features.detector += std::string(kMaxFeatureKindBytes, 'x'); });
  // The length is that of the detector, but the keyframes have another.
  ExpectDamaged([](Parts* parts) {
    for (KeyframeFeatures& view : parts->views) {
      view.descriptor_bytes = 64;
      view.descriptors.resize(64 * kKeypoints);
    }
  });
}

TEST(MapFile, RefusesEarlierVersionsWithTheirReasons) {
  const std::string path = testing::TempDir() + "slam_map_file_test.first";
  for (const auto& [version, reason] : {std::pair{'\1', "1, not 4: it does not say which detector made it"},
                                        {'\2', "2, not 4: it does not say which frames its keyframes were"}}) {
    std::ofstream(path, std::ios::binary) << "GLINTMAP" << version << std::string(203, '\0');
    const auto loaded = ReadMapFile(path, Camera(), FeatureKindOf(Detector()), {100, 1000});
    EXPECT_TRUE(absl::IsInvalidArgument(loaded.status()));
    EXPECT_THAT(std::string(loaded.status().message()),
                testing::EndsWith(absl::StrCat("is a map of version ", reason)));
  }
  std::remove(path.c_str());
}

// Writers of maps of different lengths under one name, and readers, by the functions themselves.
TEST(MapFile, IsWholeWhileManyWriteAndReadIt) {
  constexpr int kWriters = 3, kRounds = 40;
  const std::string path = testing::TempDir() + "slam_map_file_test_shared.map";
  std::vector<GlobalMap> maps(kWriters);
  for (int i = 0; i < kWriters; ++i) {
    Parts parts = GoodParts();
    for (size_t k = 0; k < parts.keyframes.size(); ++k) {
      parts.keyframes[k].features = std::make_shared<const KeyframeFeatures>(parts.views[k]);
    }
    std::vector<LoopEdge> loops(static_cast<size_t>(1000 * i), {0, 1, Pose(), 0.1, 0.1});
    maps[static_cast<size_t>(i)].Restore(std::move(parts.keyframes), parts.points, std::move(loops));
  }
  const FeatureKind features = FeatureKindOf(Detector());
  ASSERT_TRUE(WriteMapFile(path, Camera(), Scales(), features, maps[0]).ok());
  std::atomic<int> writing{kWriters}, failed{0}, read{0};
  std::vector<std::thread> threads;
  for (const GlobalMap& map : maps) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) failed += !WriteMapFile(path, Camera(), Scales(), features, map).ok();
      --writing;
    });
  }
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (writing > 0) {
        failed += !ReadMapFile(path, Camera(), features, {100, 10000}).ok();
        ++read;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::remove(path.c_str());
  EXPECT_EQ(failed, 0);
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace glint::slam
