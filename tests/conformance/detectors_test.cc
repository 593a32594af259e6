// The detectors beyond cv::ORB's kind, where OpenCV has the same stage: FAST, its suppression, Harris, the small
// Gaussian, halving.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "features/reference/dense_harris.h"
#include "features/reference/fast.h"
#include "features/reference/pyramid.h"
#include "features/reference/reference.h"
#include "gtest/gtest.h"
#include "opencv2/features2d.hpp"
#include "opencv2/imgproc.hpp"
#include "tests/conformance/oracle.h"
#include "tests/support/images.h"
#include "tests/support/random.h"

namespace glint::testing {
namespace {

using reference::Corner;

// Photographs of GLINT_TEST_DATA, one in four, and made images.
std::vector<Image> Images() {
  std::vector<Image> images;
  images.push_back(Texture({320, 240}, 1));
  images.push_back(Noise({131, 97}, 2));
  images.push_back(Checkerboard({200, 150}, 9));
  images.push_back(Speckle({150, 90}, 3));
  const std::vector<std::string> paths = TestImages();
  for (size_t i = 0; i < paths.size(); i += 4) images.push_back(LoadGray(paths[i]));
  return images;
}

// x, y, response.
using Found = std::set<std::tuple<int, int, float>>;

Found AskFast(const Image& image, int threshold, bool suppress) {
  std::vector<cv::KeyPoint> keypoints;
  cv::FAST(MatOf(image), keypoints, threshold, suppress, cv::FastFeatureDetector::TYPE_9_16);
  Found found;
  for (const cv::KeyPoint& k : keypoints) {
    found.emplace(static_cast<int>(k.pt.x), static_cast<int>(k.pt.y), suppress ? k.response : 0);
  }
  return found;
}

TEST(BoundedFast, WithoutABoundEqualsCvFast) {
  for (const Image& image : Images()) {
    for (const int threshold : {7, 20, 60}) {
      for (const Score score : {Score::kMaxThreshold, Score::kSadCircle, Score::kSadArc}) {
        Found found;
        for (const Corner& c : reference::DetectBoundedFast(image, threshold, 9, 16, score)) found.emplace(c.x, c.y, 0);
        EXPECT_EQ(found, AskFast(image, threshold, false));
      }
    }
  }
}

// Of each cell, the corner of cv::FAST with suppression, on any of the levels, that has the greatest response: one of
// these and nothing else is the grid's keypoint.
TEST(FastGrid, WinnersAreTheBestSuppressedCornersOfCvFast) {
  DetectorOptions options = PresetOptions("fast_grid").value();
  options.arc_length = 9;
  options.score = Score::kMaxThreshold;
  options.max_features = kMaxFeatures;
  for (const Image& image : Images()) {
    for (const auto& [levels, threshold, width, height] :
         {std::make_tuple(1, 10, 32, 32), std::make_tuple(1, 40, 8, 13), std::make_tuple(5, 20, 32, 16),
          std::make_tuple(3, 10, 100, 8)}) {
      options.levels = levels;
      options.fast_threshold = threshold;
      options.cell_width = width;
      options.cell_height = height;
      std::vector<Found> oracle;
      std::map<std::pair<int, int>, float> best;
      cv::Mat level = MatOf(image);
      for (int l = 0; l < levels; ++l) {
        oracle.push_back(AskFast(ImageOf(level), threshold, true));
        for (const auto& [x, y, response] : oracle.back()) {
          float& of_cell = best[{(x << l) / width, (y << l) / height}];
          of_cell = std::max(of_cell, response);
        }
        const cv::Size half(level.cols / 2, level.rows / 2);
        cv::Mat smaller;
        cv::resize(level(cv::Rect(0, 0, 2 * half.width, 2 * half.height)), smaller, half, 0, 0, cv::INTER_AREA);
        level = smaller;
      }
      const Features f = reference::Detect(options, image);
      ASSERT_EQ(f.count(), best.size());
      for (size_t i = 0; i < f.count(); ++i) {
        const int x = static_cast<int>(f.x[i]);
        const int y = static_cast<int>(f.y[i]);
        const int l = f.octave[i];
        ASSERT_EQ(oracle[static_cast<size_t>(l)].count({x >> l, y >> l, f.response[i]}), 1u);
        ASSERT_EQ(f.response[i], (best[{x / width, y / height}]));
      }
    }
  }
}

TEST(HarrisMap, EqualsCornerHarrisButForRounding) {
  for (const Image& image : Images()) {
    for (const int block : {3, 7, 15}) {
      cv::Mat oracle;
      cv::cornerHarris(MatOf(image), oracle, block, 3, 0.04);
      const std::vector<float> map = reference::HarrisMap(image, block, 0.04f);
      double most = 0;
      double worst = 0;
      for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
          const double value = oracle.at<float>(y, x);
          most = std::max(most, std::abs(value));
          const size_t at = static_cast<size_t>(y) * static_cast<size_t>(image.width()) + static_cast<size_t>(x);
          worst = std::max(worst, std::abs(value - static_cast<double>(map[at])));
        }
      }
      EXPECT_LE(worst, 1e-5 * most) << image.width() << "x" << image.height() << " block " << block;
    }
  }
}

