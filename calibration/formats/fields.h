// Reading the fields of calibration files.
#ifndef GLINT_CALIBRATION_FORMATS_FIELDS_H_
#define GLINT_CALIBRATION_FORMATS_FIELDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibration/formats/format.h"
#include "features/camera/rig.h"

namespace glint::calibration {

// INVALID_ARGUMENT "path: field: text".
absl::Status FieldError(const Source& source, absl::string_view field, absl::string_view text);
// As FieldError(), for a list of warnings.
std::string FieldWarning(const Source& source, absl::string_view field, absl::string_view text);

// The value at `path` (as Node::FindPath()) of `node`. Errors name source and field; so do the others.
absl::StatusOr<double> Number(const Source& source, const Node& node, absl::string_view path);
// The value, or `absent` where there is none.
absl::StatusOr<double> NumberOr(const Source& source, const Node& node, absl::string_view path, double absent);
// Exactly `count` numbers; count 0: any.
absl::StatusOr<std::vector<double>> Numbers(const Source& source, const Node& node, absl::string_view path, int count);
// Text; empty where there is none.
std::string Text(const Node& node, absl::string_view path);

// INVALID_ARGUMENT: sides that are not whole numbers of 1..kMaxImageSide.
absl::StatusOr<Shape> ImageSize(const Source& source, absl::string_view field, double width, double height);

// Of 16 or 12 numbers, row by row. INVALID_ARGUMENT: rotation that is not orthonormal to 1e-2 or not right-handed
// (else it is made orthonormal), last row that is not 0 0 0 1.
absl::StatusOr<RigidTransform> Transform(const Source& source, absl::string_view field, const std::vector<double>& m);
// Of 9 numbers, row by row, and a translation; as Transform().
absl::StatusOr<RigidTransform> Transform(const Source& source, absl::string_view field, const std::vector<double>& r,
                                         const Eigen::Vector3d& t);

// Sets the lens from coefficients in OpenCV's order (k1 k2 p1 p2 [k3 [k4 k5 k6 [s1 s2 s3 s4 [tau_x tau_y]]]]), and the
// model by those that are not 0; none is a pinhole. INVALID_ARGUMENT: another number of them than 0, 4, 5, 8, 12 or 14.
absl::Status SetOpenCvLens(const Source& source, absl::string_view field, const std::vector<double>& d, Camera* camera);

// INVALID_ARGUMENT: a camera whose image size is not known, which files of `program` have to say.
absl::Status RequireSizes(const Rig& rig, absl::string_view program);

// Sets `rectified` if all cameras are pinholes with fx = fy, of one focal length, without rotation to each other, and
// side by side along x.
void FindWhetherRectified(Calibration* calibration);

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_FORMATS_FIELDS_H_
