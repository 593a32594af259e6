#include "ros2/operations/diagnostics.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "features/status_macros.h"
#include "features/steady_time.h"
#include "features/thread.h"
#include "ros2/operations/complain.h"
#include "ros2/operations/stream_figures.h"

namespace glint::ros2 {
namespace {

constexpr size_t kMostWarnings = 16;
// So long a warning of the network makes its level one.
constexpr absl::Duration kWarned = absl::Seconds(30);

// So long after something bad is said, nobody is told that it is good again.
constexpr absl::Duration kSaidBad = absl::Seconds(10);

const char* LevelName(std::byte level) {
  static constexpr const char* kNames[] = {"OK", "WARN", "ERROR", "STALE"};
  return kNames[static_cast<size_t>(level) & 3];
}

}  // namespace

absl::StatusOr<std::unique_ptr<Diagnostics>> Diagnostics::Open(const Context& context, Sources sources) {
  GLINT_ASSIGN_OR_RETURN(auto topic, Topic<ros::DiagnosticArray>::Advertise(context, "/diagnostics"));
  std::unique_ptr<Diagnostics> made(new Diagnostics(context, std::move(sources), std::move(topic)));
  GLINT_ASSIGN_OR_RETURN(made->thread_, StartThread("diagnostics", [made = made.get()] { made->Run(); }));
  return made;
}

Diagnostics::~Diagnostics() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void Diagnostics::Run() {
  const absl::Duration every = absl::Seconds(context_.config->diagnostics_every);
  while (true) {
    {
      const absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&stopping_), every)) return;
    }
    Look();
  }
}

void Diagnostics::Look() {
  ros::DiagnosticArray& message = topic_.message;
  message.status = sources_.diagnose();
  message.status.push_back(OfNetwork());
  for (ros::DiagnosticStatus& status : message.status) {
    SayIfNew(status);
    status.name = absl::StrCat(context_.config->node_name, ": ", status.name);
    status.hardware_id = context_.config->server.address;
  }
  if (!topic_.wanted()) return;
  message.header.stamp = ros::TimeOf(sources_.now_ns());
  topic_.Publish();
}

ros::DiagnosticStatus Diagnostics::OfNetwork() {
  for (std::string& warning : context_.participant->TakeWarnings()) {
    Complain(warning);
    warned_ = SteadyNow();
    warnings_.push_back(std::move(warning));
    if (warnings_.size() > kMostWarnings) warnings_.pop_front();
  }
  ros::DiagnosticStatus status;
  status.name = "network";
  const bool is_new = SteadyNow() - warned_ < kWarned;
  status.level = is_new ? ros::DiagnosticStatus::kWarn : ros::DiagnosticStatus::kOk;
  status.message = is_new ? warnings_.back() : "no new warnings";
  for (size_t i = 0; i < warnings_.size(); ++i) AddFigure(absl::StrCat("warning ", i + 1), warnings_[i], &status);
  return status;
}

void Diagnostics::SayIfNew(const ros::DiagnosticStatus& status) {
  if (status.name == "server" || status.name == "network") return;  // which say it themselves
  Said& said = said_[status.name];
  const absl::Time now = SteadyNow();
  if (status.level == said.level || (status.level < said.level && now - said.at < kSaidBad)) return;
  said = {status.level, now};
  const std::string name = LevelName(status.level);
  Complain(absl::StrCat(status.name, ": ", name, status.message == name ? "" : ": " + status.message));
}

}  // namespace glint::ros2
