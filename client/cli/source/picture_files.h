// Files of pictures by their names: their order, the times that names are, and which ones of several folders belong
// together.
#ifndef GLINT_CLIENT_CLI_SOURCE_PICTURE_FILES_H_
#define GLINT_CLIENT_CLI_SOURCE_PICTURE_FILES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace glint::cli {

// The order of names in which numbers go by their value: img2 before img10.
bool NaturallyBefore(absl::string_view a, absl::string_view b);

// The pictures of a folder (by the ends of their names; hidden files are none), the files that match a pattern, or the
// one picture: in natural order, or by their times (TimesOf()). Empty: `name` is none of these. A link in a folder that
// leads nowhere is listed if its name is a picture's. NOT_FOUND: a folder or a pattern without a picture, or one of
// which not all can be listed.
absl::StatusOr<std::vector<std::string>> PictureFiles(const std::string& name);

// What PictureFiles() leaves out of a folder, for people: the number of pictures, the first other names, and how many
// more there are. Empty: nothing but hidden files, or no folder.
std::string OtherFiles(const std::string& name);

// "a, b, c and 7 more", of which `most` are said.
std::string SomeOf(const std::vector<std::string>& names, size_t most);

// The times of capture, if the names of all files, without folder and extension, are such: decimals with a point are
// seconds; without one, numbers of 13, 16 and 19 digits are milli-, micro- and nanoseconds since 1970. Empty: they are
// not.
std::vector<absl::Duration> TimesOf(const std::vector<std::string>& files);

// How far pictures that belong together may be apart in time, as one of their sources says, whose times ascend: 20 ms,
// and half the usual time between two pictures.
absl::Duration ToleranceOf(const std::vector<absl::Duration>& times);

// Pictures of several sources that belong together.
struct AlignedFiles {
  std::vector<std::vector<std::string>> files;  // of each source as many
  std::vector<int64_t> number;                  // of two sources: how many names come before each, alone or not
  std::vector<std::string> alone;               // those without a partner, source by source
};

// By their times (TimesOf(), if all sources have them): the nearest one within 20 ms and half the time between two
// pictures. Else by their names without folder and extension, in which numbers count by their value; where no name is
// in all sources, without what all names of a source begin and end with ("left_0001" and "right_0001"). Sources of one
// file each belong together. INVALID_ARGUMENT: nothing belongs together, or two files of a source have one name.
absl::StatusOr<AlignedFiles> Align(std::vector<std::vector<std::string>> sources);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_PICTURE_FILES_H_
