// What a check of glint doctor found, and how it is said: to people, as JSON, and in a file for others.
#ifndef GLINT_CLIENT_CLI_DOCTOR_FINDING_H_
#define GLINT_CLIENT_CLI_DOCTOR_FINDING_H_

#include <string>
#include <vector>

namespace glint::cli {

enum class State {
  kOk,
  kAbsent,  // this machine has no such thing, and needs none
  kNote,    // works, but not as well as it could
  kWrong,   // does not work, or will not under load
};

struct Finding {
  State state = State::kOk;
  std::string figure = {};  // what was found
  std::string words = {};   // what it means, for kNote and kWrong
  std::string remedy = {};  // the command, flag or setting that mends it
  std::string own = {};     // the user's paths and addresses that go with the words: never in a report
  std::string name = {};    // of the check
};

// The names of the findings of this state, joined by ", ".
std::string NamesOf(const std::vector<Finding>& findings, State state);

// A line for each finding, with words and remedy below it, and the verdict.
std::string Text(const std::vector<Finding>& findings);
// One object; a finding a line. `is_report`: without `own`.
std::string Json(const std::vector<Finding>& findings, bool is_report);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_DOCTOR_FINDING_H_
