#include "server/operations/track/predictions.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "features/track_limits.h"

namespace glint {
namespace {

constexpr size_t kHomography = 9;

void SortById(absl::Span<const uint64_t> ids, std::vector<uint32_t>* order) {
  order->resize(ids.size());
  for (size_t i = 0; i < order->size(); ++i) (*order)[i] = static_cast<uint32_t>(i);
  std::sort(order->begin(), order->end(), [ids](uint32_t a, uint32_t b) { return ids[a] < ids[b]; });
}

absl::Status CheckPositions(absl::string_view field, absl::Span<const float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    // Written so that NaN fails.
    if (!(values[i] >= -kMaxTrackCoordinate && values[i] <= kMaxTrackCoordinate)) {
      return OutOfRangeError(absl::StrCat(field, "[", i, "]"), values[i], -kMaxTrackCoordinate, kMaxTrackCoordinate);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckHomography(const std::string& field, absl::Span<const float> values) {
  if (values.empty()) return absl::OkStatus();
  if (values.size() != kHomography) {
    return ContradictionError(field, absl::StrCat(values.size(), " elements, but a homography has ", kHomography));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) return ContradictionError(absl::StrCat(field, "[", i, "]"), "not finite");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidatePredictions(absl::Span<const TrackPrediction> predictions, int cameras,
                                 std::vector<uint32_t>* order) {
  uint32_t seen = 0;  // a bit a camera
  for (size_t p = 0; p < predictions.size(); ++p) {
    const TrackPrediction& of = predictions[p];
    const std::string name = absl::StrCat("predictions[", p, "]");
    if (of.camera >= static_cast<uint32_t>(cameras)) {
      return OutOfRangeError(absl::StrCat(name, ".camera"), of.camera, 0, cameras - 1);
    }
    const uint32_t bit = uint32_t{1} << of.camera;
    if ((seen & bit) != 0)
      return ContradictionError(absl::StrCat(name, ".camera"), absl::StrCat(of.camera, " has two"));
    seen |= bit;
    GLINT_RETURN_IF_ERROR(CheckHomography(absl::StrCat(name, ".homography"), of.homography));
    for (const auto& [field, size] : {std::pair{".x", of.x.size()}, std::pair{".y", of.y.size()}}) {
      if (size == of.ids.size()) continue;
      return ContradictionError(absl::StrCat(name, field),
                                absl::StrCat(size, " elements, but ids has ", of.ids.size()));
    }
    SortById(of.ids, order);
    for (size_t i = 1; i < order->size(); ++i) {
      if (of.ids[(*order)[i]] != of.ids[(*order)[i - 1]]) continue;
      return ContradictionError(absl::StrCat(name, ".ids"), absl::StrCat(of.ids[(*order)[i]], " is there twice"));
    }
    GLINT_RETURN_IF_ERROR(CheckPositions(absl::StrCat(name, ".x"), of.x));
    GLINT_RETURN_IF_ERROR(CheckPositions(absl::StrCat(name, ".y"), of.y));
  }
  return absl::OkStatus();
}

float NearestInside(double v, int side) {
  return static_cast<float>(std::clamp(v, 0.0, static_cast<double>(side - 1)));
}

void ApplyPrediction(const TrackPrediction& prediction, Shape image, absl::Span<const uint64_t> ids,
                     absl::Span<const float> x, absl::Span<const float> y, std::vector<uint32_t>* order,
                     absl::Span<float> to_x, absl::Span<float> to_y) {
  if (const auto& h = prediction.homography; !h.empty()) {
    const auto row = [&h](size_t first, double px, double py) {
      return (double{h[first]} * px + double{h[first + 1]} * py) + double{h[first + 2]};
    };
    for (size_t i = 0; i < ids.size(); ++i) {
      const double w = row(6, x[i], y[i]);
      if (!(w > 0)) continue;
      // Numerators are finite: a quotient may be infinite, but never NaN.
      to_x[i] = NearestInside(row(0, x[i], y[i]) / w, image.width);
      to_y[i] = NearestInside(row(3, x[i], y[i]) / w, image.height);
    }
  }
  SortById(prediction.ids, order);
  size_t i = 0;
  for (const uint32_t at : *order) {
    while (i < ids.size() && ids[i] < prediction.ids[at]) ++i;
    if (i == ids.size()) return;
    if (ids[i] != prediction.ids[at]) continue;
    to_x[i] = NearestInside(prediction.x[at], image.width);
    to_y[i] = NearestInside(prediction.y[at], image.height);
  }
}

}  // namespace glint
