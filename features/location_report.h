// What localization tells beside the pose: of the calibration and of the inertial sensor. The numbers are those of the
// wire (proto/glint/v1/localization.proto).
#ifndef GLINT_FEATURES_LOCATION_REPORT_H_
#define GLINT_FEATURES_LOCATION_REPORT_H_

#include <cstdint>

namespace glint {

enum class InertialStatus : unsigned char {
  kNone = 0,          // there is no sensor
  kInitializing = 1,  // gravity, velocity and biases are not known yet; poses are the images' alone
  kReady = 2,
  kLeftOut = 3  // it contradicts the images, or sends nothing, and a warning says how; poses are the images' alone
};

inline const char* NameOf(InertialStatus status) {
  switch (status) {
    case InertialStatus::kNone:
      return "NONE";
    case InertialStatus::kInitializing:
      return "INITIALIZING";
    case InertialStatus::kReady:
      return "READY";
    case InertialStatus::kLeftOut:
      return "LEFT_OUT";
  }
  return "UNKNOWN";
}

// Readings of an inertial sensor so far, and those of them that were not used as they came.
struct ImuReceived {
  int64_t received = 0;
  int64_t late = 0;       // older than what has been used and dropped
  int64_t duplicate = 0;  // of a time that had a reading: the smaller one is used, by x, then y, then z
  int64_t unsorted = 0;   // older than one that came before, and put in its place
  int64_t missing = 0;    // gaps of more than 2.5 usual steps, in usual steps
  int64_t saturated = 0;  // at or beyond the sensor's range
  int64_t frozen = 0;     // the same values, to the bit, as the four readings before
  int64_t dropped = 0;    // there was no room: the oldest went
};

// What one pair says of the calibration, by the keypoints that both cameras see (or that have a depth).
struct CalibrationFigures {
  int stereo_keypoints = 0;
  double stereo_share = 0;               // of all keypoints, 0..1
  double median_vertical_disparity = 0;  // pixels, left y - right y
  double vertical_disparity_spread = 0;  // pixels, median distance from that median
  double median_disparity = 0;           // pixels
  double speed = 0;                      // metres a second, as tracked; 0 unless tracking
};

}  // namespace glint

#endif  // GLINT_FEATURES_LOCATION_REPORT_H_
