#include "ros2/operations/connection.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "features/read_file.h"
#include "features/status_macros.h"
#include "features/steady_time.h"
#include "ros2/operations/complain.h"

namespace glint::ros2 {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(20), kMaxPause = absl::Seconds(1);
// A connection that lived shorter is no reason to try again at once.
constexpr absl::Duration kGood = absl::Seconds(2);
constexpr absl::Duration kConnectTimeout = absl::Seconds(2), kInfoTimeout = absl::Seconds(1);
constexpr int kFewestSlots = 8;
constexpr absl::Duration kPoll = absl::Milliseconds(100), kShareAgain = absl::Seconds(10);
// A server that fell silent is noticed within 10 s.
constexpr absl::Duration kKeepalive = absl::Seconds(5);

absl::StatusOr<std::string> ReadFile(absl::string_view key, const std::string& path) {
  if (path.empty()) return std::string();
  auto text = ReadWholeFile(path);
  if (!text.ok()) return absl::NotFoundError(absl::StrCat(key, ": ", text.status().message()));
  return text;
}

// Read for each connection: files may be renewed.
absl::StatusOr<client::ClientOptions> ClientOptionsOf(const ServerConfig& server) {
  client::ClientOptions options;
  options.connect_timeout = kConnectTimeout;
  options.keepalive_time = options.keepalive_timeout = kKeepalive;
  options.balance = absl::StartsWith(server.address, "dns:") || absl::StartsWith(server.address, "ipv4:") ||
                    absl::StartsWith(server.address, "ipv6:");
  GLINT_ASSIGN_OR_RETURN(options.token, ReadFile("server.token_file", server.token_file));
  absl::StripAsciiWhitespace(&options.token);
  if (!server.tls && server.ca_file.empty() && server.certificate_file.empty()) return options;
  client::TlsOptions tls;
  GLINT_ASSIGN_OR_RETURN(tls.server_ca, ReadFile("server.ca_file", server.ca_file));
  GLINT_ASSIGN_OR_RETURN(tls.certificate, ReadFile("server.certificate_file", server.certificate_file));
  GLINT_ASSIGN_OR_RETURN(tls.key, ReadFile("server.key_file", server.key_file));
  options.tls = std::move(tls);
  return options;
}

}  // namespace

Connection::Connection(const Options& options, Input* input)
    : options_(options), input_(input), since_(SteadyNow()), thread_([this] { Run(); }) {}

Connection::~Connection() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

std::shared_ptr<const client::Client> Connection::client() const {
  const absl::MutexLock lock(&mutex_);
  return client_;
}

std::optional<client::ServerInfo> Connection::server() const {
  const absl::MutexLock lock(&mutex_);
  return server_;
}

absl::Status Connection::given_up() const {
  const absl::MutexLock lock(&mutex_);
  return given_up_;
}

void Connection::Lost(const std::shared_ptr<const client::Client>& client, const absl::Status& why) {
  {
    const absl::MutexLock lock(&mutex_);
    if (client == nullptr || client_ != client) return;
    client_ = nullptr;
    error_ = why;
    since_ = SteadyNow();
    input_->UseRing(nullptr);  // here, so that no later frame is in memory that the next server does not know
  }
  Complain(absl::StrCat("server ", options_.server.address, " is lost: ", why.message()));
}

void Connection::Run() {
  absl::Duration pause = kPause;
  while (true) {
    const absl::Status connected = Connect();
    if (connected.ok()) {
      const absl::Time begin = SteadyNow();
      while (client() != nullptr && !stopping()) {
        Share();
        Wait(kPoll);
      }
      if (SteadyNow() - begin > kGood) pause = kPause;
    } else {
      const absl::MutexLock lock(&mutex_);
      if (error_ != connected && !stopping_) {
        Complain(absl::StrCat("server: ", connected.message(), "; trying again"));
      }
      error_ = connected;
      const absl::Duration patience = absl::Seconds(options_.server.give_up_after);
      if (given_up_.ok() && patience > absl::ZeroDuration() && SteadyNow() - since_ > patience) {
        given_up_ = absl::UnavailableError(
            absl::StrCat("no server for ", options_.server.give_up_after, " s: ", connected.message()));
      }
    }
    Wait(pause);
    if (stopping()) break;
    pause = std::min(2 * pause, kMaxPause);
  }
  input_->UseRing(nullptr);
}

