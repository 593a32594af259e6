#include "client/client.h"

#include <grpc/grpc.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/bearer.h"
#include "client/call_gate.h"
#include "client/connect_error.h"
#include "client/health.h"
#include "client/localization_impl.h"
#include "client/matching_impl.h"
#include "client/open_calls.h"
#include "client/rig_wire.h"
#include "client/stream_impl.h"
#include "client/tracking_impl.h"
#include "client/wire.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "features/steady_time.h"
#include "glint/v1/feature_detection.grpc.pb.h"
#include "glint/v1/server.grpc.pb.h"
#include "proto/grpc_deadline.h"
#include "proto/handoff.h"
#include "proto/traceparent.h"

namespace glint::client {
namespace {

void SetTimeout(absl::Duration timeout, grpc::ClientContext* context) {
  if (timeout < absl::InfiniteDuration()) context->set_deadline(GrpcDeadline(timeout));
}

absl::Status SetTraceparent(const std::string& traceparent, grpc::ClientContext* context) {
  if (traceparent.empty()) return absl::OkStatus();
  if (!ParseTraceparent(traceparent).has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("traceparent: \"", traceparent, "\" is none of W3C Trace Context, 00-<32>-<16>-<2 hex digits>"));
  }
  context->AddMetadata(kTraceparentKey, traceparent);
  return absl::OkStatus();
}

absl::Status CheckInFlight(int in_flight) {
  return in_flight >= 1 && in_flight <= 4096 ? absl::OkStatus() : OutOfRangeError("in_flight", in_flight, 1, 4096);
}

// gRPC 1.51 stops its threads with the last object that uses it, and then waits for a helper of its sockets that sleeps
// for up to 10 s after large writes. One reference that is never given back spares programs that wait at their end.
// Returns the process that took it, which has gRPC's threads.
pid_t KeepGrpcRunning() {
  static const pid_t process = (grpc_init(), getpid());
  return process;
}

absl::Status CheckProcess(pid_t process, absl::string_view remedy) {
  if (process == getpid()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("client: gRPC's threads are those of process ", process,
                                                    ", and this is process ", getpid(), ", after fork(); ", remedy));
}

constexpr int kMaxCallsAtOnce = 4096;
constexpr absl::Duration kStopPoll = absl::Milliseconds(50);
constexpr absl::Duration kShortestKeepaliveTime = absl::Seconds(5), kShortestKeepaliveTimeout = absl::Milliseconds(100),
                         kLongestKeepalive = absl::Hours(24);

absl::Status CheckKeepalive(const char* name, absl::Duration value, absl::Duration shortest) {
  if (value >= shortest && value <= kLongestKeepalive) return absl::OkStatus();
  return OutOfRangeError(name, absl::FormatDuration(value), absl::FormatDuration(shortest),
                         absl::FormatDuration(kLongestKeepalive));
}

// gRPC's own balancing, health checking and retries, of all methods; a call is tried again as long as no answer to it
// has begun.
constexpr char kBalancedServiceConfig[] = R"json({
  "loadBalancingConfig": [{"round_robin": {}}],
  "healthCheckConfig": {"serviceName": ""},
  "methodConfig": [{
    "name": [{}],
    "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.05s", "maxBackoff": "1s", "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE"]}
  }]
})json";

// `said` with what a look at the server shows.
absl::Status NotConnected(std::string said, const std::string& address, const ClientOptions& options) {
  if (const std::string why = WhyNotConnected(address, options.tls); !why.empty()) absl::StrAppend(&said, ": ", why);
  return absl::UnavailableError(said);
}

// OK once the channel is connected. A refusal is final unless the caller waits for the server.
absl::Status WaitUntilConnected(grpc::Channel* channel, const std::string& address, const ClientOptions& options) {
  const absl::Time deadline = SteadyNow() + options.connect_timeout;
  for (bool failed = false;;) {
    const grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY) return absl::OkStatus();
    if (state == GRPC_CHANNEL_SHUTDOWN) break;
    failed = failed || state == GRPC_CHANNEL_TRANSIENT_FAILURE;
    if (failed && !options.wait_for_server) break;
    const absl::Duration left = deadline - SteadyNow();
    if (left <= absl::ZeroDuration()) {
      std::string said =
          absl::StrCat("no answer from ", address, " within ", absl::FormatDuration(options.connect_timeout));
      return failed ? NotConnected(std::move(said), address, options) : absl::UnavailableError(said);
    }
    if (options.stop && options.stop()) return absl::CancelledError(absl::StrCat("not connected to ", address, " yet"));
    channel->WaitForStateChange(state, GrpcDeadline(options.stop ? std::min(left, kStopPoll) : left));
  }
  return NotConnected(absl::StrCat("cannot connect to ", address), address, options);
}

}  // namespace

