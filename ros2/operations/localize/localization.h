// The operation behind MakeLocalize().
#ifndef GLINT_ROS2_OPERATIONS_LOCALIZE_LOCALIZATION_H_
#define GLINT_ROS2_OPERATIONS_LOCALIZE_LOCALIZATION_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/localization.h"
#include "client/scenes/map_reader.h"
#include "ros2/dds/participant.h"
#include "ros2/operations/context.h"
#include "ros2/operations/localize/imu_queue.h"
#include "ros2/operations/localize/live_scene.h"
#include "ros2/operations/localize/map_requests.h"
#include "ros2/operations/localize/publications.h"
#include "ros2/operations/stream_operation.h"

namespace glint::ros2 {

class Localization : public StreamOperation {
 public:
  Localization(const Context& context, std::unique_ptr<Publications> publications);
  ~Localization() override;
  // Begins to serve. Errors of Participant, and of StreamOperation::Start().
  absl::Status Start();

  void AddImu(const ros::Imu& reading) override;

 private:
  // Ids of messages that have no frame.
  static constexpr uint64_t kMapId = kOwnIds, kImuId = kOwnIds + 1, kPingId = kOwnIds + 2, kRequestIds = kOwnIds + 16;
  // Servers end streams that are silent for 5 minutes by default, and their maps with them.
  static constexpr absl::Duration kPingEvery = absl::Seconds(60);
  static constexpr absl::Duration kRequestTimeout = absl::Seconds(30);

  class Stream;

  // A new stream, with a map that is empty, whatever LocalizeConfig::load_at_start says. With save_every it replaces
  // the one that is saved.
  void Reset();
  // `name`: of a map on the server; empty: the configured one. `done` gets the server's answer.
  void Request(MapRequests::Kind kind, const std::string& name, MapRequests::Done done);
  // The same of the configured map, and waits for the answer. DEADLINE_EXCEEDED: none came for kRequestTimeout.
  absl::Status Ask(MapRequests::Kind kind);

  // Services and topics for people, each of which may be called at any time until it is destroyed. `answer`: what the
  // service answers.
  absl::Status AddService(const std::string& name, std::function<std::string(absl::Status*)> answer);
  absl::Status AddTopic(const std::string& name, MapRequests::Kind kind);

  absl::StatusOr<std::unique_ptr<AnyStream>> Open(const client::Client& client, const Cameras& cameras) override;
  absl::Status Serve(AnyStream* stream) override;
  void Closed(const absl::Status& why) override;
  void AddFigures(ros::DiagnosticStatus* status) override ABSL_LOCKS_EXCLUDED(mutex_);

  // Answers of the stream.
  void TakeAnswer(const client::LocalizeAnswer& answer);
  void TakeFrame(const client::LocalizeAnswer& answer, const Frame& frame) ABSL_LOCKS_EXCLUDED(mutex_);
  // What configuration asks for by itself.
  void LoadAtStart();
  void SaveIfDue();
  // Says `text` in diagnostics from now on, and on standard error if it is news.
  void NoteMap(const std::string& text) ABSL_LOCKS_EXCLUDED(mutex_);

  const LocalizeConfig& config_;
  const std::unique_ptr<Publications> publications_;
  ImuQueue imu_;
  MapRequests requests_{kRequestIds};
  std::atomic<bool> fresh_ = false;        // the next stream loads nothing
  std::atomic<bool> may_save_ = false;     // by itself: nothing is lost by it
  std::atomic<bool> has_located_ = false;  // since the stream was opened
  std::atomic<int64_t> located_ = 0;
  client::MapReader points_;
  LiveScene scene_;  // of the stream's thread
  // For the thread that writes.
  absl::Time save_at_ = absl::InfiniteFuture(), written_at_ = absl::InfinitePast();

  absl::Mutex mutex_;
  std::optional<client::LocalizeAnswer> last_ ABSL_GUARDED_BY(mutex_);  // to a frame, of the stream
  std::string map_note_ ABSL_GUARDED_BY(mutex_) = "none saved or loaded yet";
  std::string imu_error_ ABSL_GUARDED_BY(mutex_);

  std::vector<std::unique_ptr<Service>> services_;
  std::vector<std::unique_ptr<Subscription>> subscriptions_;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_LOCALIZE_LOCALIZATION_H_
