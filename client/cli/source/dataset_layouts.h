// The layouts that dataset.h knows: a row and a reader for each.
#ifndef GLINT_CLIENT_CLI_SOURCE_DATASET_LAYOUTS_H_
#define GLINT_CLIENT_CLI_SOURCE_DATASET_LAYOUTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/source/dataset.h"

namespace glint::cli {

struct DataSetLayout {
  const char* name;
  // What in the folder says so, such as "mav0": of a set that lacks parts, too. Empty: it is none.
  std::string (*sign)(const std::string& folder);
  absl::StatusOr<DataSet> (*read)(const std::string& folder);  // of a folder with a sign; errors of FindDataSet()
};

extern const DataSetLayout kEurocLayout;  // with TUM-VI
extern const DataSetLayout kTumRgbdLayout;
extern const DataSetLayout kKittiOdometryLayout;
extern const DataSetLayout kKittiRawLayout;

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_DATASET_LAYOUTS_H_
