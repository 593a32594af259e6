// Matching equals cv::BFMatcher: indices and distances of match, knnMatch and crossCheck.
#include "cpu/match/matcher.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "features/reference/matcher.h"
#include "gtest/gtest.h"
#include "opencv2/features2d.hpp"
#include "tests/conformance/oracle.h"
#include "tests/support/descriptors.h"

namespace glint {
namespace {

using testing::DescriptorSet;
using testing::Likeness;

cv::Mat ToMat(const DescriptorView& set) {
  cv::Mat mat(set.count, set.bytes, CV_8U);
  for (int i = 0; i < set.count; ++i) std::memcpy(mat.ptr(i), set.row(i), static_cast<size_t>(set.bytes));
  return mat;
}

MatchResult OfOpenCv(const DescriptorView& query, const DescriptorView& train, int k, bool cross_check) {
  std::vector<std::vector<cv::DMatch>> lists;
  cv::BFMatcher(cv::NORM_HAMMING, cross_check).knnMatch(ToMat(query), ToMat(train), lists, k);
  MatchResult result;
  result.Reset(query.count, k);
  for (const std::vector<cv::DMatch>& list : lists) {
    for (size_t i = 0; i < list.size(); ++i) {
      const size_t at = static_cast<size_t>(list[i].queryIdx * k) + i;
      result.index[at] = list[i].trainIdx;
      result.distance[at] = static_cast<int32_t>(list[i].distance);
    }
  }
  return result;
}

void ExpectEqual(const DescriptorView& query, const DescriptorView& train, bool with_reference) {
  cpu::Matcher matcher;
  for (const int k : {1, 2, 5, 8, -1}) {
    MatchOptions options;
    options.k = k == -1 ? 1 : k;
    options.cross_check = k == -1;
    const MatchResult expected = OfOpenCv(query, train, options.k, options.cross_check);
    const MatchInput input{query, train, {}, {}};
    MatchResult actual;
    matcher.Match(input, options, &actual);
    EXPECT_TRUE(testing::SameMatches(expected, actual)) << testing::ToString(options);
    if (!with_reference) continue;
    EXPECT_TRUE(testing::SameMatches(expected, reference::Match(input, options))) << testing::ToString(options);
  }
}

TEST(BfMatcher, SetsOfManyKinds) {
  uint32_t seed = 0;
  for (const int bytes : {8, 16, 32, 64}) {
    for (const Likeness likeness : {Likeness::kRandom, Likeness::kNoisy, Likeness::kFewValues, Likeness::kAllEqual}) {
      for (const auto& [queries, trains] : {std::pair{1, 1}, std::pair{3, 2}, std::pair{33, 31}, std::pair{100, 257}}) {
        SCOPED_TRACE(::testing::Message() << bytes << " bytes, " << queries << " x " << trains);
        const DescriptorSet query(queries, bytes, likeness, ++seed);
        const DescriptorSet train(trains, bytes, likeness, ++seed);
        ExpectEqual(query.view(), train.view(), true);
      }
    }
  }
}

// Distances of 0..3 between a handful of descriptors: what crossCheck does with ties, in every arrangement.
TEST(BfMatcher, CrossCheckOfTies) {
  testing::Random random(1);
  MatchOptions options;
  options.cross_check = true;
  for (int n = 0; n < 3000; ++n) {
    DescriptorSet query(random.Uniform(1, 6), 8, Likeness::kAllEqual, 1);
    DescriptorSet train(random.Uniform(1, 6), 8, Likeness::kAllEqual, 1);
    for (int i = 0; i < query.view().count; ++i) query.row(i)[3] = static_cast<uint8_t>(random.Uniform(0, 7));
    for (int i = 0; i < train.view().count; ++i) train.row(i)[3] = static_cast<uint8_t>(random.Uniform(0, 7));
    const MatchResult expected = OfOpenCv(query.view(), train.view(), 1, true);
    ASSERT_TRUE(testing::SameMatches(expected, reference::Match({query.view(), train.view(), {}, {}}, options))) << n;
  }
}

TEST(BfMatcher, DescriptorsOfPhotographs) {
  const std::vector<std::string> paths = testing::TestImages();
  if (paths.empty()) GTEST_SKIP() << "GLINT_TEST_DATA is not set";
  const cv::Ptr<cv::ORB> orb = cv::ORB::create(1500);
  // A few pairs from the whole list; neighbours in it are often views of the same place.
  for (size_t i = 0; i + 1 < paths.size(); i += paths.size() / 6 + 1) {
    SCOPED_TRACE(paths[i]);
    cv::Mat sets[2];
    for (size_t n = 0; n < 2; ++n) {
      const Image image = testing::LoadGray(paths[i + n]);
      std::vector<cv::KeyPoint> keypoints;
      orb->detectAndCompute(testing::MatOf(image), cv::noArray(), keypoints, sets[n]);
      ASSERT_FALSE(sets[n].empty());
    }
    ExpectEqual({sets[0].data, sets[0].rows, sets[0].cols}, {sets[1].data, sets[1].rows, sets[1].cols}, false);
  }
}

}  // namespace
}  // namespace glint
