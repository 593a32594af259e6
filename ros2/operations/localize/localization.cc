#include "ros2/operations/localize/localization.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "features/status_macros.h"
#include "features/steady_time.h"
#include "ros2/operations/complain.h"
#include "ros2/operations/localize/localize.h"
#include "ros2/operations/localize/stream_options.h"

namespace glint::ros2 {
namespace {

constexpr size_t kRealtimeWaiting = 2, kWaiting = 16;  // frames
// As for Input::Callbacks: no disorder, but a recording that is played again, or a simulation that is.
constexpr int64_t kSetBackNs = 1'000'000'000;
// Readings of a frame's time come after it: so long they are waited for, from its receipt on.
constexpr absl::Duration kWaitForReadings = absl::Milliseconds(100);

size_t CapacityOf(const LocalizeConfig& config) { return config.realtime ? kRealtimeWaiting : kWaiting; }

}  // namespace

int LocalizeFrames(const LocalizeConfig& config) {
  return static_cast<int>(CapacityOf(config)) + LocalizeWindow(config) + 1;
}

// What the client's stream is for frames.
class Localization::Stream : public AnyStream {
 public:
  Stream(Localization* owner, const client::LocalizeStreamOptions& options)
      : owner_(owner),
        imu_offset_ns_(options.imu.has_value() ? options.imu->imu_time_minus_camera_time_ns : 0),
        has_imu_(options.imu.has_value()),
        has_depth_(options.depth.has_value()) {}

  absl::Status Open(const client::Client& client, const client::LocalizeStreamOptions& options) {
    GLINT_ASSIGN_OR_RETURN(stream_, client.OpenLocalizeStream(
                                        options, [owner = owner_](const auto& answer) { owner->TakeAnswer(answer); }));
    return absl::OkStatus();
  }

  absl::Status Write(uint64_t id, const Frame& frame) override {
    const client::ImageInput& second = has_depth_ ? frame.depth.image : frame.right.image;
    if (second.kind == client::ImageInput::Kind::kNone) return absl::InvalidArgumentError("a frame of one image");
    const int64_t time_ns = frame.left.stamp_ns;
    const int64_t last_ns = std::exchange(last_ns_, time_ns);
    if (has_imu_ && time_ns < last_ns - kSetBackNs) {
      Complain("localize: the clock was set back, so that readings would come too late: another stream begins");
      owner_->Restart();
      return absl::AbortedError("the clock was set back");
    }
    if (has_imu_) {
      const int64_t received_ns =
          std::max(frame.left.received_ns, (has_depth_ ? frame.depth : frame.right).received_ns);
      owner_->imu_.WaitFor(time_ns + imu_offset_ns_,
                           kWaitForReadings - absl::Nanoseconds(absl::GetCurrentTimeNanos() - received_ns));
      GLINT_RETURN_IF_ERROR(WriteReadings(ImuQueue::kMessage));
    }
    const client::ImuReadings& imu = owner_->imu_.Take();
    owner_->written_at_ = SteadyNow();
    return has_depth_ ? stream_->WriteDepth(id, frame.left.image, second, time_ns, {}, imu)
                      : stream_->Write(id, frame.left.image, second, time_ns, {}, {}, imu);
  }

  // Those over `most`, and before them.
  absl::Status WriteReadings(size_t most) {
    while (has_imu_ && owner_->imu_.size() > most) {
      GLINT_RETURN_IF_ERROR(stream_->WriteImu(kImuId, owner_->imu_.Take()));
    }
    return absl::OkStatus();
  }

  void Cancel() override {
    owner_->imu_.Stop();
    stream_->Cancel();
  }

  client::LocalizeStream* get() { return stream_.get(); }