struct Client::Impl {
  absl::Status Check() const { return CheckProcess(process, "connect a client in each process"); }
  // What calls and streams begin with.
  absl::Status Begin(const std::string& traceparent, grpc::ClientContext* context) const {
    GLINT_RETURN_IF_ERROR(Check());
    return SetTraceparent(traceparent, context);
  }
  // Makes a call of Detect() or Match() by `send` when it is its turn; again if the server refuses it for now.
  absl::Status CallInTurn(absl::Duration timeout, const std::string& traceparent,
                          const std::function<absl::Status(grpc::ClientContext*)>& send) const {
    GLINT_RETURN_IF_ERROR(Check());
    CallGate::Turn turn(gate.get(), timeout);
    for (;;) {
      GLINT_RETURN_IF_ERROR(turn.Wait());
      grpc::ClientContext context;
      const OpenCall open(calls, &context);
      SetTimeout(turn.left(), &context);
      GLINT_RETURN_IF_ERROR(SetTraceparent(traceparent, &context));
      absl::Status status = send(&context);
      if (!turn.Refused(status)) return status;
    }
  }

  const pid_t process = getpid();
  std::string address;  // empty: the caller made the channel
  std::shared_ptr<grpc::ChannelInterface> channel;
  std::unique_ptr<v1::FeatureDetection::Stub> stub;
  const std::shared_ptr<OpenCalls> calls = std::make_shared<OpenCalls>();
  std::unique_ptr<CallGate> gate;  // of Detect() and Match()
};

absl::StatusOr<Client> Client::Connect(const std::string& address, const ClientOptions& options) {
  const char* const fork_support = std::getenv("GRPC_ENABLE_FORK_SUPPORT");
  if (fork_support == nullptr || absl::string_view(fork_support) != "1") {
    GLINT_RETURN_IF_ERROR(CheckProcess(KeepGrpcRunning(), "fork before the first client is connected"));
  }
  GLINT_RETURN_IF_ERROR(CheckAddress("address", address));
  GLINT_RETURN_IF_ERROR(CheckKeepalive("keepalive_time", options.keepalive_time, kShortestKeepaliveTime));
  GLINT_RETURN_IF_ERROR(CheckKeepalive("keepalive_timeout", options.keepalive_timeout, kShortestKeepaliveTimeout));
  GLINT_RETURN_IF_ERROR(CheckRange("calls_at_once", options.calls_at_once, 1, kMaxCallsAtOnce));
  if (options.patience < absl::ZeroDuration()) {
    return OutOfRangeText("patience", absl::FormatDuration(options.patience), "0s", "inf");
  }
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(absl::ToInt64Milliseconds(options.keepalive_time)));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                   static_cast<int>(absl::ToInt64Milliseconds(options.keepalive_timeout)));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // else the third ping waits for data
  // How long an attempt to connect may take: a machine that is gone refuses nothing.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetMaxReceiveMessageSize(options.max_message_bytes);
  arguments.SetMaxSendMessageSize(options.max_message_bytes);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A server that is being started is tried again soon, not after gRPC's growing pauses of up to two minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  if (options.balance) arguments.SetServiceConfigJSON(kBalancedServiceConfig);
  // Connections are not shared behind the caller's back: two clients are two connections.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (options.tls.has_value()) {
    credentials = grpc::SslCredentials({options.tls->server_ca, options.tls->key, options.tls->certificate});
  }
  GLINT_RETURN_IF_ERROR(options.token.empty() ? absl::OkStatus() : CheckToken(options.token));
  auto channel = options.token.empty() ? grpc::CreateCustomChannel(address, credentials, arguments)
                                       : grpc::experimental::CreateCustomChannelWithInterceptors(
                                             address, credentials, arguments, BearerInterceptors(options.token));
  GLINT_RETURN_IF_ERROR(WaitUntilConnected(channel.get(), address, options));
  Client client(std::move(channel));
  client.impl_->address = address;
  client.impl_->gate = std::make_unique<CallGate>(options.calls_at_once, options.patience, !options.balance);
  return client;
}

Client::Client(std::shared_ptr<grpc::ChannelInterface> channel) : impl_(std::make_unique<Impl>()) {
  KeepGrpcRunning();
  const ClientOptions defaults{};
  impl_->gate = std::make_unique<CallGate>(defaults.calls_at_once, defaults.patience, !defaults.balance);
  impl_->stub = v1::FeatureDetection::NewStub(channel);
  impl_->channel = std::move(channel);
}

Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

absl::StatusOr<Detection> Client::Detect(const DetectorOptions& options, const ImageInput& image,
                                         const ImageInput& mask, absl::Duration timeout, const std::string& traceparent,
                                         const GrayRange& gray_range, const std::optional<Camera>& camera) const {
  const absl::Time start = SteadyNow();
  Detection detection;
  const auto send = [&](grpc::ClientContext* context) -> absl::Status {
    v1::DetectRequest request;
    if (gray_range.wanted()) ToWire(gray_range, request.mutable_gray_range());
    ToWire(options, kDetectDefaults, request.mutable_detector());
    GLINT_RETURN_IF_ERROR(ToWire("image", image, request.mutable_image()));
    if (image.region.wanted()) ToWire(image.region, request.mutable_region());
    if (camera.has_value()) ToWire(*camera, request.mutable_camera());
    if (mask.kind != ImageInput::Kind::kNone) {
      GLINT_RETURN_IF_ERROR(ToWire("mask", mask, request.mutable_mask()));
    }
    v1::DetectResponse response;
    if (grpc::Status status = impl_->stub->Detect(context, request, &response); !status.ok()) return FromGrpc(status);
    GLINT_RETURN_IF_ERROR(FromWire(response.features(), camera.has_value(), &detection.features, &detection.rays));
    detection.warnings = FromWire(response.warnings());
    FromWire(response.timings(), &detection.timings);
    return absl::OkStatus();
  };
  GLINT_RETURN_IF_ERROR(impl_->CallInTurn(timeout, traceparent, send));
  detection.round_trip = SteadyNow() - start;
  return detection;
}

