#include "client/cli/source/dataset.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/source/dataset_layouts.h"
#include "client/cli/source/dataset_parts.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr const DataSetLayout* kLayouts[] = {&kEurocLayout, &kTumRgbdLayout, &kKittiOdometryLayout, &kKittiRawLayout};

// Files with their times.
class ListedFiles : public Source {
 public:
  ListedFiles(std::vector<std::pair<std::string, std::optional<absl::Duration>>> files, SendFormat format)
      : files_(std::move(files)), format_(format) {}

  absl::Status Next(Picture* picture) override {
    if (next_ == files_.size()) return absl::OutOfRangeError("no more files");
    const auto& [path, time] = files_[next_++];
    picture->time = time;
    return ReadPicture(path, format_, picture);
  }
  absl::Status Rewind() override {
    next_ = 0;
    return absl::OkStatus();
  }
  int64_t count() const override { return static_cast<int64_t>(files_.size()); }
  double rate() const override { return kDefaultRate; }

 private:
  const std::vector<std::pair<std::string, std::optional<absl::Duration>>> files_;
  const SendFormat format_;
  size_t next_ = 0;
};

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
  std::vector<std::pair<std::string, std::optional<absl::Duration>>> left, right;
  std::vector<int64_t> numbers;
  numbers.reserve(set.pairs.size());
  for (const DataSetPair& pair : set.pairs) {
    left.emplace_back(pair.left, pair.time);
    right.emplace_back(pair.right, pair.time);
    numbers.push_back(pair.number);
  }
  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(std::make_unique<ListedFiles>(std::move(left), format));
  sources.push_back(std::make_unique<ListedFiles>(std::move(right), format));
  return PairSource::Of(std::move(sources), std::move(numbers));
}

}  // namespace glint::cli
