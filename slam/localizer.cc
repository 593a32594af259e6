#include "slam/localizer.h"

#include <utility>

#include "features/error.h"

namespace glint::slam {

absl::Status ValidateLocalizerOptions(const LocalizerOptions& o) {
  const auto check = [](const char* field, int64_t value, int64_t low, int64_t high) {
    return value >= low && value <= high ? absl::OkStatus() : OutOfRangeError(field, value, low, high);
  };
  absl::Status status = ValidateOdometryOptions(o.odometry);
  if (status.ok()) status = check("loop_delay", o.loop_delay, 1, 100);
  if (status.ok()) status = check("min_place_inliers", o.min_place_inliers, 10, 1000);
  if (status.ok()) status = check("max_keyframes", o.max_keyframes, 10, 1000000);
  if (status.ok()) status = check("max_points", o.max_points, 1000, 100000000);
  return status;
}

struct Localizer::State {
  State(const StereoCamera& camera, const LocalizerOptions& options, FrontEnd* front_end)
      : odometry(camera, options.odometry, front_end) {}
  Odometry odometry;
};

Localizer::Localizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Localizer::~Localizer() = default;

absl::StatusOr<std::unique_ptr<Localizer>> Localizer::Create(const StereoCamera& camera,
                                                             const LocalizerOptions& options, FrontEnd* front_end) {
  if (auto status = ValidateStereoCamera(camera); !status.ok()) return status;
  if (auto status = ValidateLocalizerOptions(options); !status.ok()) return status;
  return std::unique_ptr<Localizer>(new Localizer(std::make_unique<State>(camera, options, front_end)));
}

absl::Status Localizer::Track(const ImageView& left, const ImageView& right, double seconds, LocalizerResult* result) {
  *result = {};
  return state_->odometry.Track(left, right, seconds, result);
}

absl::Status Localizer::Relocalize(const ImageView&, const ImageView&, LocalizerResult*) {
  return absl::FailedPreconditionError("map: there is none yet");
}

absl::Status Localizer::SaveMap(const std::string&) const { return absl::UnimplementedError("map files"); }
absl::Status Localizer::LoadMap(const std::string&) { return absl::UnimplementedError("map files"); }

void Localizer::VisitMap(const std::function<bool(const MapKeyframeView&)>&,
                         const std::function<bool(const MapPointView&)>&) const {}

size_t Localizer::MemoryBytes() const { return sizeof(*this); }

}  // namespace glint::slam
