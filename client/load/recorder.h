// Measurements of a load generator.
#ifndef GLINT_CLIENT_LOAD_RECORDER_H_
#define GLINT_CLIENT_LOAD_RECORDER_H_

#include <array>
#include <cstdint>
#include <map>
#include <mutex>

#include "client/load/latencies.h"
#include "client/load/reply.h"

namespace glint::load {

// The server's stage times from its replies, in the order of the stages.
struct Stage {
  const char* name;
  int64_t (v1::Timings::*ns)() const;
  bool of_pairs = false;  // only pairs have it
};
inline constexpr Stage kStages[] = {
    {"receive", &v1::Timings::receive_ns},   {"queue", &v1::Timings::queue_ns},
    {"decode", &v1::Timings::decode_ns},     {"upload", &v1::Timings::upload_ns},
    {"detect", &v1::Timings::detect_ns},     {"match", &v1::Timings::match_ns, true},
    {"download", &v1::Timings::download_ns}, {"serialize", &v1::Timings::serialize_ns},
    {"order", &v1::Timings::order_ns},
};

// Measurements of the frames that were due while recording. Plain values.
struct Measurement {
  // Time from when a frame was due to its answer; for unanswered frames, to when they were given up. Failed frames
  // count as well.
  Latencies latency;
  // Times of successful frames: the server's stages and total, the lane's part (upload, detect, match, download), the
  // latency beyond the server's total, and the latency without the lane's part.
  std::array<Latencies, std::size(kStages)> stages;
  Latencies server, lane, outside, overhead;
  // Open loop: delay of this process in sending frames that nothing else held back.
  Latencies late;

  int64_t ok = 0;
  std::map<int, int64_t> failed;   // by canonical status code
  std::map<int, int64_t> dropped;  // by v1::DropReason; not among the failed
  int64_t unanswered = 0;
  int64_t keypoints = 0;
  int64_t matches = 0;
  int64_t reply_bytes = 0;   // of answered frames
  int64_t copied_bytes = 0;  // by this process, to make messages out of the frames; of all that were answered or not

  int64_t frames() const { return latency.count(); }
  int64_t answered() const { return frames() - unanswered; }
  void Merge(const Measurement& other);
};

// Thread-safe.
class Recorder {
 public:
  void Answered(int64_t latency_ns, const Reply& reply, size_t reply_bytes, int64_t now_ns);
  void Echoed(int64_t latency_ns, size_t reply_bytes, int64_t now_ns);
  void Unanswered(int64_t latency_ns);
  void Late(int64_t late_ns);
  void Copied(int64_t bytes);

  // What was recorded, which is forgotten; and when the last answer came, 0 without one.
  Measurement Take(int64_t* last_answer_ns);

 private:
  std::mutex mutex_;
  Measurement measured_;
  int64_t last_answer_ns_ = 0;
};

}  // namespace glint::load

#endif  // GLINT_CLIENT_LOAD_RECORDER_H_
