#include "server/rpc/gate.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "features/status_macros.h"
#include "features/thread.h"
#include "server/net/unix_listener.h"
#include "server/rpc/credentials.h"
#include "server/rpc/peer.h"

namespace glint {
namespace {

// A changed file is read at the second check.
constexpr std::chrono::milliseconds kLook(100);
// Time that a revoked call has to tell its client.
constexpr int64_t kGraceNs = 600'000'000;

}  // namespace

Gate::Gate(ServerEnv* env) : env_(env), clients_(env->options.client_limits) {}

absl::StatusOr<std::unique_ptr<Gate>> Gate::Open(ServerEnv* env) {
  std::unique_ptr<Gate> gate(new Gate(env));
  if (env->options.access_file.empty()) return gate;
  gate->file_ = std::make_unique<AccessFile>(env->options.access_file, AsyncService::MethodNames(),
                                             !env->options.tls.client_ca.empty());
  GLINT_RETURN_IF_ERROR(gate->file_->Load());
  env->metrics.AccessIdentitiesAre(gate->file_->rules()->identities());
  GLINT_ASSIGN_OR_RETURN(gate->watch_, StartThread("access-file", [g = gate.get()] { g->Main(); }));
  return gate;
}

Gate::~Gate() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  ends_.notify_all();
  if (watch_.joinable()) watch_.join();
}

std::string Gate::ClientName(const Identity* identity, const Credentials& credentials, const std::string& peer) {
  if (identity != nullptr && identity->name != kAnonymous) return absl::StrCat("identity ", identity->name);
  if (credentials.uid.has_value()) return absl::StrCat("user ", *credentials.uid);
  return PeerOf(peer);
}

absl::Status Gate::Enter(Call* call, AsyncService::Method method, grpc::ServerContext* context) {
  Call::Admission& admission = call->admission_;
  admission.method = method;
  admission.context = context;
  const bool guarded = file_ != nullptr && !AsyncService::IsOpenToAll(method);
  if (guarded) admission.credentials = CredentialsOf(*context);
  if (!guarded) admission.credentials.uid = UserOfPeer(context->peer());
  // Within the lock, so that a call is either registered before the rules change or checked against the new ones.
  std::lock_guard<std::mutex> lock(mutex_);
  const Identity* identity = nullptr;
  const std::shared_ptr<const AccessRules> rules = guarded ? file_->rules() : nullptr;
  if (rules != nullptr) {
    const auto found = rules->Check(admission.credentials, method);
    if (!found.ok()) {
      env_->metrics.AccessRefused(found.status().code());
      return found.status();
    }
    identity = *found;
  }
  const std::string name = ClientName(identity, admission.credentials, context->peer());
  admission.client = clients_.Of(name, MonotonicNs());
  admission.peer = {name, SiteOf(name), context->peer()};
  calls_.insert(call);
  return absl::OkStatus();
}

void Gate::Leave(Call* call) {
  std::lock_guard<std::mutex> lock(mutex_);
  calls_.erase(call);
}

absl::StatusOr<std::string> Gate::AdmitHandoff(int fd) const {
  Credentials credentials;
  credentials.uid = UserOf(fd);
  const std::shared_ptr<const AccessRules> rules = file_ == nullptr ? nullptr : file_->rules();
  if (!credentials.uid.has_value() || (rules != nullptr && !rules->KnowsUser(*credentials.uid))) {
    return absl::PermissionDeniedError("user: may not hand over memory (--access-file)");
  }
  return ClientName(rules == nullptr ? nullptr : rules->OfUser(*credentials.uid), credentials, "");
}

absl::Status Gate::Reload() {
  if (file_ == nullptr) return absl::OkStatus();
  absl::Status loaded = file_->Load();
  env_->metrics.AccessReloaded(loaded.ok());
  if (!loaded.ok()) {
    env_->logger.Log(Severity::kError, "access not reloaded", {{"error", std::string(loaded.message())}});
    return loaded;
  }
  const size_t identities = file_->rules()->identities();
  env_->metrics.AccessIdentitiesAre(identities);
  const int revoked = RevokeCalls();
  env_->logger.Log(Severity::kInfo, "access reloaded",
                   {{"identities", absl::StrCat(identities)}, {"calls_revoked", absl::StrCat(revoked)}});
  return absl::OkStatus();
}

int Gate::RevokeCalls() {
  std::lock_guard<std::mutex> lock(mutex_);
  const std::shared_ptr<const AccessRules> rules = file_->rules();
  int revoked = 0;
  for (Call* call : calls_) {
    Call::Admission& admission = call->admission_;
    if (AsyncService::IsOpenToAll(admission.method) || admission.revoked_at != 0) continue;
    const auto allowed = rules->Check(admission.credentials, admission.method);
    if (allowed.ok()) continue;
    ++revoked;
    env_->metrics.AccessRevoked();
    admission.revoked_at = MonotonicNs();
    call->Revoke(allowed.status());
  }
  return revoked;
}

void Gate::CancelRevoked() {
  std::lock_guard<std::mutex> lock(mutex_);
  const int64_t now = MonotonicNs();
  for (Call* call : calls_) {
    const Call::Admission& admission = call->admission_;
    if (admission.revoked_at != 0 && now - admission.revoked_at >= kGraceNs) admission.context->TryCancel();
  }
}

void Gate::Main() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ends_.wait_for(lock, kLook, [this] { return over_; })) {
    lock.unlock();
    if (file_->HasChanged()) Reload().IgnoreError();  // it is logged
    CancelRevoked();
    lock.lock();
  }
}

}  // namespace glint
