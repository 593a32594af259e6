// The way of an inertial sensor's readings from a stream's messages to its localization: checked as they come, and
// taken in the turn of their message, or by a pair before it whose time they are beyond, whatever becomes of the pair
// in it.
#ifndef GLINT_SERVER_OPERATIONS_LOCALIZE_IMU_INBOX_H_
#define GLINT_SERVER_OPERATIONS_LOCALIZE_IMU_INBOX_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/operations/localize/localize_parser.h"
#include "slam/inertial/imu.h"

namespace glint {

// Messages have turns, which ascend. values(), Receive(), times() and Keep() are called by one thread at a time, Take()
// by one thread at a time, and both may be called at the same time; the others at any time.
class ImuInbox {
 public:
  // Readings of each sensor that wait at most; beyond that the oldest make room.
  static constexpr size_t kCapacity = 4 * kMaxImuReadings;

  ImuInbox();

  // Where the parser is to put the readings of a message, before Receive().
  ImuValues* values() { return &received_; }
  // Checks the readings of a message that the parser has accepted. INVALID_ARGUMENT names the field as a part of
  // `field`: too many readings, other than three values for each time, a value or a time that no sensor has. They are
  // not kept then.
  absl::Status Receive(absl::string_view field, const WireImuReadings& sizes);
  // Of the gyroscope's readings that were last received.
  const std::vector<int64_t>& times() const { return received_.gyroscope_time_ns; }
  // Those last received wait for their turn.
  void Keep(int64_t turn);
  // Readings that wait for turns up to `turn`, as many as one message may have; and how many had no room since the last
  // call. False: there are none.
  bool Take(int64_t turn, slam::ImuReadings* readings, int64_t* lost);

  // Up to when readings of both sensors have come; INT64_MIN: of one there are none.
  int64_t newest_ns() const;
  // The turn by which readings of both sensors at or after this time have come; INT64_MAX: not yet.
  int64_t TurnOf(int64_t time_ns) const;

 private:
  struct Waiting {
    int64_t turn;
    slam::ImuReading reading;
  };
  struct Sensor {
    std::vector<Waiting> waiting;  // by turn
    int64_t newest_ns = INT64_MIN;

    int64_t TurnOf(int64_t time_ns) const;
  };

  // With mutex_.
  void Add(int64_t turn, const std::vector<int64_t>& times, const std::vector<double>& values, Sensor* sensor);

  ImuValues received_;  // of the last message

  mutable std::mutex mutex_;
  Sensor gyroscope_, accelerometer_;
  int64_t lost_ = 0;
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_LOCALIZE_IMU_INBOX_H_
