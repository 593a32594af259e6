// What operations have in common: frames that wait, a thread that writes them to a stream of the server, and opens
// another one when it has ended.
#ifndef GLINT_ROS2_OPERATIONS_STREAM_OPERATION_H_
#define GLINT_ROS2_OPERATIONS_STREAM_OPERATION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/client.h"
#include "ros2/operations/context.h"
#include "ros2/operations/operation.h"
#include "ros2/operations/stream_figures.h"

namespace glint::ros2 {

// A class derived from it is started by who makes it, and calls Stop() first in its destructor.
class StreamOperation : public Operation {
 public:
  void Take(std::shared_ptr<const Frame> frame) final ABSL_LOCKS_EXCLUDED(mutex_);
  ros::DiagnosticStatus Diagnose() final ABSL_LOCKS_EXCLUDED(mutex_);
  // Once. RESOURCE_EXHAUSTED: the thread cannot be made.
  absl::Status Start();

 protected:
  static constexpr uint64_t kOwnIds = uint64_t{1} << 62;  // from here on ids are those of the derived class
  static constexpr absl::Duration kServeEvery = absl::Milliseconds(500);

  // A stream of the client. Destroying it ends it, and waits for its callback.
  class AnyStream {
   public:
    virtual ~AnyStream() = default;
    virtual absl::Status Write(uint64_t id, const Frame& frame) = 0;
    virtual void Cancel() = 0;  // any thread
  };
  // Of what the client has opened; `write(stream, id, frame)` writes a frame to it.
  template <class Stream, class Writer>
  static std::unique_ptr<AnyStream> WrittenBy(std::unique_ptr<Stream> stream, Writer write) {
    class Written : public AnyStream {
     public:
      Written(std::unique_ptr<Stream> stream, Writer write) : write_(std::move(write)), stream_(std::move(stream)) {}
      absl::Status Write(uint64_t id, const Frame& frame) override { return write_(stream_.get(), id, frame); }
      void Cancel() override { stream_->Cancel(); }

     private:
      const Writer write_;
      const std::unique_ptr<Stream> stream_;
    };
    return std::make_unique<Written>(std::move(stream), std::move(write));
  }

  // `name`: of the operation, for people. `capacity`: frames that wait at most, at least 1. `needs_cameras`: no stream
  // before Input::cameras() has them; else they are not asked for. What `context` names must outlive this.
  StreamOperation(const Context& context, std::string name, size_t capacity, bool needs_cameras);
  ~StreamOperation() override;
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // On the thread that writes. Frames' ids count up from 1 over all streams.
  virtual absl::StatusOr<std::unique_ptr<AnyStream>> Open(const client::Client& client, const Cameras& cameras) = 0;
  // While a stream is open: after Open(), after each Wake(), and every kServeEvery. Not OK: the stream has ended.
  virtual absl::Status Serve(AnyStream*) { return absl::OkStatus(); }
  // The stream is destroyed; OK: by Restart() or Stop(). Also if Open() failed.
  virtual void Closed(const absl::Status& /*why*/) {}
  // On any thread: adds to what Diagnose() returns, and may raise its level.
  virtual void AddFigures(ros::DiagnosticStatus* /*status*/) {}

  // Serve() is called soon, for which a stream is opened if there is none.
  void Wake() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the stream and opens another one at once. No error, though frames that are not answered yet are lost.
  void Restart() ABSL_LOCKS_EXCLUDED(mutex_);

  // For the stream's callback, with each answer: counts it, and has `publish` called if it is a good one of a frame.
  void Answered(uint64_t id, const absl::Status& status, client::DropReason drop_reason, const client::Timings& timings,
                absl::FunctionRef<void(const Frame&)> publish) ABSL_LOCKS_EXCLUDED(mutex_);

  const Context& context() const { return context_; }

 private:
  struct Sent {
    uint64_t id;
    std::shared_ptr<const Frame> frame;
    int64_t written_ns;  // by the clock of Picture::received_ns; 0: Write() has not returned
  };
  struct Basis {  // of a stream
    std::shared_ptr<const client::Client> client;
    Cameras cameras;
  };

  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // Nothing: Stop().
  std::optional<Basis> WaitForBasis() ABSL_LOCKS_EXCLUDED(mutex_);
  // Opens a stream and drives it to its end. OK: Restart() or Stop().
  absl::Status Drive(const Basis& basis) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until there is something to do. False: the stream is to end. Null in *frame: Serve() is due.
  bool Next(std::shared_ptr<const Frame>* frame) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status WriteFrame(AnyStream* stream, std::shared_ptr<const Frame> frame) ABSL_LOCKS_EXCLUDED(mutex_);
  // What the end of a stream asks for: another connection, or patience.
  void Judge(const Basis& basis, const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);
  void DropAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The level and the sentence.
  void Summarise(ros::DiagnosticStatus* status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Context context_;
  const std::string name_;  // also of its status in /diagnostics
  const size_t capacity_;
  const bool needs_cameras_;
  std::thread thread_;
  uint64_t next_id_ = 1;  // of the thread

  absl::Mutex mutex_;
  absl::CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool restart_ ABSL_GUARDED_BY(mutex_) = false;
  bool wake_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::shared_ptr<const Frame>> waiting_ ABSL_GUARDED_BY(mutex_);  // oldest first
  std::vector<Sent> sent_ ABSL_GUARDED_BY(mutex_);                             // not answered, oldest first
  AnyStream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool has_answer_ ABSL_GUARDED_BY(mutex_) = false;  // of the stream, or of the last one that was opened
  absl::Time served_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time open_after_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Duration pause_ ABSL_GUARDED_BY(mutex_);
  int refused_version_ ABSL_GUARDED_BY(mutex_) = 0;  // of the cameras whose stream the server refused
  absl::Status error_ ABSL_GUARDED_BY(mutex_);       // why the last stream ended; OK after an answer
  bool refused_ ABSL_GUARDED_BY(mutex_) = false;     // error_ is one that does not mend itself
  std::string said_ ABSL_GUARDED_BY(mutex_);         // on standard error
  std::string waits_for_ ABSL_GUARDED_BY(mutex_);    // what a stream cannot be opened without; empty: nothing
  std::string frame_error_ ABSL_GUARDED_BY(mutex_);  // the last
  StreamFigures figures_ ABSL_GUARDED_BY(mutex_);
  // At the last Diagnose().
  int64_t diagnosed_frames_ ABSL_GUARDED_BY(mutex_) = 0, diagnosed_dropped_ ABSL_GUARDED_BY(mutex_) = 0,
                            diagnosed_failed_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_STREAM_OPERATION_H_
