#include "client/opencv/orb_extractor.h"

#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "client/client.h"
#include "cpu/pipeline.h"
#include "features/error.h"
#include "features/options.h"
#include "opencv2/imgproc.hpp"

namespace glint::client {
namespace {

void ThrowUnlessOk(const absl::Status& status, int code) {
  if (!status.ok()) CV_Error(code, std::string(status.message()));
}

ImageView ViewOf(const cv::Mat& gray) {
  if (gray.empty()) return {};
  return {gray.data, gray.cols, gray.rows, static_cast<ptrdiff_t>(gray.step[0])};
}

cv::KeyPoint KeyPointOf(const Features& f, size_t i) {
  return {f.x[i], f.y[i], f.size[i], f.angle[i], f.response[i], f.octave[i]};
}

}  // namespace

// Either a pipeline in process or a client.
struct OrbExtractor::Impl {
  DetectorOptions options;
  std::unique_ptr<cpu::Pipeline> pipeline;
  std::optional<Client> client;
  Features features;  // of the last image
};

OrbExtractor::OrbExtractor(int nfeatures, float scaleFactor, int nlevels, int iniThFAST, int minThFAST,
                           const std::string& server)
    : scale_factor_(scaleFactor), impl_(std::make_unique<Impl>()) {
  DetectorOptions& options = impl_->options;
  options = PresetOptions("orbslam").value();
  options.max_features = nfeatures;
  options.scale_factor = scaleFactor;
  options.levels = nlevels;
  options.ini_fast_threshold = iniThFAST;
  options.min_fast_threshold = minThFAST;
  ThrowUnlessOk(ValidateOptions(options), cv::Error::StsOutOfRange);
  for (int l = 0; l < nlevels; ++l) {
    scale_.push_back(l == 0 ? 1.0f : scale_.back() * scaleFactor);
    sigma2_.push_back(scale_.back() * scale_.back());
    inverse_scale_.push_back(1.0f / scale_.back());
    inverse_sigma2_.push_back(1.0f / sigma2_.back());
  }
  mvImagePyramid.resize(scale_.size());
  if (server.empty()) {
    ThrowUnlessOk(cpu::ValidateSimdTarget(), cv::Error::StsBadArg);
    impl_->pipeline = std::make_unique<cpu::Pipeline>();
    return;
  }
  absl::StatusOr<Client> client = Client::Connect(server);
  ThrowUnlessOk(client.status(), cv::Error::StsError);
  impl_->client = *std::move(client);
}

OrbExtractor::~OrbExtractor() = default;

void OrbExtractor::Detect(const cv::Mat& image, const cv::Mat& mask) {
  if (image.type() != CV_8UC1) ThrowUnlessOk(ContradictionError("image", "is not CV_8UC1"), cv::Error::StsBadArg);
  if (!mask.empty() && mask.type() != CV_8UC1) {
    ThrowUnlessOk(ContradictionError("mask", "is not CV_8UC1"), cv::Error::StsBadArg);
  }
  ThrowUnlessOk(ValidateImages(ViewOf(image), ViewOf(mask)), cv::Error::StsBadArg);
  if (impl_->pipeline != nullptr) {
    ThrowUnlessOk(impl_->pipeline->Detect(impl_->options, ViewOf(image), ViewOf(mask), &impl_->features, nullptr),
                  cv::Error::StsError);
    return;
  }
  absl::StatusOr<Detection> found = impl_->client->Detect(impl_->options, ViewOf(image), ViewOf(mask));
  ThrowUnlessOk(found.status(), cv::Error::StsError);
  impl_->features = std::move(found->features);
}

void OrbExtractor::FillPyramid(const cv::Mat& image) {
  const PyramidPlan plan = PlanPyramid(impl_->options, {image.cols, image.rows});
  image.copyTo(mvImagePyramid[0]);
  for (size_t l = 1; l < mvImagePyramid.size(); ++l) {
    const Shape shape = plan.level[l].shape;
    if (shape.pixels() == 0 || mvImagePyramid[l - 1].empty()) {
      mvImagePyramid[l].release();
    } else {
      cv::resize(mvImagePyramid[l - 1], mvImagePyramid[l], {shape.width, shape.height}, 0, 0, cv::INTER_LINEAR);
    }
  }
}

int OrbExtractor::operator()(cv::InputArray image_array, cv::InputArray mask_array,
                             std::vector<cv::KeyPoint>& keypoints, cv::OutputArray descriptors,
                             std::vector<int>& vLappingArea) {
  const cv::Mat image = image_array.getMat();
  if (image.empty()) return -1;
  if (vLappingArea.size() < 2) {
    ThrowUnlessOk(ContradictionError("vLappingArea", "has not the two ends of a range of x"), cv::Error::StsBadArg);
  }
  Detect(image, mask_array.getMat());
  FillPyramid(image);

  const Features& f = impl_->features;
  keypoints.resize(f.count());
  cv::Mat rows;
  if (f.count() == 0) {
    descriptors.release();
  } else {
    descriptors.create(static_cast<int>(f.count()), f.descriptor_bytes, CV_8U);
    rows = descriptors.getMat();
  }
  size_t outside = 0;
  size_t lapping = f.count();
  for (size_t i = 0; i < f.count(); ++i) {
    const bool is_lapping =
        f.x[i] >= static_cast<float>(vLappingArea[0]) && f.x[i] <= static_cast<float>(vLappingArea[1]);
    const size_t to = is_lapping ? --lapping : outside++;
    keypoints[to] = KeyPointOf(f, i);
    const size_t bytes = static_cast<size_t>(f.descriptor_bytes);
    std::memcpy(rows.ptr(static_cast<int>(to)), f.descriptors.data() + i * bytes, bytes);
  }
  return static_cast<int>(outside);
}

void OrbExtractor::operator()(cv::InputArray image, cv::InputArray mask, std::vector<cv::KeyPoint>& keypoints,
                              cv::OutputArray descriptors) {
  std::vector<int> none = {std::numeric_limits<int>::max(), std::numeric_limits<int>::min()};
  (*this)(image, mask, keypoints, descriptors, none);
}

}  // namespace glint::client
