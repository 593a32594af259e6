// Writers of formats that have a file apart from their reader's.
#ifndef GLINT_CALIBRATION_FORMATS_WRITERS_H_
#define GLINT_CALIBRATION_FORMATS_WRITERS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "calibration/formats/format.h"

namespace glint::calibration {

// As Format::write.
absl::StatusOr<std::vector<NamedText>> WriteOpenCv(const Calibration& calibration);
absl::StatusOr<std::vector<NamedText>> WriteOrbSlam2(const Calibration& calibration);
absl::StatusOr<std::vector<NamedText>> WriteOrbSlam3(const Calibration& calibration);

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_FORMATS_WRITERS_H_
