// Real pairs of a flight, 0.05 to 7.3 s apart, of which many share little with those before, and the readings between
// them (GLINT_TEST_EUROC, a folder as EuRoC's V1_01 has it, with some of its pairs in `sparse`): what goes on in one
// map.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "features/options.h"
#include "gtest/gtest.h"
#include "slam/front_end/lane_front_end.h"
#include "slam/localizer.h"
#include "tests/slam/euroc_drive.h"
#include "tests/slam/inertial_figures.h"
#include "tests/slam/rendered_drive.h"

namespace glint::slam {
namespace {

// The pairs of the flight, with the readings or alone; most of them are located, in one map, where they are.
void GoOn(const EurocDrive& drive, int features, bool with_imu) {
  DetectorOptions detector = *PresetOptions("orbslam");
  detector.max_features = features;
  LaneFrontEnd front_end(detector, 2);
  LocalizerOptions options;
  if (with_imu) options.odometry.imu = drive.imu();
  const auto localizer = Localizer::Create(drive.camera(), options, &front_end);
  ASSERT_TRUE(localizer.ok()) << localizer.status();
  DriveRecord record;
  for (size_t i = 0; i < drive.count(); ++i) {
    auto frame = drive.Read(i);
    ASSERT_TRUE(frame.ok()) << frame.status();
    const absl::Status status = TrackFrame(*frame, i, 0, {{localizer->get(), &record, with_imu}});
    ASSERT_TRUE(status.ok()) << status;
  }
  const InertialFigures figures = FiguresOf(record, {0, 0, 1});
  std::printf("%d features%s: %d of %zu located, in %d maps, %d within 0.2 m, ATE %.3f m\n", features,
              with_imu ? " and readings" : "", figures.located, drive.count(), figures.maps, figures.near,
              figures.absolute);
  EXPECT_GT(figures.located, 0.9 * static_cast<double>(drive.count()));
  EXPECT_EQ(figures.maps, 1);
  EXPECT_LT(figures.absolute, 0.2);
}

TEST(EurocFlight, GoesOnInOneMap) {
  const char* const folder = std::getenv("GLINT_TEST_EUROC");
  if (folder == nullptr) GTEST_SKIP() << "GLINT_TEST_EUROC is not set";
  if (!std::filesystem::exists(std::string(folder) + "/sparse/cam0/data"))
    GTEST_SKIP() << "GLINT_TEST_EUROC has no pairs in sparse/";
  const auto drive = EurocDrive::Open(folder, "sparse");
  ASSERT_TRUE(drive.ok()) << drive.status();
  for (const int features : {1200, 1600, 2000}) GoOn(*drive, features, /*with_imu=*/true);
  for (const int features : {1000, 1200, 1600}) GoOn(*drive, features, /*with_imu=*/false);
}

}  // namespace
}  // namespace glint::slam
