#include "slam/front_end/cpu_front_end.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include "features/status_macros.h"

namespace glint::slam {

CpuFrontEnd::CpuFrontEnd(const DetectorOptions& detector, int threads)
    : detector_(detector),
      kind_(FeatureKindOf(detector)),
      stereo_(PairMatching()),
      single_(threads),
      pipeline_(threads, &single_),
      matcher_(threads),
      tracker_(threads),
      track_(PatchFollowing()) {}

void CpuFrontEnd::PatchImage::Set(const ImageView& from) {
  image.Resize(from.shape());
  for (int y = 0; y < from.height; ++y) std::memcpy(image.row(y), from.row(y), static_cast<size_t>(from.width));
  levels.Build(image, 1);
}

absl::Status CpuFrontEnd::Find(const ImageView& left, const ImageView& right, StereoFrame* frame) {
  for (const ImageView& image : {left, right}) {
    GLINT_RETURN_IF_ERROR(ValidateImages(image, {}));
  }
  GLINT_RETURN_IF_ERROR(
      pipeline_.Detect(detector_, left, right, stereo_, &frame->left, &right_features_, &result_, nullptr));
  SetLevels(detector_, left.shape(), frame);
  left_.Set(left);
  right_.Set(right);
  TrackInput patches = patches_.MakeInput(frame->left, result_);
  patches.from = left_.levels.view();
  patches.to = right_.levels.view();
  tracker_.Track(patches, track_, &tracked_);
  patches_.Apply(tracked_, frame);
  return absl::OkStatus();
}

absl::Status CpuFrontEnd::FindOne(const ImageView& image, StereoFrame* frame) {
  GLINT_RETURN_IF_ERROR(ValidateImages(image, {}));
  GLINT_RETURN_IF_ERROR(single_.Detect(detector_, image, {}, &frame->left, nullptr));
  SetLevels(detector_, image.shape(), frame);
  ClearStereo(frame);
  left_.Set(image);
  return absl::OkStatus();
}

void CpuFrontEnd::SetReferenceFrame() {
  std::swap(left_.image, reference_.image);
  std::swap(left_.levels, reference_.levels);
}

void CpuFrontEnd::Follow(const std::vector<float>& x, const std::vector<float>& y, std::vector<float>* to_x,
                         std::vector<float>* to_y, std::vector<uint8_t>* is_followed) {
  const TrackInput input{reference_.levels.view(),
                         left_.levels.view(),
                         static_cast<int>(x.size()),
                         x.data(),
                         y.data(),
                         to_x->data(),
                         to_y->data()};
  tracker_.Track(input, track_, &tracked_);
  is_followed->assign(x.size(), 0);
  for (size_t i = 0; i < x.size(); ++i) (*is_followed)[i] = tracked_.status[i] == TrackStatus::kTracked ? 1 : 0;
  to_x->assign(tracked_.x.begin(), tracked_.x.begin() + static_cast<ptrdiff_t>(x.size()));
  to_y->assign(tracked_.y.begin(), tracked_.y.begin() + static_cast<ptrdiff_t>(x.size()));
}

void CpuFrontEnd::Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) {
  matcher_.Match(input, options, result);
}

}  // namespace glint::slam
