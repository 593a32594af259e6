#include <cstdint>
#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/opencv_peer.h"

namespace glint::bench {
namespace {

class BfMatcherPeer final : public MatchPeer {
 public:
  BfMatcherPeer(const DescriptorView& query, const DescriptorView& train, const MatchOptions& options)
      : query_(MatOf(query)),
        train_(MatOf(train)),
        options_(options),
        name_(options.cross_check ? "cv::BFMatcher crossCheck" : "cv::BFMatcher::knnMatch"),
        matcher_(cv::NORM_HAMMING, options.cross_check) {}

  const std::string& name() const override { return name_; }
  absl::Status Run() override {
    // OpenCV reports errors by exceptions; they end here.
    try {
      if (options_.k == 1) {
        matcher_.match(query_, train_, matches_);
      } else {
        matcher_.knnMatch(query_, train_, lists_, options_.k);
      }
      return absl::OkStatus();
    } catch (const cv::Exception& e) {
      return absl::InternalError(absl::StrCat(name_, ": ", e.what()));
    }
  }
  MatchResult result() const override {
    MatchResult result;
    result.Reset(query_.rows, options_.k);
    const auto add = [&](const cv::DMatch& match, size_t entry) {
      const size_t at = static_cast<size_t>(match.queryIdx) * static_cast<size_t>(options_.k) + entry;
      result.index[at] = match.trainIdx;
      result.distance[at] = static_cast<int32_t>(match.distance);
    };
    for (const cv::DMatch& match : matches_) add(match, 0);
    for (const std::vector<cv::DMatch>& list : lists_) {
      for (size_t i = 0; i < list.size(); ++i) add(list[i], i);
    }
    return result;
  }

 private:
  static cv::Mat MatOf(const DescriptorView& set) {
    return cv::Mat(set.count, set.bytes, CV_8UC1, const_cast<uint8_t*>(set.data));
  }

  const cv::Mat query_;
  const cv::Mat train_;
  const MatchOptions options_;
  const std::string name_;
  const cv::BFMatcher matcher_;
  std::vector<cv::DMatch> matches_;
  std::vector<std::vector<cv::DMatch>> lists_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MatchPeer>> MakeOpenCvMatchPeer(const DescriptorView& query, const DescriptorView& train,
                                                               const MatchOptions& options, int threads) {
  cv::setNumThreads(threads);
  return std::make_unique<BfMatcherPeer>(query, train, options);
}

}  // namespace glint::bench
