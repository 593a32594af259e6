// Files that are known for what they are, though no format reads them.
#ifndef GLINT_CALIBRATION_FORMATS_OTHER_FILES_H_
#define GLINT_CALIBRATION_FORMATS_OTHER_FILES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace glint::calibration {

// What a file of such a text seems to be, and what would do in its place: "an archive of NumPy: write ...". Empty: it
// is not known.
std::string WhatItSeems(absl::string_view text);

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_FORMATS_OTHER_FILES_H_
