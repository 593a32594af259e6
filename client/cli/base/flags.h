// Options of a command line, GNU style: --name VALUE, --name=VALUE, --name and --no-name, -x; "--" ends them. Options
// and operands may be mixed. Holds pointers to the variables that it sets; not thread-safe.
#ifndef GLINT_CLIENT_CLI_BASE_FLAGS_H_
#define GLINT_CLIENT_CLI_BASE_FLAGS_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace glint::cli {

class Flags {
 public:
  using Setter = std::function<absl::Status(absl::string_view value)>;

  // A heading in the help text, above the options that follow.
  void Section(absl::string_view title);

  // Integers and floats must be finite and parse as a whole; ranges are checked where the value is used.
  void Int(absl::string_view name, absl::string_view placeholder, absl::string_view help, std::optional<int>* value);
  void Float(absl::string_view name, absl::string_view placeholder, absl::string_view help,
             std::optional<float>* value);
  void Double(absl::string_view name, absl::string_view placeholder, absl::string_view help,
              std::optional<double>* value);
  void String(absl::string_view name, absl::string_view placeholder, absl::string_view help, std::string* value);
  // Whatever `set` makes of the text; its error is about the text alone.
  void Parsed(absl::string_view name, absl::string_view placeholder, absl::string_view help, Setter set) {
    Add(name, placeholder, help, std::move(set));
  }
  void Bool(absl::string_view name, absl::string_view help, std::function<void(bool)> set);
  void Bool(absl::string_view name, absl::string_view help, bool* value) {
    Bool(name, help, [value](bool on) { *value = on; });
  }

  template <typename Enum>
  void Choice(absl::string_view name, std::vector<std::pair<std::string, Enum>> choices, absl::string_view help,
              Enum* value) {
    std::string names;
    for (const auto& choice : choices) absl::StrAppend(&names, names.empty() ? "" : "|", choice.first);
    Add(name, names, help, [choices = std::move(choices), names, value](absl::string_view text) {
      for (const auto& choice : choices) {
        if (choice.first == text) {
          *value = choice.second;
          return absl::OkStatus();
        }
      }
      return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not one of ", names));
    });
  }

  // The operands, or INVALID_ARGUMENT naming the option. Stops with help_wanted() at --help or -h.
  absl::StatusOr<std::vector<std::string>> Parse(const std::vector<std::string>& arguments);
  bool help_wanted() const { return help_wanted_; }

  // All options with their texts, wrapped to 80 columns.
  std::string Help() const;

 private:
  struct Flag {
    std::string name;
    std::string placeholder;  // empty: takes no value
    std::string help;
    Setter set;                          // of options with a value
    std::function<void(bool)> set_bool;  // of the others
    std::string section;                 // heading to print first
  };

  void Add(absl::string_view name, absl::string_view placeholder, absl::string_view help, Setter set);
  const Flag* Find(absl::string_view name) const;
  absl::Status Unknown(absl::string_view option) const;

  std::vector<Flag> flags_;
  std::string section_;
  bool help_wanted_ = false;
};

// Whether an option's value, if it was given, is in a range. INVALID_ARGUMENT names the option, as it is written.
template <typename T>
absl::Status CheckOption(absl::string_view name, const std::optional<T>& value, T low, T high) {
  if (!value.has_value() || (*value >= low && *value <= high)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("option '--", name, "': ", *value, " is not in ", low, "..", high));
}
// --max-frames
inline absl::Status CheckMaxFrames(const std::optional<int>& value) {
  if (!value.has_value() || *value >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("option '--max-frames': ", *value, " is not above 0"));
}
// --in-flight
inline absl::Status CheckInFlight(const std::optional<int>& value) { return CheckOption("in-flight", value, 1, 4096); }

// Paragraph `text` with every line indented, at most 80 columns; '\n' starts a new line.
std::string Wrap(absl::string_view text, int indent);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_BASE_FLAGS_H_
