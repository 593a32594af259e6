#include "client/cli/base/flags.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace glint::cli {
namespace {

constexpr int kColumns = 80;
constexpr int kHelpIndent = 10;

absl::Status NotA(absl::string_view what, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not ", what));
}

// Levenshtein distance: letters to insert, delete or replace.
int Distance(absl::string_view a, absl::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i) + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const int replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string Wrap(absl::string_view text, int indent) {
  const std::string margin(static_cast<size_t>(indent), ' ');
  std::string out;
  for (absl::string_view paragraph : absl::StrSplit(text, '\n')) {
    size_t column = 0;
    for (absl::string_view word : absl::StrSplit(paragraph, ' ', absl::SkipEmpty())) {
      if (column != 0 && column + 1 + word.size() > kColumns) {
        out += '\n';
        column = 0;
      }
      absl::StrAppend(&out, column == 0 ? margin : " ", word);
      column += (column == 0 ? margin.size() : 1) + word.size();
    }
    out += '\n';
  }
  return out;
}

void Flags::Section(absl::string_view title) { section_ = std::string(title); }

void Flags::Add(absl::string_view name, absl::string_view placeholder, absl::string_view help, Setter set) {
  Flag flag;
  flag.name = std::string(name);
  flag.placeholder = std::string(placeholder);
  flag.help = std::string(help);
  flag.set = std::move(set);
  flag.section = std::exchange(section_, "");
  flags_.push_back(std::move(flag));
}

void Flags::Int(absl::string_view name, absl::string_view placeholder, absl::string_view help,
                std::optional<int>* value) {
  Add(name, placeholder, help, [value](absl::string_view text) {
    int number = 0;
    if (!absl::SimpleAtoi(text, &number)) return NotA("an integer", text);
    *value = number;
    return absl::OkStatus();
  });
}

void Flags::Float(absl::string_view name, absl::string_view placeholder, absl::string_view help,
                  std::optional<float>* value) {
  Add(name, placeholder, help, [value](absl::string_view text) {
    float number = 0;
    if (!absl::SimpleAtof(text, &number) || !std::isfinite(number)) return NotA("a number", text);
    *value = number;
    return absl::OkStatus();
  });
}

void Flags::Double(absl::string_view name, absl::string_view placeholder, absl::string_view help,
                   std::optional<double>* value) {
  Add(name, placeholder, help, [value](absl::string_view text) {
    double number = 0;
    if (!absl::SimpleAtod(text, &number) || !std::isfinite(number)) return NotA("a number", text);
    *value = number;
    return absl::OkStatus();
  });
}

void Flags::String(absl::string_view name, absl::string_view placeholder, absl::string_view help, std::string* value) {
  Add(name, placeholder, help, [value](absl::string_view text) {
    *value = std::string(text);
    return absl::OkStatus();
  });
}

void Flags::Bool(absl::string_view name, absl::string_view help, std::function<void(bool)> set) {
  Add(name, "", help, nullptr);
  flags_.back().set_bool = std::move(set);
}

const Flags::Flag* Flags::Find(absl::string_view name) const {
  const auto at = std::find_if(flags_.begin(), flags_.end(), [name](const Flag& flag) { return flag.name == name; });
  return at == flags_.end() ? nullptr : &*at;
}

absl::Status Flags::Unknown(absl::string_view option) const {
  const absl::string_view name = absl::StripPrefix(option, "--");
  const Flag* nearest = nullptr;
  int distance = 3;  // more different letters than two are another word
  for (const Flag& flag : flags_) {
    if (const int d = Distance(name, flag.name); d < distance) {
      nearest = &flag;
      distance = d;
    }
  }
  std::string message = absl::StrCat("unknown option '", option, "'");
  if (nearest != nullptr) absl::StrAppend(&message, "; did you mean '--", nearest->name, "'?");
  return absl::InvalidArgumentError(message);
}

absl::StatusOr<std::vector<std::string>> Flags::Parse(const std::vector<std::string>& arguments) {
  std::vector<std::string> operands;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      operands.insert(operands.end(), arguments.begin() + static_cast<ptrdiff_t>(i) + 1, arguments.end());
      break;
    }
    if (argument.size() < 2 || argument[0] != '-') {
      operands.push_back(argument);
      continue;
    }
    if (argument == "--help" || argument == "-h") {
      help_wanted_ = true;
      return operands;
    }
    if (argument.compare(0, 2, "--") != 0) return Unknown(argument);

    const size_t equals = argument.find('=');
    const std::string option = argument.substr(0, equals);
    const std::string name = option.substr(2);
    if (const Flag* flag = Find(name); flag != nullptr && !flag->set_bool) {
      if (equals == std::string::npos && i + 1 == arguments.size()) {
        return absl::InvalidArgumentError(absl::StrCat("option '", option, "' needs a value: ", flag->placeholder));
      }
      const std::string value = equals == std::string::npos ? arguments[++i] : argument.substr(equals + 1);
      if (absl::Status status = flag->set(value); !status.ok()) {
        return absl::InvalidArgumentError(absl::StrCat("option '", option, "': ", status.message()));
      }
      continue;
    }
    const bool negated = name.compare(0, 3, "no-") == 0;
    const Flag* flag = Find(negated ? name.substr(3) : name);
    if (flag == nullptr || !flag->set_bool) return Unknown(option);
    if (equals != std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat("option '", option, "' takes no value"));
    }
    flag->set_bool(!negated);
  }
  return operands;
}

std::string Flags::Help() const {
  std::string out;
  for (const Flag& flag : flags_) {
    if (!flag.section.empty()) absl::StrAppend(&out, "\n", flag.section, "\n");
    absl::StrAppend(&out, "  --", flag.set_bool ? "[no-]" : "", flag.name, flag.placeholder.empty() ? "" : " ",
                    flag.placeholder, "\n", Wrap(flag.help, kHelpIndent));
  }
  return out;
}

}  // namespace glint::cli
