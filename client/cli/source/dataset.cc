#include "client/cli/source/dataset.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/source/dataset_layouts.h"
#include "client/cli/source/dataset_parts.h"
#include "client/cli/source/source.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr const DataSetLayout* kLayouts[] = {&kEurocLayout, &kTumRgbdLayout, &kKittiOdometryLayout, &kKittiRawLayout};

}  // namespace

absl::StatusOr<std::optional<DataSet>> FindDataSet(const std::string& folder) {
  if (!IsFolder(folder)) return std::nullopt;
  const DataSetLayout* found = nullptr;
  std::vector<std::string> signs;
  for (const DataSetLayout* layout : kLayouts) {
    const std::string sign = layout->sign(folder);
    if (sign.empty()) continue;
    found = layout;
    signs.push_back(absl::StrCat(layout->name, " (", sign, ")"));
  }
  if (signs.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": is ", absl::StrJoin(signs, " and "),
                                                   "; --calibration PATH LEFT RIGHT says which pictures are meant"));
  }
  if (found == nullptr) return std::nullopt;
  GLINT_ASSIGN_OR_RETURN(DataSet set, found->read(folder));
  return set;
}

std::string TextOf(const DataSet& set, std::optional<double> imu_hz) {
  std::string text = absl::StrCat(set.layout, ": ", set.pairs.size());
  absl::StrAppend(&text,
                  set.depth               ? " images of "
                  : set.pairs.size() == 1 ? " pair of "
                                          : " pairs of ",
                  set.left, set.depth ? " with depths of " : " and ", set.right);
  if (!set.calibration.path.empty()) absl::StrAppend(&text, ", calibration of ", set.calibration.name);
  if (!set.imu.path.empty()) {
    absl::StrAppend(&text, ", ", imu_hz.has_value() ? absl::StrFormat("%.0f Hz ", *imu_hz) : "", "IMU of ",
                    set.imu.name);
  }
  if (!set.truth.path.empty()) absl::StrAppend(&text, ", truth of ", set.truth.name);
  for (const std::string& note : set.notes) absl::StrAppend(&text, "; ", note);
  return text;
}

PairSource OpenDataSet(const DataSet& set, SendFormat format) {
  std::vector<std::string> left, right;
  std::vector<absl::Duration> times;
  std::vector<int64_t> numbers;
  for (const DataSetPair& pair : set.pairs) {
    left.push_back(pair.left);
    right.push_back(pair.right);
    if (pair.time.has_value()) times.push_back(*pair.time);
    numbers.push_back(pair.number);
  }
  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(OpenFiles(std::move(left), times, format));
  sources.push_back(OpenFiles(std::move(right), times, format));
  return PairSource::Of(std::move(sources), std::move(numbers));
}

}  // namespace glint::cli
