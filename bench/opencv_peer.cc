#include "bench/opencv_peer.h"

#include <cmath>
#include <cstdint>
#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>
#include <opencv2/imgproc.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace glint::bench {
namespace {

cv::Mat MatOf(const ImageView& image) {
  return cv::Mat(image.height, image.width, CV_8UC1, const_cast<uint8_t*>(image.data),
                 static_cast<size_t>(image.stride));
}

// OpenCV reports errors by exceptions; they end here.
template <typename Function>
absl::Status Guarded(const std::string& name, Function function) {
  try {
    function();
    return absl::OkStatus();
  } catch (const cv::Exception& e) {
    return absl::InternalError(absl::StrCat(name, ": ", e.what()));
  }
}

class OrbPeer final : public DetectorPeer {
 public:
  OrbPeer(const DetectorOptions& options, const ImageView& image)
      : image_(MatOf(image)),
        describe_(options.descriptor != Descriptor::kNone),
        is_orb_(options.selection != Selection::kQuadtree),
        name_(describe_ ? "cv::ORB::detectAndCompute" : "cv::ORB::detect"),
        orb_(cv::ORB::create(options.max_features, options.scale_factor, options.levels, options.edge_threshold, 0, 2,
                             options.ranking == Ranking::kHarris ? cv::ORB::HARRIS_SCORE : cv::ORB::FAST_SCORE,
                             options.patch_size, options.fast_threshold)) {}

  const std::string& name() const override { return name_; }
  absl::Status Run() override {
    return Guarded(name_, [this] {
      if (describe_) {
        orb_->detectAndCompute(image_, cv::noArray(), keypoints_, descriptors_);
      } else {
        orb_->detect(image_, keypoints_);
      }
    });
  }
  size_t keypoints() const override { return keypoints_.size(); }
  std::vector<KeypointKey> comparable() const override {
    std::vector<KeypointKey> keys;
    if (!is_orb_) return keys;
    for (const cv::KeyPoint& k : keypoints_) keys.emplace_back(k.octave, k.response, k.pt.y, k.pt.x);
    return keys;
  }

 private:
  const cv::Mat image_;
  const bool describe_;
  const bool is_orb_;  // not orbslam, whose keypoints are others
  const std::string name_;
  const cv::Ptr<cv::ORB> orb_;
  std::vector<cv::KeyPoint> keypoints_;
  cv::Mat descriptors_;
};

constexpr int kHarrisMargin = 4;  // half of 7, and 1 for the Sobel filter

// det - 0.04 trace^2 of the gradient products over 7x7, in cv::ORB's scale.
float Harris(const uint8_t* centre, ptrdiff_t step) {
  int xx = 0, yy = 0, xy = 0;
  for (int dy = -3; dy <= 3; ++dy) {
    for (int dx = -3; dx <= 3; ++dx) {
      const uint8_t* p = centre + dy * step + dx;
      const int gx = 2 * (p[1] - p[-1]) + (p[1 - step] - p[-1 - step]) + (p[1 + step] - p[-1 + step]);
      const int gy = 2 * (p[step] - p[-step]) + (p[step - 1] - p[-step - 1]) + (p[step + 1] - p[-step + 1]);
      xx += gx * gx;
      yy += gy * gy;
      xy += gx * gy;
    }
  }
  const float scale = 1.f / (4 * 7 * 255.f);
  const float a = static_cast<float>(xx), b = static_cast<float>(yy), c = static_cast<float>(xy);
  return (a * b - c * c - 0.04f * (a + b) * (a + b)) * (scale * scale * scale * scale);
}

void MeasureHarris(const cv::Mat& level, std::vector<cv::KeyPoint>* corners) {
  const ptrdiff_t step = static_cast<ptrdiff_t>(level.step[0]);
  for (cv::KeyPoint& corner : *corners) {
    const int x = static_cast<int>(corner.pt.x), y = static_cast<int>(corner.pt.y);
    if (x < kHarrisMargin || y < kHarrisMargin || x >= level.cols - kHarrisMargin || y >= level.rows - kHarrisMargin) {
      continue;
    }
    corner.response = Harris(level.ptr<uint8_t>(y) + x, step);
  }
}

class FastHarrisPeer final : public DetectorPeer {
 public:
  FastHarrisPeer(const DetectorOptions& options, const ImageView& image)
      : threshold_(options.fast_threshold), plan_(PlanPyramid(options, image.shape())), levels_(1, MatOf(image)) {
    levels_.resize(static_cast<size_t>(plan_.levels));
  }

  const std::string& name() const override { return name_; }
  absl::Status Run() override {
    return Guarded(name_, [this] {
      count_ = 0;
      for (int l = 0; l < plan_.levels; ++l) {
        const Shape shape = plan_.level[l].shape;
        if (shape.width < 1 || shape.height < 1) break;
        if (l > 0) {
          cv::resize(levels_[l - 1], levels_[l], cv::Size(shape.width, shape.height), 0, 0, cv::INTER_LINEAR_EXACT);
        }
        RunLevel(levels_[l]);
      }
    });
  }
  size_t keypoints() const override { return count_; }
  std::vector<KeypointKey> comparable() const override { return {}; }

