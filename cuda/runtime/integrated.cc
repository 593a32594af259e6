#include "cuda/runtime/integrated.h"

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"

namespace glint::cuda {
namespace {

const std::string& Switch() {
  static const std::string value = [] {
    const char* const set = std::getenv(kIntegratedVariable);
    return std::string(set == nullptr ? "" : set);
  }();
  return value;
}

}  // namespace

absl::Status CheckIntegratedSwitch() {
  if (Switch().empty() || Switch() == "0" || Switch() == "1") return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(kIntegratedVariable, ": '", Switch(), "' is neither 0 nor 1"));
}

bool TreatsDevicesAsIntegrated() { return Switch() == "1"; }

}  // namespace glint::cuda
