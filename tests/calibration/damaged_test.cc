// Files of all formats, damaged at random: an error that says why, or a rig of finite numbers. tests/fuzz has more.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/calibration/turned_rig.h"

namespace glint::testing {
namespace {

constexpr int kRounds = 200;
const char* const kPieces[] = {"",  "-1", "0",  "1e999", "nan", "[",    "]",  "{",
                               "}", ":",  "\n", " ",     ",",   "text", "\"", "-"};

// Cuts, doubles or replaces a few bytes.
std::string Damaged(std::string text, std::mt19937* random) {
  const auto below = [&](size_t n) { return static_cast<size_t>((*random)()) % n; };
  for (size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
    const size_t at = below(text.size()), size = 1 + below(below(2) == 0 ? 8 : 200);
    switch (below(3)) {
      case 0:
        text.erase(at, size);
        break;
      case 1:
        text.insert(at, text.substr(at, size));
        break;
      default:
        text.replace(at, 1 + below(4), kPieces[below(std::size(kPieces))]);
    }
  }
  return text;
}

TEST(Damaged, FilesAreReadOrRefused) {
  std::mt19937 random(7);
  int read_ones = 0, refused_ones = 0;
  for (const calibration::Format& format : calibration::Formats()) {
    if (format.write == nullptr) continue;
    auto files = format.write(TurnedRig(CameraModel::kRadialTangential, {-0.28, 0.07, 0.0002, 1.7e-05}));
    if (!files.ok()) files = format.write(TurnedRig(CameraModel::kPinhole, {}));
    if (!files.ok()) continue;  // of rectified pairs alone
    for (const calibration::NamedText& file : *files) {
      for (int round = 0; round < kRounds; ++round) {
        const std::string text = Damaged(file.text, &random);
        const auto read = calibration::ParseCalibration(file.name, text);
        ++(read.ok() ? read_ones : refused_ones);
        if (!read.ok()) {
          EXPECT_FALSE(read.status().message().empty());
          continue;
        }
        ASSERT_FALSE(read->rig.cameras.empty()) << format.name << "\n" << text;
        for (const RigCamera& camera : read->rig.cameras) {
          EXPECT_TRUE(std::isfinite(camera.camera.fx + camera.camera.fy + camera.camera.cx + camera.camera.cy)) << text;
          EXPECT_TRUE(camera.rig_from_camera.translation.allFinite()) << text;
          EXPECT_TRUE(camera.rig_from_camera.rotation.allFinite()) << text;
        }
      }
    }
  }
  EXPECT_GT(read_ones, kRounds);
  EXPECT_GT(refused_ones, kRounds);
}

}  // namespace
}  // namespace glint::testing
