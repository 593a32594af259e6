#include "client/load/recorder.h"

#include <algorithm>
#include <utility>

namespace glint::load {

void Measurement::Merge(const Measurement& other) {
  latency.Merge(other.latency);
  for (size_t i = 0; i < stages.size(); ++i) stages[i].Merge(other.stages[i]);
  server.Merge(other.server);
  lane.Merge(other.lane);
  outside.Merge(other.outside);
  overhead.Merge(other.overhead);
  late.Merge(other.late);
  ok += other.ok;
  for (const auto& [code, count] : other.failed) failed[code] += count;
  for (const auto& [reason, count] : other.dropped) dropped[reason] += count;
  unanswered += other.unanswered;
  keypoints += other.keypoints;
  matches += other.matches;
  reply_bytes += other.reply_bytes;
  copied_bytes += other.copied_bytes;
}

void Recorder::Answered(int64_t latency_ns, const Reply& reply, size_t reply_bytes, int64_t now_ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  measured_.latency.Add(latency_ns);
  measured_.reply_bytes += static_cast<int64_t>(reply_bytes);
  last_answer_ns_ = std::max(last_answer_ns_, now_ns);
  if (reply.status.code() != 0) {
    const bool dropped = reply.status.drop_reason() != v1::DROP_REASON_UNSPECIFIED;
    ++(dropped ? measured_.dropped[reply.status.drop_reason()] : measured_.failed[reply.status.code()]);
    return;
  }
  ++measured_.ok;
  measured_.keypoints += reply.keypoints;
  measured_.matches += reply.matches;
  const v1::Timings& t = reply.timings;
  for (size_t i = 0; i < std::size(kStages); ++i) {
    const auto ns = kStages[i].ns;  // apart, since UBSan of GCC 12 reads the index too early otherwise
    measured_.stages[i].Add((t.*ns)());
  }
  measured_.server.Add(t.total_ns());
  const int64_t lane_ns = t.upload_ns() + t.detect_ns() + t.match_ns() + t.download_ns();
  measured_.lane.Add(lane_ns);
  measured_.overhead.Add(latency_ns - lane_ns);
  measured_.outside.Add(latency_ns - t.total_ns());
}

void Recorder::Echoed(int64_t latency_ns, size_t reply_bytes, int64_t now_ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  measured_.latency.Add(latency_ns);
  measured_.reply_bytes += static_cast<int64_t>(reply_bytes);
  ++measured_.ok;
  last_answer_ns_ = std::max(last_answer_ns_, now_ns);
}

void Recorder::Unanswered(int64_t latency_ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  measured_.latency.Add(latency_ns);
  ++measured_.unanswered;
}

void Recorder::Late(int64_t late_ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  measured_.late.Add(late_ns);
}

void Recorder::Copied(int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  measured_.copied_bytes += bytes;
}

Measurement Recorder::Take(int64_t* last_answer_ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  *last_answer_ns = std::exchange(last_answer_ns_, 0);
  return std::exchange(measured_, Measurement());
}

}  // namespace glint::load
