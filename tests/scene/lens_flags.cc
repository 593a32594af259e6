#include "tests/scene/lens_flags.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "tests/scene/lens.h"

ABSL_FLAG(std::string, camera_model, "pinhole",
          "pinhole, or a lens of both cameras (radial-tangential, rational, kannala-brandt, ...)");
ABSL_FLAG(std::vector<std::string>, lens, {}, "the lens's coefficients in the model's order: k1,k2,p1,p2");

namespace glint::scene {

absl::StatusOr<glint::Camera> ReadLensFlags(const Camera& pinhole) {
  glint::Camera lens = {
      CameraModel::kPinhole, {pinhole.width, pinhole.height}, pinhole.focal, pinhole.focal, pinhole.cx, pinhole.cy, {}};
  std::vector<std::string> names;
  for (int i = 0; i < kCameraModels; ++i) names.emplace_back(NameOf(static_cast<CameraModel>(i)));
  const auto found = std::find(names.begin(), names.end(), absl::GetFlag(FLAGS_camera_model));
  if (found == names.end()) {
    return NotOneOfError("--camera_model", absl::GetFlag(FLAGS_camera_model), absl::StrJoin(names, ", "));
  }
  lens.model = static_cast<CameraModel>(found - names.begin());
  const std::vector<std::string> words = absl::GetFlag(FLAGS_lens);
  bool is_valid = words.size() <= LensCoefficientsOf(lens.model).size();
  for (size_t i = 0; is_valid && i < words.size(); ++i) is_valid = absl::SimpleAtod(words[i], &lens.lens[i]);
  if (is_valid) return lens;
  return ContradictionError("--lens", absl::StrCat("\"", Echo(absl::StrJoin(words, ",")), "\" is not numbers for ",
                                                   absl::StrJoin(LensCoefficientsOf(lens.model), ",")));
}

absl::Status PutOn(const glint::Camera& lens, StereoHead* head) {
  if (lens.model == CameraModel::kPinhole) return absl::OkStatus();
  GLINT_ASSIGN_OR_RETURN(head->camera, PinholeFor(lens));
  head->lens = ThroughLens(lens, head->camera);
  return absl::OkStatus();
}

}  // namespace glint::scene
