#include "tests/conformance/oracle.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "decode/image_file.h"
#include "opencv2/core/utility.hpp"
#include "opencv2/features2d.hpp"
#include "tests/support/features.h"

namespace glint::testing {
namespace {

Features WithoutDescriptors(Features features) {
  features.descriptor_bytes = 0;
  features.descriptors.clear();
  return features;
}

int LevelsWithPixels(const DetectorOptions& options, Shape shape) {
  const PyramidPlan plan = PlanPyramid(options, shape);
  int levels = 0;
  while (levels < plan.levels && plan.level[levels].shape.pixels() > 0) ++levels;
  return levels;
}

}  // namespace

cv::Mat MatOf(const ImageView& image) {
  if (image.empty()) return {};
  return cv::Mat(image.height, image.width, CV_8UC1, const_cast<uint8_t*>(image.data), image.stride);
}

Image ImageOf(const cv::Mat& gray) {
  return Image::CopyOf({gray.data, gray.cols, gray.rows, static_cast<ptrdiff_t>(gray.step)});
}

OrbAnswer AskOrb(const DetectorOptions& options, const ImageView& image, const ImageView& mask) {
  const auto score = options.ranking == Ranking::kHarris ? cv::ORB::HARRIS_SCORE : cv::ORB::FAST_SCORE;
  const auto orb = cv::ORB::create(options.max_features, options.scale_factor, options.levels, options.edge_threshold,
                                   /*firstLevel=*/0, /*WTA_K=*/2, score, options.patch_size, options.fast_threshold);
  OrbAnswer answer;
  answer.levels = LevelsWithPixels(options, image.shape());
  std::vector<cv::KeyPoint> keypoints;
  cv::Mat descriptors;
  const bool describe = options.descriptor == Descriptor::kRbrief;
  try {
    if (describe) {
      orb->detectAndCompute(MatOf(image), MatOf(mask), keypoints, descriptors);
    } else {
      orb->detectAndCompute(MatOf(image), MatOf(mask), keypoints, cv::noArray());
    }
  } catch (const cv::Exception&) {
    answer.threw = true;
    return answer;
  }

  std::vector<size_t> order(keypoints.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto rank = [&](size_t i) {
    const cv::KeyPoint& k = keypoints[i];
    return std::make_tuple(k.octave, -k.response, k.pt.y, k.pt.x);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rank(a) < rank(b); });

  Features& features = answer.features;
  const size_t count = std::min(order.size(), static_cast<size_t>(OutputCapacity(options)));
  features.truncated = count < order.size();
  features.Resize(count, describe ? kRbriefBytes : 0);
  for (size_t i = 0; i < count; ++i) {
    const cv::KeyPoint& k = keypoints[order[i]];
    features.x[i] = k.pt.x;
    features.y[i] = k.pt.y;
    features.size[i] = k.size;
    features.angle[i] = k.angle;
    features.response[i] = k.response;
    features.octave[i] = k.octave;
    if (describe) {
      const uint8_t* row = descriptors.ptr(static_cast<int>(order[i]));
      std::copy(row, row + kRbriefBytes, features.descriptors.begin() + i * kRbriefBytes);
    }
  }
  return answer;
}

std::string WhyDescriptorsCannotBeCompared() {
  if (cv::checkHardwareSupport(CV_CPU_AVX2) && cv::checkHardwareSupport(CV_CPU_FMA3)) return "";
  return "OpenCV runs without AVX2 and FMA here; its blur then rounds otherwise, and descriptors differ";
}

::testing::AssertionResult EqualsOrb(const OrbAnswer& orb, const Features& actual) {
  if (orb.threw) {
    if (actual.count() > 0 && actual.octave.back() >= orb.levels) {
      return ::testing::AssertionFailure() << "keypoints in octave " << actual.octave.back() << ", which has no pixels";
    }
    return IsWellFormed(actual);
  }
  if (WhyDescriptorsCannotBeCompared().empty()) return SameFeatures(orb.features, actual);
  return SameFeatures(WithoutDescriptors(orb.features), WithoutDescriptors(actual));
}

std::vector<std::string> TestImages() {
  const char* const folder = std::getenv("GLINT_TEST_DATA");
  if (folder == nullptr) return {};
  const std::set<std::string> kExtensions = {".png", ".jpg", ".jpeg", ".pgm"};
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && kExtensions.count(entry.path().extension()) > 0) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Image LoadGray(const std::string& path) {
  absl::StatusOr<Image> image = decode::ReadImageFile(path);
  if (!image.ok()) {
    ADD_FAILURE() << image.status();
    return Image();
  }
  return *std::move(image);
}

}  // namespace glint::testing
