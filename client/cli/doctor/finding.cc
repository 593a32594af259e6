#include "client/cli/doctor/finding.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/output/output.h"
#include "server/config/options.h"

namespace glint::cli {
namespace {

const char* WordOf(State state) {
  switch (state) {
    case State::kOk:
      return "ok";
    case State::kAbsent:
      return "absent";
    case State::kNote:
      return "note";
    case State::kWrong:
      break;
  }
  return "wrong";
}

std::string WordsOf(const Finding& finding) {
  return finding.own.empty() ? finding.words : absl::StrCat(finding.words, ": ", finding.own);
}

}  // namespace

std::string NamesOf(const std::vector<Finding>& findings, State state) {
  std::string names;
  for (const Finding& finding : findings) {
    if (finding.state == state) absl::StrAppend(&names, names.empty() ? "" : ", ", finding.name);
  }
  return names;
}

std::string Text(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& finding : findings) {
    absl::StrAppendFormat(&out, "%-7s %-20s %s\n", WordOf(finding.state), finding.name, finding.figure);
    if (!finding.words.empty()) absl::StrAppendFormat(&out, "%28s %s\n", "", WordsOf(finding));
    if (!finding.remedy.empty()) absl::StrAppendFormat(&out, "%28s -> %s\n", "", finding.remedy);
  }
  const std::string wrong = NamesOf(findings, State::kWrong);
  return absl::StrCat(out, "\n", wrong.empty() ? "All is well." : absl::StrCat("Wrong: ", wrong), "\n");
}

std::string Json(const std::vector<Finding>& findings, bool is_report) {
  std::string out = "{\"version\":";
  AppendJsonString(ServerVersion(), &out);
  absl::StrAppend(&out, ",\"well\":", NamesOf(findings, State::kWrong).empty() ? "true" : "false", ",\"checks\":[");
  const char* separator = "\n";
  for (const Finding& finding : findings) {
    absl::StrAppend(&out, separator, "{\"name\":");
    AppendJsonString(finding.name, &out);
    absl::StrAppend(&out, ",\"state\":\"", WordOf(finding.state), "\",\"figure\":");
    AppendJsonString(finding.figure, &out);
    out += ",\"words\":";
    AppendJsonString(is_report ? finding.words : WordsOf(finding), &out);
    out += ",\"remedy\":";
    AppendJsonString(finding.remedy, &out);
    out += '}';
    separator = ",\n";
  }
  return out + "\n]}\n";
}

}  // namespace glint::cli
