#include "tests/scene/imu_path.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "tests/scene/random.h"

namespace glint::scene {
namespace {

constexpr double kDegreesPerRadian = 57.29577951308232;
constexpr double kStandardGravity = 9.81;

// Noise of four three-vectors, each of a seed of its own.
class ImuNoise {
 public:
  explicit ImuNoise(uint32_t seed) : seed_(seed) {}
  Vec3 Next(uint32_t which, uint32_t index, double deviation) const {
    const uint32_t base = Hash(seed_ ^ Hash(which + 1));
    return {deviation * Normal(3 * index, base), deviation * Normal(3 * index + 1, base),
            deviation * Normal(3 * index + 2, base)};
  }

 private:
  uint32_t seed_;
};

Vec3 Clamp(Vec3 v, double range) {
  if (range <= 0) return v;
  return {std::clamp(v.x, -range, range), std::clamp(v.y, -range, range), std::clamp(v.z, -range, range)};
}

Vec3 Exchanged(Vec3 v) { return {v.y, v.x, v.z}; }

// Without noise and biases.
void Measure(const MovingPose& motion, const ImuOptions& options, ImuRow* row) {
  const Vec3 arm = options.camera_from_imu.position;  // of the sensor, in the camera's axes
  const Vec3 w = motion.angular_velocity;
  const Vec3 by_turning = Cross(motion.angular_acceleration, arm) + Cross(w, Cross(w, arm));
  const Vec3 in_camera = Transpose(motion.pose.rotation) * (motion.acceleration - options.gravity) + by_turning;
  const Mat3 imu_from_camera = Transpose(options.camera_from_imu.rotation);
  row->angular_velocity = imu_from_camera * w;
  row->acceleration = imu_from_camera * in_camera;
}

// False: there is no reading.
bool Break(ImuFault fault, const std::vector<ImuRow>& rows, ImuRow* row) {
  switch (fault) {
    case ImuFault::kNone:
      break;
    case ImuFault::kDegrees:
      row->angular_velocity = kDegreesPerRadian * row->angular_velocity;
      break;
    case ImuFault::kGravityUnits:
      row->acceleration = 1 / kStandardGravity * row->acceleration;
      break;
    case ImuFault::kAxes:
      row->angular_velocity = Exchanged(row->angular_velocity);
      row->acceleration = Exchanged(row->acceleration);
      break;
    case ImuFault::kFrozen:
      if (!rows.empty()) {
        row->angular_velocity = rows.back().angular_velocity;
        row->acceleration = rows.back().acceleration;
      }
      break;
    case ImuFault::kSilent:
      return false;
  }
  return true;
}

}  // namespace

std::vector<ImuRow> MeasureImu(const SmoothPath& path, const ImuOptions& options) {
  const ImuNoise noise(options.seed);
  const double white = options.noise * std::sqrt(options.rate), walk = options.noise / std::sqrt(options.rate);
  const auto count =
      static_cast<uint32_t>((path.last_seconds() - path.first_seconds()) * options.rate * (1 + 1e-12)) + 1;
  Vec3 gyroscope_bias = options.gyroscope_bias, accelerometer_bias = options.accelerometer_bias;
  std::vector<ImuRow> rows;
  for (uint32_t i = 0; i < count; ++i) {
    ImuRow row;
    row.seconds = path.first_seconds() + i / options.rate;
    row.time_ns = std::llround(1e9 * (row.seconds + options.offset));
    Measure(path.At(row.seconds), options, &row);
    row.gyroscope_bias = gyroscope_bias;
    row.accelerometer_bias = accelerometer_bias;
    row.angular_velocity =
        row.angular_velocity + gyroscope_bias + noise.Next(0, i, white * options.gyroscope_noise_density);
    row.acceleration =
        row.acceleration + accelerometer_bias + noise.Next(1, i, white * options.accelerometer_noise_density);
    gyroscope_bias = gyroscope_bias + noise.Next(2, i, walk * options.gyroscope_random_walk);
    accelerometer_bias = accelerometer_bias + noise.Next(3, i, walk * options.accelerometer_random_walk);
    row.angular_velocity = Clamp(row.angular_velocity, options.gyroscope_range);
    row.acceleration = Clamp(row.acceleration, options.accelerometer_range);
    const bool is_faulty = row.seconds >= options.fault_from && row.seconds < options.fault_to;
    if (is_faulty && !Break(options.fault, rows, &row)) continue;
    if (row.time_ns >= 0) rows.push_back(row);
  }
  return rows;
}

std::string ImuCsv(const std::vector<ImuRow>& rows) {
  std::string text =
      "#timestamp [ns],w_RS_S_x [rad s^-1],w_RS_S_y [rad s^-1],w_RS_S_z [rad s^-1],a_RS_S_x [m s^-2],"
      "a_RS_S_y [m s^-2],a_RS_S_z [m s^-2]\n";
  for (const ImuRow& row : rows) {
    const Vec3 w = row.angular_velocity, a = row.acceleration;
    absl::StrAppendFormat(&text, "%d,%.12g,%.12g,%.12g,%.12g,%.12g,%.12g\n", row.time_ns, w.x, w.y, w.z, a.x, a.y, a.z);
  }
  return text;
}

}  // namespace glint::scene