absl::Status Connection::Connect() {
  GLINT_ASSIGN_OR_RETURN(client::ClientOptions options, ClientOptionsOf(options_.server));
  options.stop = [this] { return stopping(); };
  GLINT_ASSIGN_OR_RETURN(client::Client connected, client::Client::Connect(options_.server.address, options));
  // Refused to some by access rules, and no condition.
  const absl::StatusOr<client::ServerInfo> info = connected.GetServerInfo(kInfoTimeout);
  std::string text = absl::StrCat("connected to ", options_.server.address);
  if (info.ok()) absl::StrAppend(&text, " (", info->version, ", ", info->device, ")");
  Complain(text);
  slot_bytes_ = 0;
  slots_ = options_.slots;
  share_at_ = absl::InfinitePast();
  const absl::MutexLock lock(&mutex_);
  client_ = std::make_shared<const client::Client>(std::move(connected));
  server_ = info.ok() ? std::optional<client::ServerInfo>(*info) : std::nullopt;
  memory_ = "messages";
  error_ = absl::OkStatus();
  since_ = SteadyNow();
  ++connections_;
  return absl::OkStatus();
}

void Connection::Share() {
  const std::shared_ptr<const client::Client> client = this->client();
  const size_t bytes = input_->image_bytes();
  if (client == nullptr || !absl::StartsWith(options_.server.address, "unix:") || bytes <= slot_bytes_ ||
      SteadyNow() < share_at_) {
    return;
  }
  client::RingOptions options;
  options.slots = slots_;
  options.slot_bytes = bytes;
  auto ring = client->ShareMemory(options);
  const absl::MutexLock lock(&mutex_);
  if (client_ != client) return;  // lost meanwhile
  if (ring.ok()) {
    slot_bytes_ = (*ring)->slot_bytes();
    input_->UseRing(*std::move(ring));
    memory_ = absl::StrCat("shared memory, ", options.slots, " x ", slot_bytes_, " bytes");
    return;
  }
  if (absl::IsResourceExhausted(ring.status()) && slots_ / 2 >= kFewestSlots) {
    slots_ /= 2;
    return;
  }
  const std::string refused = absl::StrCat("messages, since memory cannot be shared: ", ring.status().message());
  if (memory_ != refused) Complain(absl::StrCat("images go by ", refused));
  memory_ = refused;
  share_at_ = SteadyNow() + kShareAgain;
}

bool Connection::stopping() const {
  const absl::MutexLock lock(&mutex_);
  return stopping_;
}

void Connection::Wait(absl::Duration duration) {
  const absl::MutexLock lock(&mutex_);
  const bool was_connected = client_ != nullptr;
  const auto changed = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || (was_connected && client_ == nullptr);
  };
  mutex_.AwaitWithTimeout(absl::Condition(&changed), duration);
}

ros::DiagnosticStatus Connection::Diagnose() {
  const absl::MutexLock lock(&mutex_);
  ros::DiagnosticStatus status;
  status.name = "server";
  const bool connected = client_ != nullptr;
  status.level = connected ? ros::DiagnosticStatus::kOk : ros::DiagnosticStatus::kError;
  status.message = connected ? "connected" : absl::StrCat("no server: ", error_.message());
  const auto add = [&status](absl::string_view key, std::string value) {
    status.values.push_back({std::string(key), std::move(value)});
  };
  add("address", options_.server.address);
  add("seconds", absl::StrCat(absl::ToInt64Seconds(SteadyNow() - since_)));
  add("connections", absl::StrCat(connections_));
  if (connected) add("images", memory_);
  if (server_.has_value()) {
    add("version", server_->version);
    add("device", server_->device);
  }
  return status;
}

}  // namespace glint::ros2
