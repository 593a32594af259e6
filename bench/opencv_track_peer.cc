#include <algorithm>
#include <cstdint>
#include <opencv2/core.hpp>
#include <opencv2/video/tracking.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/opencv_peer.h"
#include "features/status_macros.h"

namespace glint::bench {
namespace {

class LucasKanadePeer final : public TrackPeer {
 public:
  LucasKanadePeer(const ImageView& from, const ImageView& to, const TrackInput& input, const TrackOptions& options)
      : from_(MatOf(from)),
        to_(MatOf(to)),
        patch_(options.patch_size, options.patch_size),
        coarsest_(options.levels - 1),
        criteria_(cv::TermCriteria::COUNT + cv::TermCriteria::EPS, options.max_iterations,
                  static_cast<double>(options.epsilon)),
        // Its unit is 1024 (grey levels per pixel)^2.
        min_eigenvalue_(static_cast<double>(options.min_eigenvalue) / 1024) {
    for (int i = 0; i < input.count; ++i) points_.emplace_back(input.x[i], input.y[i]);
  }

  absl::Status Prepare() {
    return Caught([&] {
      cv::buildOpticalFlowPyramid(from_, from_levels_, patch_, coarsest_);
      cv::buildOpticalFlowPyramid(to_, to_levels_, patch_, coarsest_);
    });
  }
  const std::string& name() const override { return name_; }
  absl::Status Run() override { return Track(from_, to_); }
  absl::Status RunWithPyramids() override { return Track(from_levels_, to_levels_); }
  int tracked() const override { return static_cast<int>(std::count(status_.begin(), status_.end(), 1)); }

 private:
  static cv::Mat MatOf(const ImageView& image) {
    return cv::Mat(image.height, image.width, CV_8UC1, const_cast<uint8_t*>(image.data),
                   static_cast<size_t>(image.stride));
  }
  // OpenCV reports errors by exceptions; they end here.
  template <class Call>
  absl::Status Caught(const Call& call) {
    try {
      call();
      return absl::OkStatus();
    } catch (const cv::Exception& e) {
      return absl::InternalError(absl::StrCat(name_, ": ", e.what()));
    }
  }
  template <class Images>
  absl::Status Track(const Images& from, const Images& to) {
    return Caught([&] {
      cv::calcOpticalFlowPyrLK(from, to, points_, found_, status_, error_, patch_, coarsest_, criteria_, 0,
                               min_eigenvalue_);
    });
  }

  const cv::Mat from_;
  const cv::Mat to_;
  const cv::Size patch_;
  const int coarsest_;
  const cv::TermCriteria criteria_;
  const double min_eigenvalue_;
  const std::string name_ = "cv::calcOpticalFlowPyrLK";
  std::vector<cv::Mat> from_levels_;
  std::vector<cv::Mat> to_levels_;
  std::vector<cv::Point2f> points_;
  std::vector<cv::Point2f> found_;
  std::vector<uint8_t> status_;
  std::vector<float> error_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TrackPeer>> MakeOpenCvTrackPeer(const ImageView& from, const ImageView& to,
                                                               const TrackInput& input, const TrackOptions& options,
                                                               int threads) {
  cv::setNumThreads(threads);
  auto peer = std::make_unique<LucasKanadePeer>(from, to, input, options);
  GLINT_RETURN_IF_ERROR(peer->Prepare());
  return peer;
}

}  // namespace glint::bench
