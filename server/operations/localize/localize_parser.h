// The requests of glint.v1.Localization, as frame_parser.h reads those of FeatureDetection.
#ifndef GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_PARSER_H_
#define GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/wire/frame_parser.h"

namespace glint {

// Readings of each sensor that a message has at most.
inline constexpr size_t kMaxImuReadings = 4096;

// The numbers in the arrays of a glint.v1.ImuReadings.
struct WireImuReadings {
  size_t gyroscope_times = 0, angular_velocities = 0, accelerometer_times = 0, accelerations = 0;
};

// A glint.v1.ImuReadings.
struct ImuValues {
  std::vector<int64_t> gyroscope_time_ns, accelerometer_time_ns;
  std::vector<double> angular_velocity, acceleration;

  // Keeps the memory.
  void Clear();
};

// glint.v1.LocalizeStreamRequest; of a request about the map, whichever of the three it is, its frame_id only, as an
// edit. So are readings of an inertial sensor, whose values go elsewhere.
struct WireLocalizeStreamRequest : WireEnvelope {
  WireImagePair pair;
  int64_t time_ns = 0;
  bool relocalize = false;  // the pair is to be found in the map
  bool has_depth = false;
  WireImage depth;
  bool has_imu = false;  // the pair has readings, or the edit is readings
  WireImuReadings imu;
  bool wants_poses = false;  // the edit does
};

// False if `message` is not a serialized message of that type. `*request` is overwritten, and `*values`, if not null,
// by the readings: the first kMaxImuReadings of each sensor.
bool ParseLocalizeStreamRequest(decode::Pieces message, WireLocalizeStreamRequest* request, ImuValues* values);
inline bool ParseLocalizeStreamRequest(decode::Pieces message, WireLocalizeStreamRequest* request) {
  return ParseLocalizeStreamRequest(message, request, nullptr);
}

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_PARSER_H_
