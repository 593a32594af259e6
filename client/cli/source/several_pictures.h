// Files with more than one picture in them, of which decoders give the first alone.
#ifndef GLINT_CLIENT_CLI_SOURCE_SEVERAL_PICTURES_H_
#define GLINT_CLIENT_CLI_SOURCE_SEVERAL_PICTURES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace glint::cli {

// What a file has, for people: "5 pages (TIFF)", "12 frames (animated PNG)". Empty: one picture, or no file of these
// formats: TIFF and BigTIFF, but for smaller copies and masks of a page; animated PNG, WebP and GIF; sequences of AVIF;
// binary PBM, PGM and PPM files one after the other; views of a multi-picture JPEG (CIPA DC-007), such as those of a
// stereo camera, but not its previews. Of a damaged file, what comes before the damage.
std::string SeveralPictures(absl::string_view file);

// INVALID_ARGUMENT, beginning with `name`: the file has several pictures.
absl::Status CheckOnePicture(const std::string& name, absl::string_view file);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_SEVERAL_PICTURES_H_
