#include "client/cli/source/calibration.h"

#include <map>
#include <opencv2/core.hpp>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/source/text_file.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr size_t kProjectionValues = 12;
using Projections = std::map<std::string, std::vector<double>>;

// Lines without a name are called as their number says: P0, P1, ...
absl::StatusOr<Projections> ReadLines(const std::string& path) {
  GLINT_ASSIGN_OR_RETURN(const auto text, ReadText(path));
  Projections found;
  int number = 0, unnamed = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    std::string name;
    if (const size_t colon = line.find(':'); colon != absl::string_view::npos) {
      name = std::string(absl::StripAsciiWhitespace(line.substr(0, colon)));
      line.remove_prefix(colon + 1);
    }
    std::vector<double> values;
    bool good = true;
    for (const absl::string_view word : absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty())) {
      values.push_back(0);
      good = good && absl::SimpleAtod(word, &values.back());
    }
    if (values.empty() && name.empty()) continue;
    if (name.empty()) name = absl::StrCat("P", unnamed++);
    if (!absl::StartsWith(name, "P")) continue;  // KITTI's others: transforms to the laser scanner, times
    if (!good || values.size() != kProjectionValues) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": not the 12 numbers of a projection"));
    }
    found[name] = std::move(values);
  }
  return found;
}

absl::StatusOr<Projections> ReadStorage(const std::string& path) {
  Projections found;
  try {
    const cv::FileStorage file(path, cv::FileStorage::READ);
    if (!file.isOpened()) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
    for (const cv::FileNode& node : file.root()) {
      if (!absl::StartsWith(node.name(), "P") || !node.isMap()) continue;
      cv::Mat matrix;
      node >> matrix;
      if (matrix.rows != 3 || matrix.cols != 4 || matrix.channels() != 1) continue;
      cv::Mat values;
      matrix.reshape(1, 1).convertTo(values, CV_64F);
      found[node.name()].assign(values.begin<double>(), values.end<double>());
    }
  } catch (const cv::Exception&) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a file of cv::FileStorage"));
  }
  return found;
}

}  // namespace

absl::StatusOr<client::StereoCamera> ReadCalibration(const std::string& path, const std::string& names, bool of_one) {
  const std::string lower = absl::AsciiStrToLower(path);
  const bool is_storage =
      absl::EndsWith(lower, ".yml") || absl::EndsWith(lower, ".yaml") || absl::EndsWith(lower, ".xml");
  GLINT_ASSIGN_OR_RETURN(const auto found, is_storage ? ReadStorage(path) : ReadLines(path));
  const std::string usual = of_one ? (is_storage ? "P1" : "P0") : (is_storage ? "P1,P2" : "P0,P1");
  const std::vector<std::string> wanted = absl::StrSplit(names.empty() ? usual : names, ',');
  const size_t eyes = of_one ? 1 : 2;
  if (wanted.size() != eyes) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", names, "' is not ", of_one ? "one projection, such as P2" : "LEFT,RIGHT, such as P2,P3"));
  }
  client::StereoCamera camera;
  for (size_t eye = 0; eye < eyes; ++eye) {
    const auto projection = found.find(wanted[eye]);
    if (projection == found.end()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": has no 3x4 projection ", wanted[eye]));
    }
    (eye == 0 ? camera.left_projection : camera.right_projection) = projection->second;
  }
  return camera;
}

}  // namespace glint::cli
