#include "client/cli/compare/compare_table.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/output/output.h"

namespace glint::cli {
namespace {

constexpr size_t kColumns = 9;
constexpr size_t kWords = 3;  // the first columns hold text, the others numbers
constexpr std::array<const char*, kColumns> kNames = {
    "image", "view", "detector", "keypoints", "overlap", "repeatability", "matching_score", "precision", "us"};

using Cells = std::array<std::string, kColumns>;

Cells CellsOf(const CompareRow& row) {
  const auto share = [](std::optional<double> v) { return v.has_value() ? absl::StrFormat("%.3f", *v) : ""; };
  Cells cells = {row.image, row.view, row.detector, absl::StrCat(row.keypoints), share(row.overlap)};
  if (row.agreement.has_value()) {
    cells[5] = share(row.agreement->repeatability());
    if (row.has_descriptors) {
      cells[6] = share(row.agreement->matching_score());
      cells[7] = share(row.agreement->precision());
    }
  }
  if (row.microseconds.has_value()) cells[8] = absl::StrFormat("%.1f", *row.microseconds);
  return cells;
}

std::string Text(const std::vector<Cells>& rows) {
  std::array<size_t, kColumns> widths;
  for (size_t c = 0; c < kColumns; ++c) {
    widths[c] = std::string(kNames[c]).size();
    for (const Cells& row : rows) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string out;
  const auto add = [&](size_t c, absl::string_view cell) {
    const std::string space(widths[c] - cell.size(), ' ');
    // Words to the left, numbers to the right.
    absl::StrAppend(&out, c == 0 ? "" : "  ", c < kWords ? "" : space, cell, c < kWords ? space : "",
                    c + 1 == kColumns ? "\n" : "");
  };
  for (size_t c = 0; c < kColumns; ++c) add(c, kNames[c]);
  for (const Cells& row : rows) {
    for (size_t c = 0; c < kColumns; ++c) add(c, row[c]);
  }
  return out;
}

std::string Csv(const std::vector<Cells>& rows) {
  std::string out;
  for (size_t c = 0; c < kColumns; ++c) absl::StrAppend(&out, c == 0 ? "" : ",", kNames[c]);
  out += '\n';
  for (const Cells& row : rows) {
    for (size_t c = 0; c < kColumns; ++c) {
      if (c > 0) out += ',';
      AppendCsvField(row[c], &out);
    }
    out += '\n';
  }
  return out;
}

// One object a line.
std::string Json(const std::vector<Cells>& rows) {
  std::string out;
  for (const Cells& row : rows) {
    for (size_t c = 0; c < kColumns; ++c) {
      absl::StrAppend(&out, c == 0 ? "{" : ",", "\"", kNames[c], "\":");
      if (c < kWords) {
        AppendJsonString(row[c], &out);
      } else {
        absl::StrAppend(&out, row[c].empty() ? "null" : row[c]);
      }
    }
    out += "}\n";
  }
  return out;
}

}  // namespace

std::string CompareTable::Print(TableFormat format) const {
  std::vector<Cells> rows;
  for (const CompareRow& row : rows_) rows.push_back(CellsOf(row));
  switch (format) {
    case TableFormat::kCsv:
      return Csv(rows);
    case TableFormat::kJson:
      return Json(rows);
    case TableFormat::kText:
      break;
  }
  return Text(rows);
}

}  // namespace glint::cli
