#include "cpu/common/stages.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cpu/common/targets.h"
#include "cpu/pipeline.h"
#include "features/error.h"
// After the choice of targets.
#include "hwy/highway.h"

namespace glint::cpu {

// Each in the file of its stage.
void AddFastRaw(int64_t target, Stages* stages);
void AddFastSuppressed(int64_t target, Stages* stages);
void AddFastScored(int64_t target, Stages* stages);
void AddFastCells(int64_t target, Stages* stages);
void AddResize(int64_t target, Stages* stages);
void AddHarris(int64_t target, Stages* stages);
void AddDenseHarris(int64_t target, Stages* stages);
void AddDenseMaxima(int64_t target, Stages* stages);
void AddCentroid(int64_t target, Stages* stages);
void AddBlur(int64_t target, Stages* stages);
void AddDescribe(int64_t target, Stages* stages);

namespace {

constexpr char kVariable[] = "GLINT_SIMD";

// The value of GLINT_SIMD; empty if unset.
std::string ForcedTarget() {
  const char* value = std::getenv(kVariable);
  return value == nullptr ? "" : value;
}

}  // namespace

std::vector<int64_t> SimdTargets() {
  std::vector<int64_t> targets;
  // Lower bits are better targets.
  for (uint64_t rest = static_cast<uint64_t>(HWY_TARGETS & hwy::SupportedTargets()); rest != 0; rest &= rest - 1) {
    targets.push_back(static_cast<int64_t>(rest & (~rest + 1)));
  }
  return targets;
}

const char* SimdTargetName(int64_t target) { return hwy::TargetName(target); }

int64_t BestSimdTarget() {
  const std::vector<int64_t> targets = SimdTargets();
  const std::string forced = ForcedTarget();
  for (const int64_t target : targets) {
    if (forced == SimdTargetName(target)) return target;
  }
  return targets.front();
}

std::string SimdTarget() { return SimdTargetName(BestSimdTarget()); }

absl::Status ValidateSimdTarget() {
  const std::string forced = ForcedTarget();
  if (forced.empty() || forced == SimdTarget()) return absl::OkStatus();
  std::vector<std::string> names;
  for (const int64_t target : SimdTargets()) names.push_back(SimdTargetName(target));
  return NotOneOfError(kVariable, forced, absl::StrJoin(names, ", "));
}

Stages StagesFor(int64_t target) {
  Stages stages;
  for (const auto add : {&AddFastRaw, &AddFastSuppressed, &AddFastScored, &AddFastCells, &AddResize, &AddHarris,
                         &AddDenseHarris, &AddDenseMaxima, &AddCentroid, &AddBlur, &AddDescribe}) {
    add(target, &stages);
  }
  return stages;
}

}  // namespace glint::cpu
