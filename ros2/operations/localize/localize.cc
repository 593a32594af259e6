// What people ask of localization: services of ROS, and topics for those whose DDS has none in common with ours.
#include "ros2/operations/localize/localize.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "features/status_macros.h"
#include "ros/cdr.h"
#include "ros2/operations/localize/localization.h"

namespace glint::ros2 {

absl::Status Localization::Start() {
  using Kind = MapRequests::Kind;
  GLINT_RETURN_IF_ERROR(AddService("~/reset", [this](absl::Status*) {
    Reset();
    return std::string("a new map begins");
  }));
  const std::string quoted = absl::StrCat("map \"", config_.map, "\" ");
  GLINT_RETURN_IF_ERROR(AddService("~/save_map", [this, quoted](absl::Status* status) {
    *status = Ask(Kind::kSave);
    return absl::StrCat(quoted, "saved");
  }));
  GLINT_RETURN_IF_ERROR(AddService("~/load_map", [this, quoted](absl::Status* status) {
    *status = Ask(Kind::kLoad);
    return absl::StrCat(quoted, "loaded");
  }));
  GLINT_RETURN_IF_ERROR(AddTopic("~/save_map_as", Kind::kSave));
  GLINT_RETURN_IF_ERROR(AddTopic("~/load_map_from", Kind::kLoad));
  return StreamOperation::Start();
}

absl::Status Localization::AddService(const std::string& name, std::function<std::string(absl::Status*)> answer) {
  const ServiceInfo type = {{ros::Trigger::kName, ros::ServiceTypeHash<ros::Trigger>()},
                            TypeOf<ros::TriggerRequest>(),
                            TypeOf<ros::TriggerResponse>()};
  const auto call = [answer = std::move(answer)](absl::Span<const uint8_t>, std::vector<uint8_t>* bytes) {
    absl::Status status;
    ros::TriggerResponse response;
    response.message = answer(&status);
    response.success = status.ok();
    if (!status.ok()) response.message = std::string(status.message());
    ros::WriteCdr(response, bytes);
  };
  GLINT_ASSIGN_OR_RETURN(auto service, context().participant->Serve(context().config->Topic(name), type, call));
  services_.push_back(std::move(service));
  return absl::OkStatus();
}

absl::Status Localization::AddTopic(const std::string& name, MapRequests::Kind kind) {
  const auto call = [this, kind](absl::Span<const uint8_t> bytes, const SampleInfo&) {
    ros::String message;
    if (ros::ReadCdr(bytes, &message).ok()) Request(kind, message.data, [](const absl::Status&) {});
  };
  GLINT_ASSIGN_OR_RETURN(auto subscription,
                         context().participant->Subscribe(context().config->Topic(name), TypeOf<ros::String>(),
                                                          context().config->QosOf(name, {}), call));
  subscriptions_.push_back(std::move(subscription));
  return absl::OkStatus();
}

void Localization::Reset() {
  fresh_ = true;
  Restart();
}

void Localization::Request(MapRequests::Kind kind, const std::string& name, MapRequests::Done done) {
  const std::string map = name.empty() ? config_.map : name;
  requests_.Add(kind, map, [this, kind, map, done = std::move(done)](const absl::Status& status) {
    const char* const did = kind == MapRequests::Kind::kSave ? "saved" : "loaded";
    NoteMap(status.ok() ? absl::StrCat("map \"", map, "\" ", did)
                        : absl::StrCat("map \"", map, "\" not ", did, ": ", status.message()));
    done(status);
  });
  Wake();
}

absl::Status Localization::Ask(MapRequests::Kind kind) {
  struct Waiter {
    absl::Notification answered;
    absl::Status status;
  };
  const auto waiter = std::make_shared<Waiter>();
  Request(kind, config_.map, [waiter](const absl::Status& status) {
    waiter->status = status;
    waiter->answered.Notify();
  });
  if (waiter->answered.WaitForNotificationWithTimeout(kRequestTimeout)) return waiter->status;
  return absl::DeadlineExceededError(
      absl::StrCat("no answer within ", absl::ToInt64Seconds(kRequestTimeout), " s; it may still be done"));
}

absl::StatusOr<std::unique_ptr<Operation>> MakeLocalize(const Context& context) {
  GLINT_ASSIGN_OR_RETURN(auto publications, Publications::Open(context));
  auto localization = std::make_unique<Localization>(context, std::move(publications));
  GLINT_RETURN_IF_ERROR(localization->Start());
  return localization;
}

}  // namespace glint::ros2
