#include "ros2/app/node.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "features/status_macros.h"
#include "ros/cdr.h"
#include "ros2/operations/complain.h"
#include "ros2/operations/features/features.h"
#include "ros2/operations/localize/localize.h"

namespace glint::ros2 {
namespace {

// Frames of an operation other than localize: those that wait, and those that are with the server.
constexpr int kFrames = 8;
// Of the input: pictures that wait for their partners.
constexpr int kInputSlots = 16;

int SlotsOf(const Config& config) {
  const int pictures = config.camera.right.empty() && config.camera.depth.empty() ? 1 : 2;
  int frames = config.localize.enabled ? LocalizeFrames(config.localize) : 0;
  for (const FeaturesConfig* features : {&config.stereo, &config.track, &config.detect}) {
    if (features->enabled) frames += kFrames;
  }
  return frames * pictures + kInputSlots;
}

// Entries of `qos` for topics that the node has not.
std::vector<std::string> UnusedQos(const Config& config, const std::vector<std::string>& topics) {
  std::vector<std::string> unused;
  for (const auto& [name, setting] : config.qos.of_topic) {
    const std::string topic = config.Topic(name);
    const auto is_it = [&topic](const std::string& other) {
      return other == topic || other == absl::StrCat(topic, "/compressed");
    };
    if (std::none_of(topics.begin(), topics.end(), is_it)) unused.push_back(name);
  }
  return unused;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Node>> Node::Create(const Config& config) {
  std::unique_ptr<Node> node(new Node(config));
  GLINT_RETURN_IF_ERROR(node->Start());
  return node;
}

absl::Status Node::Start() {
  ParticipantOptions options;
  options.node_namespace = config_.node_namespace;
  options.node_name = config_.node_name;
  GLINT_ASSIGN_OR_RETURN(participant_, Participant::Create(options));
  if (config_.use_sim_time) {
    const auto on_clock = [this](absl::Span<const uint8_t> bytes, const SampleInfo&) {
      ros::Clock clock;
      if (ros::ReadCdr(bytes, &clock).ok()) clock_ns_ = ros::NanosecondsOf(clock.clock);
    };
    GLINT_ASSIGN_OR_RETURN(clock_, participant_->Subscribe(config_.Topic("/clock"), TypeOf<ros::Clock>(),
                                                           config_.QosOf("/clock", kSensorData), on_clock));
  }
  if (config_.foxglove_port != 0) {
    view::ViewAddresses addresses;
    addresses.foxglove = absl::StrCat(config_.foxglove_port);
    view::State state;
    state.title = config_.node_name;
    GLINT_ASSIGN_OR_RETURN(view_, view::View::Start(addresses, state));
    Complain(absl::StrCat(
        "Foxglove at ", view_->foxglove_url(),
        config_.localize.enabled || config_.detect.enabled ? "" : ", which shows nothing without localize and detect"));
    live_ = std::make_unique<Live>(view_.get(), config_);
  }
  Input::Callbacks callbacks;
  callbacks.on_frame = [this](const std::shared_ptr<const Frame>& frame) {
    const absl::ReaderMutexLock lock(&mutex_);
    for (const auto& operation : operations_) operation->Take(frame);
  };
  callbacks.on_imu = [this](const ros::Imu& reading) {
    const absl::ReaderMutexLock lock(&mutex_);
    for (const auto& operation : operations_) operation->AddImu(reading);
  };
  GLINT_ASSIGN_OR_RETURN(input_, Input::Open(participant_.get(), config_, std::move(callbacks)));
  connection_ = std::make_unique<Connection>(Connection::Options{config_.server, SlotsOf(config_)}, input_.get());
  const Context context = {&config_, participant_.get(), input_.get(), connection_.get(), live_.get()};
  GLINT_RETURN_IF_ERROR(AddOperations(context));
  Diagnostics::Sources sources;
  sources.diagnose = [this] { return Diagnose(); };
  sources.now_ns = [this] { return config_.use_sim_time ? clock_ns_.load() : absl::GetCurrentTimeNanos(); };
  GLINT_ASSIGN_OR_RETURN(diagnostics_, Diagnostics::Open(context, std::move(sources)));
  std::vector<std::string> topics = participant_->OpenTopics();
  if (const auto unused = UnusedQos(config_, topics); !unused.empty()) {
    std::sort(topics.begin(), topics.end());
    return absl::InvalidArgumentError(absl::StrCat(
        "qos: ", absl::StrJoin(unused, ", "), ": the node has no such topic; it has ", absl::StrJoin(topics, ", ")));
  }
  return absl::OkStatus();
}

absl::Status Node::AddOperations(const Context& context) {
  const std::pair<bool, absl::StatusOr<std::unique_ptr<Operation>> (*)(const Context&)> all[] = {
      {config_.localize.enabled, MakeLocalize},
      {config_.stereo.enabled, MakeStereo},
      {config_.track.enabled, MakeTrack},
      {config_.detect.enabled, MakeDetect}};
  for (const auto& [enabled, make] : all) {
    if (!enabled) continue;
    GLINT_ASSIGN_OR_RETURN(auto operation, make(context));
    const absl::MutexLock lock(&mutex_);
    operations_.push_back(std::move(operation));
  }
  return absl::OkStatus();
}

Node::~Node() {
  diagnostics_.reset();
  Operations operations;
  {
    const absl::MutexLock lock(&mutex_);
    operations = std::move(operations_);
    operations_.clear();
  }
  operations.clear();  // without the lock: threads of DDS may wait for it
}

std::vector<ros::DiagnosticStatus> Node::Diagnose() {
  std::vector<ros::DiagnosticStatus> all;
  all.push_back(connection_->Diagnose());
  all.push_back(input_->Diagnose());
  all.back().name = std::string(absl::StripPrefix(all.back().name, absl::StrCat(config_.node_name, ": ")));
  if (clock_ != nullptr) {
    const SubscriptionCounts counts = clock_->counts();
    const bool is_there = counts.received > 0;
    ros::DiagnosticStatus& clock = all.emplace_back();
    clock.name = "clock";
    clock.level = is_there ? ros::DiagnosticStatus::kOk : ros::DiagnosticStatus::kWarn;
    clock.message =
        absl::StrCat(clock_->topic(), is_there ? ": time comes" : ": no time has come, for which use_sim_time waits");
    clock.values.push_back({"publishers", absl::StrCat(counts.matched)});
  }
  const absl::ReaderMutexLock lock(&mutex_);
  for (const auto& operation : operations_) all.push_back(operation->Diagnose());
  return all;
}

std::string Node::Text() const {
  const CameraConfig& camera = config_.camera;
  std::vector<std::string> topics;
  for (const std::string* topic : {&camera.left, &camera.right, &camera.depth, &config_.imu.topic}) {
    if (!topic->empty()) topics.push_back(config_.Topic(*topic));
  }
  const char* const domain = std::getenv("ROS_DOMAIN_ID");
  return absl::StrCat("node ", config_.node_namespace == "/" ? "" : config_.node_namespace, "/", config_.node_name,
                      ", domain ", domain == nullptr || *domain == '\0' ? "0" : domain, ", server ",
                      config_.server.address, ", from ", absl::StrJoin(topics, ", "));
}

}  // namespace glint::ros2
