// How long the pairs of a stream wait for readings of its inertial sensor up to their times.
#ifndef GLINT_SERVER_OPERATIONS_LOCALIZE_IMU_WAIT_H_
#define GLINT_SERVER_OPERATIONS_LOCALIZE_IMU_WAIT_H_

#include <cstdint>
#include <mutex>

namespace glint {

// A client may send the readings beyond a pair's time only once the pair is answered. So waits that end by their limit
// are counted, and after kMostInVain in a row no pair waits, until readings come that one without them would have
// waited for: those that come before it is answered. Times of pairs and readings are of the sensor's clock, others
// MonotonicNs(). Thread-safe.
class ImuWait {
 public:
  static constexpr int kMostInVain = 3;

  // 0: no pair waits.
  explicit ImuWait(int64_t most_ns) : most_ns_(most_ns) {}

  // Until when the next pair, which has not got its readings, waits: `most_ns` from the receipt of the first one that
  // has waited since a pair was begun, for it may be in place of that one, and half of its age at most. 0: not at all.
  // `expires_at`: 0: it does not.
  int64_t Until(int64_t received_at, int64_t expires_at);
  // The pair is begun now. `had_readings`: when it came.
  void Begin(int64_t turn, int64_t time_ns, bool had_readings, bool has_readings, int64_t now);
  void Answered(int64_t turn);
  // There are readings of both sensors up to this time.
  void Came(int64_t newest_ns);

 private:
  const int64_t most_ns_;
  std::mutex mutex_;
  int64_t since_ = 0, until_ = 0;  // of the wait at present; 0: there is none
  int in_vain_ = 0;                // waits in a row
  int64_t open_turn_ = 0;  // the last pair that was begun without readings, and is not answered; 0: there is none
  int64_t open_time_ns_ = 0;
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_LOCALIZE_IMU_WAIT_H_