 private:
  Localization* const owner_;
  const int64_t imu_offset_ns_;
  const bool has_imu_, has_depth_;
  std::unique_ptr<client::LocalizeStream> stream_;
  int64_t last_ns_ = std::numeric_limits<int64_t>::min() / 2;  // time of the last frame
};

Localization::Localization(const Context& context, std::unique_ptr<Publications> publications)
    : StreamOperation(context, "localize", CapacityOf(context.config->localize), /*needs_cameras=*/true),
      config_(context.config->localize),
      publications_(std::move(publications)),
      points_(absl::Seconds(context.config->localize.map_every)),
      scene_(context.live) {}

Localization::~Localization() {
  requests_.Close();  // no service waits for an answer any more
  services_.clear();
  subscriptions_.clear();
  Stop();
}

void Localization::AddImu(const ros::Imu& reading) {
  if (imu_.Add(reading)) Wake();
}

absl::StatusOr<std::unique_ptr<StreamOperation::AnyStream>> Localization::Open(const client::Client& client,
                                                                               const Cameras& cameras) {
  GLINT_ASSIGN_OR_RETURN(const client::LocalizeStreamOptions options, LocalizeOptionsOf(*context().config, cameras));
  imu_.Begin();
  points_.BeginAgain();
  scene_.BeginStream();
  has_located_ = false;
  publications_->BeginStream(options.imu.has_value() ? std::make_optional(options.imu->camera_from_imu) : std::nullopt);
  auto stream = std::make_unique<Stream>(this, options);
  GLINT_RETURN_IF_ERROR(stream->Open(client, options));
  requests_.Begin();
  may_save_ = true;
  if (config_.save_every > 0) save_at_ = SteadyNow() + absl::Seconds(config_.save_every);
  if (!fresh_.exchange(false) && config_.load_at_start) LoadAtStart();
  GLINT_RETURN_IF_ERROR(requests_.Write(stream->get()));
  return stream;
}

void Localization::LoadAtStart() {
  may_save_ = false;
  Request(MapRequests::Kind::kLoad, config_.map, [this](const absl::Status& status) {
    // A map that cannot be loaded, as of another camera, is not to be replaced without being asked for.
    may_save_ = status.ok() || absl::IsNotFound(status);
    if (absl::IsNotFound(status)) NoteMap(absl::StrCat("a new one begins: ", status.message()));
  });
}

void Localization::SaveIfDue() {
  if (SteadyNow() < save_at_ || !may_save_ || !has_located_) return;
  Request(MapRequests::Kind::kSave, config_.map, [](const absl::Status&) {});
  save_at_ = SteadyNow() + absl::Seconds(config_.save_every);
}

absl::Status Localization::Serve(AnyStream* any) {
  auto* const stream = static_cast<Stream*>(any);
  SaveIfDue();
  GLINT_RETURN_IF_ERROR(requests_.Write(stream->get()));
  GLINT_RETURN_IF_ERROR(stream->WriteReadings(ImuQueue::kMany));
  const absl::Time now = SteadyNow();
  std::optional<client::MapPosition> from;
  if (config_.map_every > 0 && has_located_ && (publications_->wants_points() || scene_.wants_map()))
    from = points_.Next();
  if (from.has_value()) {
    GLINT_RETURN_IF_ERROR(stream->get()->GetMap(kMapId, *from));
  } else if (now - written_at_ > kPingEvery) {
    constexpr uint64_t kEnd = std::numeric_limits<uint64_t>::max();
    GLINT_RETURN_IF_ERROR(stream->get()->GetMap(kPingId, {kEnd, kEnd}));
  } else {
    return absl::OkStatus();
  }
  written_at_ = now;
  return absl::OkStatus();
}

void Localization::Closed(const absl::Status& why) {
  requests_.End(why);
  const absl::MutexLock lock(&mutex_);
  last_.reset();
}

void Localization::TakeAnswer(const client::LocalizeAnswer& answer) {
  if (answer.frame_id == kMapId) {
    if (const auto points = points_.Take(answer); points != nullptr) {
      publications_->PublishPoints(*points);
      scene_.SetMap(points);
    }
    return Wake();  // for the next part
  }
  if (answer.frame_id == kImuId && !answer.status.ok()) {
    const absl::MutexLock lock(&mutex_);
    imu_error_ = std::string(answer.status.message());
  }
  if (answer.frame_id >= kOwnIds) return requests_.Answered(answer.frame_id, answer.status);
  Answered(answer.frame_id, answer.status, answer.drop_reason, answer.timings,
           [this, &answer](const Frame& frame) { TakeFrame(answer, frame); });
}

void Localization::TakeFrame(const client::LocalizeAnswer& answer, const Frame& frame) {
  {
    const absl::MutexLock lock(&mutex_);
    last_ = answer;
  }
  if (client::IsLocated(answer.location.status)) {
    ++located_;
    has_located_ = true;
  }
  publications_->Take(answer, frame);
  scene_.Show(answer, frame);
}

void Localization::NoteMap(const std::string& text) {
  const absl::MutexLock lock(&mutex_);
  if (map_note_ != text) Complain(absl::StrCat("localize: ", text));
  map_note_ = text;
}

void Localization::AddFigures(ros::DiagnosticStatus* status) {
  const absl::MutexLock lock(&mutex_);
  AddFigure("located", absl::StrCat(located_.load()), status);
  AddFigure("map", map_note_, status);
  if (!context().config->imu.topic.empty()) {
    const ImuQueue::Counts counts = imu_.counts();
    AddFigure("imu readings", absl::StrCat(counts.received), status);
    if (counts.bad + counts.dropped > 0) {
      AddFigure("imu readings bad", absl::StrCat(counts.bad), status);
      AddFigure("imu readings dropped", absl::StrCat(counts.dropped), status);
    }
    if (!imu_error_.empty()) AddFigure("imu error", imu_error_, status);
  }
  publications_->AddFigures(status);
  if (!last_.has_value()) return;
  const ros::DiagnosticStatus of_answer = DiagnosticOf(status->name, *last_);
  if (of_answer.level > status->level) {
    status->level = of_answer.level;
    status->message = of_answer.message;
  }
  status->values.insert(status->values.end(), of_answer.values.begin(), of_answer.values.end());
}

}  // namespace glint::ros2
