// Features and matches in the text form that COLMAP 3.8 imports: a folder with a file for each picture
// (colmap feature_importer --import_path DIR) and the list of raw matches (colmap matches_importer --match_list_path
// DIR/matches.txt --match_type raw).
#ifndef GLINT_CLIENT_CLI_MATCH_COLMAP_H_
#define GLINT_CLIENT_CLI_MATCH_COLMAP_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/output/output.h"
#include "client/matching.h"

namespace glint::cli {

// COLMAP's pictures have their corner at 0, 0, so that the middle of the first pixel is at 0.5, 0.5. It takes
// descriptors of 128 numbers: those of binary ones are their bytes, then zeros; imported matches do not need them.
std::string ColmapFeatures(const Features& features);
// One pair of the list, with its empty line; the first match of each query.
std::string ColmapMatches(const std::string& first, const std::string& second, const MatchResult& matches);

// Thread-compatible.
class ColmapWriter {
 public:
  // Makes the folder. DATA_LOSS: it cannot be written.
  static absl::StatusOr<ColmapWriter> Open(const std::string& folder);
  // `first` and `second`: names of files. INVALID_ARGUMENT: two pictures from different places have one name, or
  // a name has a space.
  absl::Status Add(const std::string& first, const std::string& second, const client::MatchFound& found);
  absl::Status Close() { return matches_->Close(); }

 private:
  explicit ColmapWriter(std::string folder) : folder_(std::move(folder)) {}
  absl::Status AddPicture(const std::string& path, const Features& features, std::string* name);

  std::string folder_;
  std::optional<OutputFile> matches_;
  std::map<std::string, std::string> paths_;  // of the names that were written
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_MATCH_COLMAP_H_
