// What glint compare prints.
#ifndef GLINT_CLIENT_CLI_COMPARE_COMPARE_TABLE_H_
#define GLINT_CLIENT_CLI_COMPARE_COMPARE_TABLE_H_

#include <optional>
#include <string>
#include <vector>

#include "client/cli/output/compare_metrics.h"

namespace glint::cli {

enum class TableFormat { kText, kCsv, kJson };

// One detector on one image, or on one image beside another view of it. Cells without a value stay empty (null).
struct CompareRow {
  std::string image;
  std::string view;  // where the other view comes from; empty for an image on its own
  std::string detector;
  size_t keypoints = 0;
  std::optional<double> overlap;       // of its keypoints, those that the other detector finds too
  std::optional<double> microseconds;  // in the lane
  std::optional<Agreement> agreement;
  bool has_descriptors = false;
};

class CompareTable {
 public:
  void Add(CompareRow row) { rows_.push_back(std::move(row)); }
  // Columns: image, view, detector, keypoints, overlap, repeatability, matching_score, precision, us. Shares are 0..1.
  std::string Print(TableFormat format) const;

 private:
  std::vector<CompareRow> rows_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_COMPARE_COMPARE_TABLE_H_
