// The client of a Glint server: one call, one answer. For many frames with the same options see client/stream.h.
//
//   auto client = glint::client::Client::Connect("127.0.0.1:50051");
//   auto found = client->Detect(*glint::PresetOptions("orb"), image);  // image: glint::ImageView
//   if (found.ok()) Use(found->features);
//
// Errors are absl::Status with the codes of proto/glint/v1/feature_detection.proto. UNAVAILABLE: no server there, it
// went away or fell silent, or it is draining. DEADLINE_EXCEEDED: the call's timeout passed. RESOURCE_EXHAUSTED: a
// limit of the server, or no turn for the call (ClientOptions::patience). FAILED_PRECONDITION: the client is used in
// another process than the one that connected it, after fork(). ErrorInfoOf() of features/error.h has the field, value
// and range of errors about a value, of calls, streams and frames alike.
#ifndef GLINT_CLIENT_CLIENT_H_
#define GLINT_CLIENT_CLIENT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/image.h"
#include "client/localization.h"
#include "client/matching.h"
#include "client/result.h"
#include "client/shared_memory.h"
#include "client/stream.h"
#include "client/tracking.h"
#include "features/options.h"

namespace grpc {
class ChannelInterface;
}

namespace glint::client {

// PEM texts, not file names.
struct TlsOptions {
  std::string server_ca;         // of authorities whose servers are believed; empty: the system's
  std::string certificate, key;  // of this client, if the server asks for one; both or neither
};

// Of a call whose caller names no timeout; absl::InfiniteDuration() is none.
inline constexpr absl::Duration kDefaultCallTimeout = absl::Seconds(60);

struct ClientOptions {
  absl::Duration connect_timeout = absl::Seconds(5);
  // Keep trying until connect_timeout, for a server that is being started, instead of failing when refused.
  bool wait_for_server = false;
  // If set, asked every 50 ms while Connect() waits; true ends that with CANCELLED.
  std::function<bool()> stop;
  // While calls or streams are open, a ping is sent after `keepalive_time` without a byte from the server, and must be
  // answered within `keepalive_timeout`: else the connection counts as lost, and all on it ends with UNAVAILABLE.
  // 5 s..24 h (servers take more frequent pings for an attack) and 100 ms..24 h.
  absl::Duration keepalive_time = absl::Seconds(10);
  absl::Duration keepalive_timeout = absl::Seconds(10);
  // Largest message in either direction. The default holds an 8K frame in any format with a mask (7680 x 4320 x 5
  // bytes). The server has a limit of its own.
  int max_message_bytes = 256 << 20;
  // `address` stands for several equal servers ("dns:///NAME:PORT", or "ipv4:A:PORT,B:PORT"): streams and calls go to
  // them in turn, to those only whose health service says SERVING, and calls that no server has seen are tried again.
  bool balance = false;
  // Calls of Detect() and Match() that are under way at once, 1..4096; fewer once the server has named its limit
  // (--max-detect-calls), unless `balance`. Further calls, and those that the server refuses for now, wait in the order
  // of the calls: until their timeout (DEADLINE_EXCEEDED), or until no such call of the client was answered for
  // `patience` (RESOURCE_EXHAUSTED); 0: they are refused at once.
  int calls_at_once = 32;
  absl::Duration patience = absl::Seconds(30);
  // Unless set, the connection is neither encrypted nor authenticated.
  std::optional<TlsOptions> tls;
  // Bearer token that every call shows; empty: none. Without TLS, whoever is on the network can read it.
  std::string token;
};

// Thread-safe: any number of threads may call any method of one Client at the same time; they share a connection,
// which is opened again by itself after a failure. Move-only; must not be moved from or destroyed during a call.
// Streams may outlive the client that opened them.
class Client {
 public:
  // `address` is "host:port" or "unix:PATH". The connection is not sent through an HTTP proxy.
  // UNAVAILABLE when nothing answers there; the text has the reason, such as the name in the server's certificate, or
  // TLS at one end alone. INVALID_ARGUMENT: an address of another form, a token that no header can have, a keepalive
  // out of range. FAILED_PRECONDITION: a parent of this process has connected a client before its fork(), after which
  // gRPC does not work, unless its variable GRPC_ENABLE_FORK_SUPPORT is set to 1.
  static absl::StatusOr<Client> Connect(const std::string& address, const ClientOptions& options = {});

  // For channels made otherwise (TLS, a proxy, in-process): its message limits should be raised above 4 MiB.
  explicit Client(std::shared_ptr<grpc::ChannelInterface> channel);

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // Features of one image, where `mask` (GRAY8, of the image's size) is not 0. `traceparent`, `gray_range`, `camera`:
  // as StreamOptions'.
  absl::StatusOr<Detection> Detect(const DetectorOptions& options, const ImageInput& image, const ImageInput& mask = {},
                                   absl::Duration timeout = kDefaultCallTimeout, const std::string& traceparent = "",
                                   const GrayRange& gray_range = {},
                                   const std::optional<Camera>& camera = std::nullopt) const;

  // Opens a stream and sends its options. `on_result` gets one result per frame written; see client/stream.h.
  // Options that the server refuses are reported by a later Write() or by Finish().
  absl::StatusOr<std::unique_ptr<DetectStream>> OpenStream(const StreamOptions& options,
                                                           ResultCallback on_result) const;

  // One match (client/matching.h). `conditions` have an element for each query descriptor.
  absl::StatusOr<MatchFound> Match(const MatchSettings& settings, const MatchSide& query, const MatchSide& train,
                                   const QueryConditions& conditions = {}, absl::Duration timeout = kDefaultCallTimeout,
                                   const std::string& traceparent = "", const GrayRange& gray_range = {}) const;

  // As OpenStream(), for pairs.
  absl::StatusOr<std::unique_ptr<MatchStream>> OpenMatchStream(const MatchStreamOptions& options,
                                                               MatchCallback on_answer) const;
  absl::StatusOr<std::unique_ptr<StereoStream>> OpenStereoStream(const StereoStreamOptions& options,
                                                                 StereoCallback on_answer) const;
  // The same for frames of cameras whose points are followed (client/tracking.h).
  absl::StatusOr<std::unique_ptr<TrackStream>> OpenTrackStream(const TrackStreamOptions& options,
                                                               TrackCallback on_answer) const;
  // The same for pairs of a stereo camera that is to be located (client/localization.h).
  absl::StatusOr<std::unique_ptr<LocalizeStream>> OpenLocalizeStream(const LocalizeStreamOptions& options,
                                                                     LocalizeCallback on_answer) const;

  // Memory that the server reads pixels from in place. FAILED_PRECONDITION: the client was not connected to a unix
  // socket, or the server shares no memory. RESOURCE_EXHAUSTED: more than the server takes. UNAVAILABLE: the memory
  // cannot be had or handed over. The ring may outlive the client.
  absl::StatusOr<std::unique_ptr<SharedMemoryRing>> ShareMemory(const RingOptions& options) const;

  absl::StatusOr<ServerInfo> GetServerInfo(absl::Duration timeout = absl::Seconds(5)) const;

  // `service` is empty for the server as a whole, or a service of it, such as "glint.v1.FeatureDetection".
  absl::StatusOr<Health> CheckHealth(const std::string& service = "", absl::Duration timeout = absl::Seconds(5)) const;

  // Ends all calls and streams of this client, and later ones as they begin: CANCELLED. Does not wait.
  void Cancel() const;

 private:
  struct Impl;

  template <typename Stream, typename Options, typename Callback>
  absl::StatusOr<std::unique_ptr<Stream>> Open(const Options& options, Callback callback) const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_CLIENT_H_
