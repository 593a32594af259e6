// The parts of data sets' folders that layouts have in common.
#ifndef GLINT_CLIENT_CLI_SOURCE_DATASET_PARTS_H_
#define GLINT_CLIENT_CLI_SOURCE_DATASET_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/source/dataset.h"
#include "client/cli/source/dataset_lists.h"

namespace glint::cli {

bool IsFolder(const std::string& path);
bool IsFile(const std::string& path);
// "folder/name"
std::string Inside(const std::string& folder, const std::string& name);
// The folder that a folder lies in, links resolved; and the folder's own name.
std::string ParentOf(const std::string& folder);
std::string NameOf(const std::string& folder);

// The list in the file `list`, or, if that is not there, the pictures of `pictures`, whose names are times. Files that
// are listed and not there are left out; `notes` says so. `folder`: what names of the list begin in. Errors of
// ParseFileList(); NOT_FOUND: neither is there, or none of the files.
absl::StatusOr<std::vector<TimedFile>> ReadFileList(const std::string& list, const std::string& folder,
                                                    const std::string& pictures, ListTime unit,
                                                    std::vector<std::string>* notes);

// Sets the pairs of two lists by Associate(), and says in notes what has no partner. INVALID_ARGUMENT: none has one.
absl::Status SetPairs(const std::vector<TimedFile>& left, const std::vector<TimedFile>& right, int64_t tolerance_ns,
                      DataSet* set);

// The pictures of a folder by the numbers that their names are. NOT_FOUND; INVALID_ARGUMENT: a name is none, or two are
// the same.
absl::StatusOr<std::map<int64_t, std::string>> ReadFrames(const std::string& folder);
// Sets the pairs of the same numbers. `times`: line n is of number n; empty: not known. `times_path`: where they are
// from. INVALID_ARGUMENT: no number is in both, `times` ends before.
absl::Status SetFramePairs(const std::map<int64_t, std::string>& left, const std::map<int64_t, std::string>& right,
                           const std::vector<int64_t>& times, const std::string& times_path, DataSet* set);

// Nothing but a folder that looks like the layout, and what it lacks.
absl::Status MissingPart(const std::string& folder, const std::string& layout, const std::string& part);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_DATASET_PARTS_H_
