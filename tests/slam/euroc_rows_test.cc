// Rectification on real raw pairs (GLINT_TEST_EUROC, a folder as EuRoC's V1_01 has it): how far apart the rows of
// matches are, below a pixel.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "features/options.h"
#include "gtest/gtest.h"
#include "slam/front_end/lane_front_end.h"
#include "tests/slam/euroc_drive.h"

namespace glint::slam {
namespace {

// Of all pairs of `images` (EurocDrive::Open()), the distances of the rows of keypoints that both images have.
std::vector<double> RowErrors(const std::string& folder, const std::string& images) {
  const auto drive = EurocDrive::Open(folder, images);
  EXPECT_TRUE(drive.ok()) << drive.status();
  std::vector<double> errors;
  if (!drive.ok()) return errors;
  DetectorOptions detector = *PresetOptions("orbslam");
  detector.max_features = 1200;
  LaneFrontEnd front_end(detector, 1);
  for (size_t i = 0; i < drive->count(); ++i) {
    const auto pair = drive->Read(i);
    EXPECT_TRUE(pair.ok()) << pair.status();
    if (!pair.ok()) break;
    StereoFrame frame;
    const absl::Status status = front_end.Find({pair->left, pair->right}, &frame);
    EXPECT_TRUE(status.ok()) << status;
    for (size_t k = 0; k < frame.left.count(); ++k) {
      if (frame.is_stereo[k] != 0) errors.push_back(std::abs(frame.vertical_disparity[k]));
    }
  }
  return errors;
}

TEST(RowsOfEuroc, OfMatchesAreTheSame) {
  const char* const folder = std::getenv("GLINT_TEST_EUROC");
  if (folder == nullptr) GTEST_SKIP() << "GLINT_TEST_EUROC is not set";
  for (const char* images : {".", "sparse"}) {
    if (!std::filesystem::exists(std::string(folder) + "/" + images + "/cam0/data")) continue;
    std::vector<double> errors = RowErrors(folder, images);
    ASSERT_GT(errors.size(), 1000u);
    const auto median = errors.begin() + static_cast<ptrdiff_t>(errors.size() / 2);
    std::nth_element(errors.begin(), median, errors.end());
    const auto far = std::count_if(errors.begin(), errors.end(), [](double e) { return e > 1; });
    std::printf("%s/cam0: %zu matches, rows apart by %.3f px (median), %.2f %% by over 1 px\n", images, errors.size(),
                *median, 100.0 * static_cast<double>(far) / static_cast<double>(errors.size()));
    EXPECT_LT(*median, 0.3);
  }
}

}  // namespace
}  // namespace glint::slam
