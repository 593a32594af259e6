// The preset orbslam against what ORB-SLAM2's extractor returned on photographs: files of GLINT_TEST_DATA/orbslam named
// IMAGE_FEATURES_FACTOR_LEVELS_INITHRESHOLD_MINTHRESHOLD.csv.gz.
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "features/math.h"
#include "features/reference/gaussian.h"
#include "features/reference/pyramid.h"
#include "gtest/gtest.h"
#include "opencv2/imgproc.hpp"
#include "tests/conformance/backends.h"
#include "tests/conformance/oracle.h"
#include "tests/support/features.h"
#include "tests/support/images.h"
#include "tests/support/random.h"

namespace glint::testing {
namespace {

namespace fs = std::filesystem;

struct Answer {
  std::string image;  // path
  DetectorOptions options;
  Features features;  // in Glint's order
};

std::string Unzipped(const std::string& path) {
  std::string text;
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return text;
  char buffer[1 << 16];
  for (int n = gzread(file, buffer, sizeof(buffer)); n > 0; n = gzread(file, buffer, sizeof(buffer))) {
    text.append(buffer, static_cast<size_t>(n));
  }
  gzclose(file);
  return text;
}

// The image that a file is named after: "hut_long_01" is hut_long/01.png, "earth" photos/earth_*.png.
std::string ImagePath(const fs::path& data, const std::string& name) {
  std::vector<std::string> found;
  for (const std::string& path : TestImages()) {
    const std::string relative = fs::path(path).lexically_relative(data).replace_extension().string();
    const std::vector<std::string> parts = absl::StrSplit(relative, '/');
    if (absl::StrCat(parts.front(), "_", parts.back()) == name && parts.size() < 4) found.push_back(path);
    if (parts.front() == "photos" && absl::StartsWith(parts.back(), name + "_")) found.push_back(path);
  }
  EXPECT_FALSE(found.empty()) << name;
  return found.empty() ? "" : found.front();
}

Features ParseFeatures(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    rows.push_back(absl::StrSplit(line, ','));
    if (!rows.back()[0].empty() && (rows.back()[0][0] < '0' || rows.back()[0][0] > '9')) rows.pop_back();
  }
  Features f;
  f.Resize(rows.size(), kRbriefBytes);
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::vector<std::string>& row = rows[i];
    EXPECT_EQ(row.size(), 7u);
    EXPECT_TRUE(absl::SimpleAtof(row[0], &f.x[i]) && absl::SimpleAtof(row[1], &f.y[i]) &&
                absl::SimpleAtoi(row[2], &f.octave[i]) && absl::SimpleAtof(row[3], &f.response[i]) &&
                absl::SimpleAtof(row[4], &f.angle[i]) && absl::SimpleAtof(row[5], &f.size[i]));
    EXPECT_EQ(row[6].size(), 2u * kRbriefBytes);
    for (size_t b = 0; b < kRbriefBytes; ++b) {
      f.descriptors[i * kRbriefBytes + b] = static_cast<uint8_t>(std::stoi(row[6].substr(2 * b, 2), nullptr, 16));
    }
  }
  return f;
}

std::vector<Answer> Answers() {
  std::vector<Answer> answers;
  const char* const data = std::getenv("GLINT_TEST_DATA");
  if (data == nullptr || !fs::is_directory(fs::path(data) / "orbslam")) return answers;
  for (const auto& entry : fs::directory_iterator(fs::path(data) / "orbslam")) {
    const std::string name = entry.path().filename().string();
    if (!absl::EndsWith(name, ".csv.gz")) continue;
    std::vector<std::string> parts = absl::StrSplit(name.substr(0, name.size() - 7), '_');
    Answer answer;
    answer.options = PresetOptions("orbslam").value();
    const size_t n = parts.size();
    EXPECT_TRUE(absl::SimpleAtoi(parts[n - 5], &answer.options.max_features) &&
                absl::SimpleAtof(parts[n - 4], &answer.options.scale_factor) &&
                absl::SimpleAtoi(parts[n - 3], &answer.options.levels) &&
                absl::SimpleAtoi(parts[n - 2], &answer.options.ini_fast_threshold) &&
                absl::SimpleAtoi(parts[n - 1], &answer.options.min_fast_threshold))
        << name;
    parts.resize(n - 5);
    answer.image = ImagePath(data, absl::StrJoin(parts, "_"));
    answer.features = ParseFeatures(Unzipped(entry.path()));
    EXPECT_GT(answer.features.count(), 0u) << name;
    answers.push_back(std::move(answer));
  }
  return answers;
}

TEST(Orbslam, ResizeIsCvResizeWithInterLinear) {
  Random random(1);
  for (int i = 0; i < 60; ++i) {
    const Shape from = {random.Uniform(2, 900), random.Uniform(2, 200)};
    const float factor = random.OneIn(4) ? 2.0f : random.Uniform(1.0f, 2.0f);
    const Shape to = {std::max(1, RoundHalfEven(static_cast<float>(from.width) * (1 / factor))),
                      std::max(1, RoundHalfEven(static_cast<float>(from.height) * (1 / factor)))};
    const Image image = Noise(from, random.Bits());
    cv::Mat oracle;
    cv::resize(MatOf(image), oracle, {to.width, to.height}, 0, 0, cv::INTER_LINEAR);
    EXPECT_TRUE(SamePixels(reference::ResizeLinear(image, to), ImageOf(oracle)))
        << from.width << "x" << from.height << " to " << to.width << "x" << to.height;
  }
}

TEST(Orbslam, BlurIsCvGaussianBlurOfAWholeMatrix) {
  Random random(2);
  for (int i = 0; i < 30; ++i) {
    const Image image = RandomImage(&random, {random.Uniform(7, 300), random.Uniform(7, 90)});
    cv::Mat oracle;
    cv::GaussianBlur(MatOf(image).clone(), oracle, {7, 7}, 2, 2, cv::BORDER_REFLECT_101);
    EXPECT_TRUE(SamePixels(reference::FixedGaussianBlur(image), ImageOf(oracle)));
  }
}

TEST(Orbslam, EqualsTheExtractorOnPhotographs) {
  const std::vector<Answer> answers = Answers();
  if (answers.empty()) GTEST_SKIP() << "GLINT_TEST_DATA names no folder with orbslam/*.csv.gz";
  for (const Answer& answer : answers) {
    const Image image = LoadGray(answer.image);
    for (const Backend& backend : Backends()) {
      EXPECT_TRUE(SameFeatures(answer.features, backend.detect(answer.options, image, {})))
          << backend.name << " on " << answer.image;
    }
  }
}

}  // namespace
}  // namespace glint::testing
