// The configuration of glint-ros2: refused with a word about why, or of names and numbers that its header promises.
// Input: a byte that says what of, and a file of keys, a file of parameters, or arguments with 0 between them.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "ros2/config/config.h"
#include "ros2/config/keys.h"
#include "tests/fuzz/targets/input.h"

namespace glint::ros2 {
namespace {

struct CheckValue {
  const Key& key;

  void operator()(const std::string* text) const { FUZZ_CHECK(key.check == nullptr || key.check(*text).ok()); }
  void operator()(const int* number) const { (*this)(static_cast<double>(*number)); }
  void operator()(const double* number) const { (*this)(*number); }
  void operator()(double number) const {
    FUZZ_CHECK((number >= key.range.low && number <= key.range.high) || (key.range.or_zero && number == 0));
  }
  template <size_t kCount>
  void operator()(const std::optional<std::array<double, kCount>>* numbers) const {
    for (size_t i = 0; numbers->has_value() && i < kCount; ++i) FUZZ_CHECK(std::abs((**numbers)[i]) <= 1000);
  }
  void operator()(const bool*) const {}
  void operator()(const Transport*) const {}
  void operator()(const Rectified*) const {}
  void operator()(const std::vector<std::string>* files) const {
    for (const std::string& file : *files) FUZZ_CHECK(!file.empty());
  }
};

void Check(const absl::Status& status, Config* config) {
  if (!status.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(status) && !status.message().empty());
    return;
  }
  for (const Key& key : Keys(config)) std::visit(CheckValue{key}, key.target);
  for (const auto& [topic, ignored] : config->qos.of_topic) {
    const int depth = config->QosOf(topic, {}).depth;
    FUZZ_CHECK(depth >= 1 && depth <= 1000);
  }
  FUZZ_CHECK(!config->Topic(config->camera.left).empty() || config->camera.left.empty());
  const absl::Status checked = CheckConfig(*config);
  FUZZ_CHECK(checked.ok() || !checked.message().empty());
}

void CheckArguments(const std::string& text) {
  const std::vector<std::string> words = absl::StrSplit(text, '\0');
  auto arguments = ReadArguments(words);
  Config config;
  if (!arguments.ok()) return Check(arguments.status(), &config);
  arguments->config_path.clear();  // no files from here
  for (Arguments::Parameter& parameter : arguments->parameters) {
    if (!parameter.file.empty()) parameter = {"", "camera.left", "/left", ""};
  }
  auto loaded = LoadConfig(*arguments);
  if (!loaded.ok()) return Check(loaded.status(), &config);
  Check(absl::OkStatus(), &*loaded);
  FUZZ_CHECK(CheckConfig(*loaded).ok());
}

void Run(fuzz::Input input) {
  const uint8_t kind = input.Number<uint8_t>() % 3;
  const std::string text = fuzz::ToString(input.Rest());
  Config config;
  if (kind == 0) return CheckArguments(text);
  if (kind == 1) return Check(ApplyParameters(text, "some/file.yaml", "/robot/glint", &config), &config);
  auto read = ReadConfig(text, "some/file.yaml");
  if (!read.ok()) return Check(read.status(), &config);
  Check(absl::OkStatus(), &*read);
}

}  // namespace
}  // namespace glint::ros2

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  glint::ros2::Run(glint::fuzz::Input(data, size));
  return 0;
}
