// Load generator: streams that send frames in a closed or an open loop, and the results.
#ifndef GLINT_CLIENT_LOAD_LOAD_H_
#define GLINT_CLIENT_LOAD_LOAD_H_

#include <grpcpp/completion_queue.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/load/frames.h"
#include "client/load/recorder.h"
#include "client/load/stream.h"
#include "client/load/task.h"

namespace glint::load {

// The server under load.
struct Target {
  std::string address;  // "host:port" or "unix:PATH"
  Task task = Task::kDetect;
  bool glint = true;  // else an EchoServer
  std::string first;  // a stream's first message, serialized
};

// One run. A closed loop sends on each stream whenever fewer than `in_flight` frames are unanswered: it shows what one
// client after another waits, and slows down with the server. An open loop sends `rate` frames/s over all streams, as
// cameras do, and counts a frame's latency from the moment when it was due, sent or not: a server that stalls is
// charged for every frame that it keeps waiting, not only for the one that it had (coordinated omission).
struct RunOptions {
  int in_flight = 1;
  double rate = 0;  // frames/s; 0: closed loop
  absl::Duration warm_up = absl::ZeroDuration();
  absl::Duration duration = absl::Seconds(10);
  // Wait after the last frame was due; unanswered frames are then given up, and the load ends.
  absl::Duration patience = absl::Seconds(10);
  // Polled; true ends the sending early.
  std::function<bool()> stop = [] { return false; };
};

struct RunResult {
  Measurement measured;
  double seconds = 0;      // from the end of the warm-up to the last answer, or to when all were due if that is later
  double cpu_seconds = 0;  // of this process, all threads, with warm-up and patience
};

// Thread-compatible. Streams stay open from run to run, each over a connection of its own.
class Load {
 public:
  // Connects and opens `streams` (>= 1) streams. `frames` must outlive the load; stream i begins with frame i. Errors
  // of the calls come out of Run().
  Load(const Target& target, int streams, const std::vector<FrameBody>* frames);
  ~Load();  // cancels what is open
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // Not OK when a stream has ended; its measurements are lost.
  absl::StatusOr<RunResult> Run(const RunOptions& options);
  // After a run that gave up frames: there can be no other.
  bool given_up() const { return given_up_; }
  // Half-closes the streams and waits for their ends; OK if all were. Once, and last.
  absl::Status Close(absl::Duration patience);

  // The newest reply of the first stream, as it came.
  std::string last_reply() const { return streams_.front()->last_reply(); }

 private:
  struct Worker {
    grpc::CompletionQueue queue;
    Recorder recorder;
    std::vector<std::pair<size_t, LoadStream*>> streams;  // with their indices
    std::thread thread;
  };

  static void Complete(Worker* worker);
  absl::Status WaitUntilOpen(absl::Duration patience) const;
  void Pace(const Worker& worker, const std::atomic<int64_t>& end_ns) const;
  absl::Status Broken() const;
  bool Idle(int64_t now_ns) const;
  void WaitForEnd(const RunOptions& options, std::atomic<int64_t>* end_ns);

  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<LoadStream>> streams_;
  std::vector<Schedule> schedules_;  // of the current run, one for each stream
  bool given_up_ = false;
};

}  // namespace glint::load

#endif  // GLINT_CLIENT_LOAD_LOAD_H_