template <typename Stream, typename Options, typename Callback>
absl::StatusOr<std::unique_ptr<Stream>> Client::Open(const Options& options, Callback callback) const {
  GLINT_RETURN_IF_ERROR(CheckInFlight(options.in_flight));
  auto impl = std::make_unique<typename Stream::Impl>(impl_->channel, options, std::move(callback));
  impl->core.Prepare(options.timeout, impl_->calls);
  GLINT_RETURN_IF_ERROR(impl_->Begin(options.traceparent, &impl->core.context));
  GLINT_RETURN_IF_ERROR(impl->Open(options));
  return std::unique_ptr<Stream>(new Stream(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<DetectStream>> Client::OpenStream(const StreamOptions& options,
                                                                 ResultCallback on_result) const {
  return Open<DetectStream>(options, std::move(on_result));
}

absl::StatusOr<MatchFound> Client::Match(const MatchSettings& settings, const MatchSide& query, const MatchSide& train,
                                         const QueryConditions& conditions, absl::Duration timeout,
                                         const std::string& traceparent, const GrayRange& gray_range) const {
  const absl::Time start = SteadyNow();
  MatchFound found;
  const auto send = [&](grpc::ClientContext* context) -> absl::Status {
    const auto stub = v1::FeatureMatching::NewStub(impl_->channel);
    GLINT_ASSIGN_OR_RETURN(found, MatchOnce(stub.get(), context, settings, query, train, conditions, gray_range));
    return absl::OkStatus();
  };
  GLINT_RETURN_IF_ERROR(impl_->CallInTurn(timeout, traceparent, send));
  found.round_trip = SteadyNow() - start;
  return found;
}

absl::StatusOr<std::unique_ptr<MatchStream>> Client::OpenMatchStream(const MatchStreamOptions& options,
                                                                     MatchCallback on_answer) const {
  return Open<MatchStream>(options, std::move(on_answer));
}

absl::StatusOr<std::unique_ptr<StereoStream>> Client::OpenStereoStream(const StereoStreamOptions& options,
                                                                       StereoCallback on_answer) const {
  return Open<StereoStream>(options, std::move(on_answer));
}

absl::StatusOr<std::unique_ptr<TrackStream>> Client::OpenTrackStream(const TrackStreamOptions& options,
                                                                     TrackCallback on_answer) const {
  return Open<TrackStream>(options, std::move(on_answer));
}

absl::StatusOr<std::unique_ptr<LocalizeStream>> Client::OpenLocalizeStream(const LocalizeStreamOptions& options,
                                                                           LocalizeCallback on_answer) const {
  return Open<LocalizeStream>(options, std::move(on_answer));
}

absl::StatusOr<std::unique_ptr<SharedMemoryRing>> Client::ShareMemory(const RingOptions& options) const {
  std::string socket = options.socket;
  if (socket.empty()) {
    absl::string_view path = impl_->address;
    if (!absl::ConsumePrefix(&path, "unix:")) {
      return absl::FailedPreconditionError(
          absl::StrCat("shared memory: needs a server at unix:PATH, not at \"", impl_->address, "\""));
    }
    if (absl::StartsWith(path, "//")) path.remove_prefix(2);  // unix:///PATH
    socket = absl::StrCat(path, kHandoffSuffix);
  }
  GLINT_ASSIGN_OR_RETURN(const auto info, GetServerInfo());
  if (info.shared_memory_socket.empty()) {
    return absl::FailedPreconditionError("shared memory: this server shares none (--shared-memory)");
  }
  return SharedMemoryRing::Create(impl_->channel, socket, options);
}

absl::StatusOr<ServerInfo> Client::GetServerInfo(absl::Duration timeout) const {
  grpc::ClientContext context;
  const OpenCall open(impl_->calls, &context);
  SetTimeout(timeout, &context);
  GLINT_RETURN_IF_ERROR(impl_->Check());
  v1::GetServerInfoResponse response;
  const auto stub = v1::Server::NewStub(impl_->channel);
  if (grpc::Status status = stub->GetServerInfo(&context, {}, &response); !status.ok()) return FromGrpc(status);
  return FromWire(response);
}

absl::StatusOr<Health> Client::CheckHealth(const std::string& service, absl::Duration timeout) const {
  GLINT_RETURN_IF_ERROR(impl_->Check());
  return client::CheckHealth(impl_->channel, service, timeout, impl_->calls);
}

void Client::Cancel() const {
  impl_->gate->Cancel();
  impl_->calls->CancelAll();
}

}  // namespace glint::client