 private:
  void RunLevel(const cv::Mat& level) {
    cv::FAST(level, corners_, threshold_, false);
    MeasureHarris(level, &corners_);
    count_ += corners_.size();
  }

  const std::string name_ = "cv::FAST, then Harris at its corners";
  const int threshold_;
  const PyramidPlan plan_;
  std::vector<cv::Mat> levels_;
  std::vector<cv::KeyPoint> corners_;
  size_t count_ = 0;
};

class CornerHarrisPeer final : public DetectorPeer {
 public:
  CornerHarrisPeer(const DetectorOptions& options, const ImageView& image) : options_(options), image_(MatOf(image)) {}

  const std::string& name() const override { return name_; }
  absl::Status Run() override {
    return Guarded(name_, [this] {
      cv::Mat image = image_;
      if (options_.smooth) {
        cv::GaussianBlur(image_, smooth_, {3, 3}, 0, 0, cv::BORDER_REFLECT_101);
        image = smooth_;
      }
      cv::cornerHarris(image, map_, options_.harris_block, 3, options_.harris_k, cv::BORDER_REFLECT_101);
    });
  }
  size_t keypoints() const override { return 0; }
  std::vector<KeypointKey> comparable() const override { return {}; }

 private:
  const std::string name_ = "cv::cornerHarris, the map alone";
  const DetectorOptions options_;
  const cv::Mat image_;
  cv::Mat smooth_;
  cv::Mat map_;
};

void FillMaps(const RemapTable& table, cv::Mat* places, cv::Mat* fractions) {
  places->create(table.shape.height, table.shape.width, CV_16SC2);
  fractions->create(table.shape.height, table.shape.width, CV_16UC1);
  for (int y = 0; y < table.shape.height; ++y) {
    for (int x = 0; x < table.shape.width; ++x) {
      const RemapTable::Entry& entry = table.row(y)[x];
      places->at<cv::Vec2s>(y, x) = {entry.x, entry.y};
      fractions->at<uint16_t>(y, x) =
          static_cast<uint16_t>(entry.fraction_y * RemapTable::kFractions + entry.fraction_x);
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<DetectorPeer>> MakeOpenCvPeer(const DetectorOptions& options, const ImageView& image,
                                                             int threads) {
  cv::setNumThreads(threads);
  if (options.corner_test == CornerTest::kEveryPixel) return std::make_unique<CornerHarrisPeer>(options, image);
  if (options.score == Score::kHarris) return std::make_unique<FastHarrisPeer>(options, image);
  return std::make_unique<OrbPeer>(options, image);
}

absl::StatusOr<std::vector<StagePeer>> MakeOpenCvStagePeers(const ImageView& image, int fast_threshold,
                                                            Shape next_level, const RemapTable& lens) {
  cv::setNumThreads(1);
  struct State {
    cv::Mat image;
    cv::Mat framed;  // the image inside a margin: cv::GaussianBlur then takes the same code path as in cv::ORB
    cv::Mat resized;
    cv::Mat blurred;
    cv::Mat places, fractions;  // cv::remap's maps
    cv::Mat rectified;
    std::vector<cv::KeyPoint> raw;
    std::vector<cv::KeyPoint> suppressed;
  };
  const auto state = std::make_shared<State>();
  state->image = MatOf(image);
  constexpr int kMargin = 32;
  cv::copyMakeBorder(state->image, state->framed, kMargin, kMargin, kMargin, kMargin, cv::BORDER_REFLECT_101);
  cv::FAST(state->image, state->suppressed, fast_threshold, true);
  FillMaps(lens, &state->places, &state->fractions);

  const auto guarded = [](const char* name, std::function<void()> run) {
    return [name, run = std::move(run)] { return Guarded(name, run); };
  };
  const auto none = [] { return size_t{0}; };
  const auto suppressed = [state] { return state->suppressed.size(); };
  const cv::Size next(next_level.width, next_level.height);
  return std::vector<StagePeer>{
      {"fast_raw", "cv::FAST", guarded("cv::FAST", [=] { cv::FAST(state->image, state->raw, fast_threshold, false); }),
       [state] { return state->raw.size(); }},
      {"fast_suppressed", "cv::FAST",
       guarded("cv::FAST", [=] { cv::FAST(state->image, state->suppressed, fast_threshold, true); }), suppressed},
      {"resize", "cv::resize",
       guarded("cv::resize", [=] { cv::resize(state->image, state->resized, next, 0, 0, cv::INTER_LINEAR_EXACT); }),
       none},
      {"blur", "cv::GaussianBlur",
       guarded("cv::GaussianBlur",
               [=] {
                 const cv::Rect inside(kMargin, kMargin, state->image.cols, state->image.rows);
                 cv::GaussianBlur(state->framed(inside), state->blurred, {7, 7}, 2, 2, cv::BORDER_REFLECT_101);
               }),
       none},
      {"harris", "Harris in a plain loop", guarded("Harris", [=] { MeasureHarris(state->image, &state->suppressed); }),
       suppressed},
      {"remap", "cv::remap",
       guarded("cv::remap",
               [=] {
                 cv::remap(state->image, state->rectified, state->places, state->fractions, cv::INTER_LINEAR,
                           cv::BORDER_CONSTANT, 0);
               }),
       none},
  };
}

std::string OpenCvVersion() { return CV_VERSION; }

}  // namespace glint::bench