// Pixels over the threshold that exceed their eight neighbours.
std::set<std::pair<int, int>> Maxima(const cv::Mat& map, double threshold) {
  cv::Mat greatest;
  cv::Mat around = cv::Mat::ones(3, 3, CV_8U);
  around.at<uint8_t>(1, 1) = 0;
  cv::dilate(map, greatest, around);
  std::set<std::pair<int, int>> maxima;
  for (int y = 0; y < map.rows; ++y) {
    for (int x = 0; x < map.cols; ++x) {
      if (map.at<float>(y, x) > threshold && map.at<float>(y, x) > greatest.at<float>(y, x)) maxima.emplace(x, y);
    }
  }
  return maxima;
}

TEST(Harris, FindsTheMaximaOfCornerHarris) {
  DetectorOptions options = PresetOptions("harris").value();
  options.max_features = kMaxFeatures;
  for (const Image& image : Images()) {
    cv::Mat oracle;
    cv::cornerHarris(MatOf(image), oracle, options.harris_block, 3, 0.04);
    double most = 0;
    cv::minMaxLoc(oracle, nullptr, &most);
    const auto expected = Maxima(oracle, 0.01 * most);
    std::set<std::pair<int, int>> found;
    const Features f = reference::Detect(options, image);
    for (size_t i = 0; i < f.count(); ++i) found.emplace(static_cast<int>(f.x[i]), static_cast<int>(f.y[i]));
    std::vector<std::pair<int, int>> different;
    std::set_symmetric_difference(expected.begin(), expected.end(), found.begin(), found.end(),
                                  std::back_inserter(different));
    // Rounding decides near the threshold and between neighbours that are almost equal.
    EXPECT_LE(different.size(), expected.size() / 100) << expected.size() << " " << found.size();
  }
}

TEST(Smooth, EqualsCvGaussianBlur) {
  Random random(5);
  for (int i = 0; i < 30; ++i) {
    const Image image = Noise({random.Uniform(2, 90), random.Uniform(2, 60)}, static_cast<uint32_t>(i));
    cv::Mat oracle;
    cv::GaussianBlur(MatOf(image), oracle, {3, 3}, 0);
    EXPECT_TRUE(SamePixels(reference::Smooth(image), ImageOf(oracle)));
  }
}

TEST(Halve, EqualsCvResizeByArea) {
  for (const Shape shape : {Shape{64, 48}, Shape{2, 2}, Shape{130, 22}}) {
    const Image image = Noise(shape, 9);
    cv::Mat oracle;
    cv::resize(MatOf(image), oracle, {}, 0.5, 0.5, cv::INTER_AREA);
    EXPECT_TRUE(SamePixels(reference::Halve(image), ImageOf(oracle)));
  }
}

}  // namespace
}  // namespace glint::testing
