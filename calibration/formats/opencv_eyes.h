// Which matrices of OpenCV's files belong to which camera.
#ifndef GLINT_CALIBRATION_FORMATS_OPENCV_EYES_H_
#define GLINT_CALIBRATION_FORMATS_OPENCV_EYES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "calibration/formats/opencv_matrices.h"

namespace glint::calibration::opencv {

// To a thousandth of the largest number.
bool AreEqual(const std::vector<double>& a, const std::vector<double>& b);

// Counts eyes from 0, and makes files of one camera each the left one's, the right one's. Returns the first digit.
int NumberEyes(std::vector<Found>* files);

// Camera matrices of more cameras than one: "mtx_iphone, mtx_webcam". Empty: of one, or of none.
std::string SeveralCameras(absl::Span<const Found> files);

// Warns of camera matrices of cameras that are not of the pair; INVALID_ARGUMENT: of those with a number beyond it,
// which make it unclear which the pair is.
absl::Status CheckOthers(absl::Span<const Found> files, const Source& source, std::vector<std::string>* warnings);

// Leaves projections alone where `names` are such, "P2,P3": of the left and of the right eye. False: they are not.
bool ChooseProjections(const std::vector<std::string>& names, std::vector<Found>* files);

}  // namespace glint::calibration::opencv

#endif  // GLINT_CALIBRATION_FORMATS_OPENCV_EYES_H_
