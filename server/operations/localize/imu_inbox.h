// The way of an inertial sensor's readings from a stream's messages to its localization: checked as they come, and
// taken in the turn of their message, whatever becomes of the pair in it.
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

// Messages have turns, which ascend. Receive() and Keep() are called by one thread at a time, Take() by one thread at a
// time, and both may be called at the same time.
class ImuInbox {
 public:
  // Readings of each sensor that wait at most; beyond that the oldest make room.
  static constexpr size_t kCapacity = 4 * kMaxImuReadings;

  ImuInbox();

  // Checks the readings of a message that the parser has accepted. INVALID_ARGUMENT names the field as a part of
  // `field`: too many readings, other than three values for each time, a value or a time that no sensor has.
  absl::Status Receive(absl::string_view field, const WireImuReadings& sizes, decode::Pieces message);
  // Those last received wait for their turn.
  void Keep(int64_t turn);
  // Readings that wait for turns up to `turn`, as many as one message may have; and how many had no room since the last
  // call. False: there are none.
  bool Take(int64_t turn, slam::ImuReadings* readings, int64_t* lost);

 private:
  struct Waiting {
    int64_t turn;
    slam::ImuReading reading;
  };

  // With mutex_.
  void Add(int64_t turn, const std::vector<int64_t>& times, const std::vector<double>& values,
           std::vector<Waiting>* waiting);

  ImuValues received_;  // of the last message

  std::mutex mutex_;
  std::vector<Waiting> gyroscope_, accelerometer_;  // by turn
  int64_t lost_ = 0;
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_LOCALIZE_IMU_INBOX_H_
