// cv::ORB as a side of glint compare.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <opencv2/core/utility.hpp>
#include <opencv2/features2d.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cli/compare/compare_contender.h"
#include "features/error.h"
#include "features/option_fields.h"
#include "features/status_macros.h"
#include "features/steady_time.h"

namespace glint::cli {
namespace {

// Of `o`, what cv::ORB::create has a parameter for; preset orb's values in all other fields.
DetectorOptions WhatOrbHas(const DetectorOptions& o) {
  DetectorOptions orb = PresetOptions("orb").value();
  orb.max_features = o.max_features;
  orb.scale_factor = o.scale_factor;
  orb.levels = o.levels;
  orb.edge_threshold = o.edge_threshold;
  orb.ranking = o.ranking;
  orb.patch_size = o.patch_size;
  orb.fast_threshold = o.fast_threshold;
  orb.descriptor = o.descriptor == Descriptor::kNone ? Descriptor::kNone : orb.descriptor;
  return orb;
}

absl::Status CheckIsOrb(const DetectorOptions& o) {
  const DetectorOptions orb = WhatOrbHas(o);
  absl::Status status;
  const auto refuse = [&](absl::string_view name, auto field) {
    if (status.ok() && o.*field != orb.*field) {
      status = ContradictionError(name, "SERVER opencv is cv::ORB, in which this cannot be chosen");
    }
  };
  ForEachChoice(refuse);
  ForEachNumber([&](absl::string_view name, auto field, auto, auto) { refuse(name, field); });
  ForEachSwitch(refuse);
  return status;
}

Features ToFeatures(const std::vector<cv::KeyPoint>& keypoints, const cv::Mat& descriptors) {
  std::vector<size_t> order(keypoints.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto rank = [&](size_t i) {
    const cv::KeyPoint& k = keypoints[i];
    return std::make_tuple(k.octave, -k.response, k.pt.y, k.pt.x);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rank(a) < rank(b); });
  Features features;
  features.Resize(order.size(), descriptors.cols);
  for (size_t i = 0; i < order.size(); ++i) {
    const cv::KeyPoint& k = keypoints[order[i]];
    features.x[i] = k.pt.x;
    features.y[i] = k.pt.y;
    features.size[i] = k.size;
    features.angle[i] = k.angle;
    features.response[i] = k.response;
    features.octave[i] = k.octave;
    if (!descriptors.empty()) {
      const size_t bytes = static_cast<size_t>(descriptors.cols);
      std::memcpy(features.descriptors.data() + i * bytes, descriptors.ptr(static_cast<int>(order[i])), bytes);
    }
  }
  return features;
}

class OpenCvOrb : public Contender {
 public:
  explicit OpenCvOrb(const DetectorOptions& o)
      : orb_(cv::ORB::create(o.max_features, o.scale_factor, o.levels, o.edge_threshold, /*firstLevel=*/0, /*WTA_K=*/2,
                             o.ranking == Ranking::kHarris ? cv::ORB::HARRIS_SCORE : cv::ORB::FAST_SCORE, o.patch_size,
                             o.fast_threshold)),
        describe_(o.descriptor != Descriptor::kNone) {
    cv::setNumThreads(1);  // as a lane
  }

  absl::StatusOr<Found> Detect(const cv::Mat& image, const cv::Mat& mask) const override {
    std::vector<cv::KeyPoint> keypoints;
    cv::Mat descriptors;
    const absl::Time begin = SteadyNow();
    try {
      if (describe_) {
        orb_->detectAndCompute(image, mask, keypoints, descriptors);
      } else {
        orb_->detectAndCompute(image, mask, keypoints, cv::noArray());
      }
    } catch (const cv::Exception& e) {
      return absl::InvalidArgumentError(absl::StrCat("cv::ORB: ", e.what()));
    }
    const double microseconds = absl::ToDoubleMicroseconds(SteadyNow() - begin);
    return Found{ToFeatures(keypoints, descriptors), microseconds};
  }

 private:
  cv::Ptr<cv::ORB> orb_;
  bool describe_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Contender>> OpenOpenCv(const DetectorOptions& options) {
  GLINT_RETURN_IF_ERROR(CheckIsOrb(options));
  return std::make_unique<OpenCvOrb>(options);
}

}  // namespace glint::cli
