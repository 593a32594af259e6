// In place of slam_localization.cc, in builds without slam/.
#include "server/operations/localize/localization.h"

namespace glint {

absl::Status Localization::Available() {
  return absl::UnimplementedError("localization: this server was built without SLAM (GLINT_SLAM, which needs Ceres)");
}

absl::StatusOr<std::unique_ptr<Localization>> Localization::Create(const LocalizationOptions&) { return Available(); }

}  // namespace glint
