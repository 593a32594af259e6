#include "calibration/formats/opencv_eyes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "calibration/formats/fields.h"

namespace glint::calibration::opencv {
namespace {

bool BelongsToCamera(Role role) { return role != Role::kRotation && role != Role::kTranslation && role != Role::kPose; }

// The only eye that a file has camera matrices of, or nothing.
std::optional<int> OnlyEyeOf(const Found& found) {
  std::optional<int> eye;
  for (const Matrix& matrix : found.matrices) {
    if (matrix.role != Role::kIntrinsics && matrix.role != Role::kProjection) continue;
    if (eye.has_value() && *eye != matrix.eye) return std::nullopt;
    eye = matrix.eye;
  }
  return eye;
}

}  // namespace

bool AreEqual(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0, difference = 0;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    largest = std::max(largest, std::abs(a[i]));
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  return a.size() == b.size() && difference <= 1e-3 * largest;
}

int NumberEyes(std::vector<Found>* files) {
  bool from_zero = false;
  for (const Found& file : *files) {
    for (const Matrix& m : file.matrices) from_zero = from_zero || (m.has_digit && m.eye == 0);
  }
  for (Found& file : *files) {
    for (Matrix& m : file.matrices) m.eye -= m.has_digit && !from_zero ? 1 : 0;
  }
  std::vector<Found*> single;
  std::vector<int> eyes;
  for (Found& file : *files) {
    if (const auto eye = OnlyEyeOf(file)) {
      single.push_back(&file);
      if (*eye != kNoEye) eyes.push_back(*eye);
    }
  }
  std::sort(eyes.begin(), eyes.end());
  const bool are_named = eyes.size() == single.size() && std::unique(eyes.begin(), eyes.end()) == eyes.end();
  const int first = from_zero ? 0 : 1;
  if (single.size() < 2 || are_named) return first;
  for (size_t eye = 0; eye < single.size(); ++eye) {
    for (Matrix& m : single[eye]->matrices) {
      if (BelongsToCamera(m.role)) m.eye = static_cast<int>(eye);
      m.has_digit = false;
    }
  }
  return first;
}

std::string SeveralCameras(absl::Span<const Found> files) {
  std::vector<const Matrix*> several;
  for (const Found& file : files) {
    for (const Matrix& matrix : file.matrices) {
      const bool is_same = std::any_of(several.begin(), several.end(), [&](const Matrix* m) {
        return (matrix.eye != kNoEye && m->eye == matrix.eye) || AreEqual(m->values, matrix.values);
      });
      if (matrix.role == Role::kIntrinsics && !is_same) several.push_back(&matrix);
    }
  }
  if (several.size() < 2) return "";
  return absl::StrJoin(several, ", ", [](std::string* out, const Matrix* m) { absl::StrAppend(out, m->name); });
}

absl::Status CheckOthers(absl::Span<const Found> files, const Source& source, std::vector<std::string>* warnings) {
  std::vector<const Matrix*> pair;
  std::vector<const Matrix*> others;
  for (const Found& file : files) {
    for (const Matrix& matrix : file.matrices) {
      if (matrix.role == Role::kIntrinsics) (matrix.eye == 0 || matrix.eye == 1 ? pair : others).push_back(&matrix);
    }
  }
  for (const Matrix* other : others) {
    if (other->eye > 1) {
      return FieldError(source, other->name,
                        "is of a third camera: it is not clear which two the pair is; leave the others out");
    }
    const bool is_same =
        std::any_of(pair.begin(), pair.end(), [&](const Matrix* m) { return AreEqual(m->values, other->values); });
    if (!is_same) {
      warnings->push_back(FieldWarning(*other->source, other->name, "is of a camera beside the pair, and left out"));
    }
  }
  return absl::OkStatus();
}

bool ChooseProjections(const std::vector<std::string>& names, std::vector<Found>* files) {
  for (Found& file : *files) {
    auto& all = file.matrices;
    const auto is_projection = [](const Matrix& m) { return m.role == Role::kProjection; };
    std::vector<Matrix> chosen;
    for (size_t eye = 0; eye < names.size(); ++eye) {
      const auto at = std::find_if(all.begin(), all.end(),
                                   [&](const Matrix& m) { return is_projection(m) && m.name == names[eye]; });
      if (at == all.end()) continue;
      chosen.push_back(*at);
      chosen.back().eye = static_cast<int>(eye);
      chosen.back().has_digit = false;
    }
    if (chosen.size() == names.size()) {
      all = std::move(chosen);
      return true;
    }
  }
  return false;
}

}  // namespace glint::calibration::opencv
