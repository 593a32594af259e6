// Admission of calls (Service::Register): checks permissions and assigns each call to a client account. Admitted calls
// are checked again whenever the access rules change.
#ifndef GLINT_SERVER_RPC_GATE_H_
#define GLINT_SERVER_RPC_GATE_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/access/access_file.h"
#include "server/access/client_account.h"
#include "server/rpc/call.h"
#include "server/rpc/env.h"

namespace glint {

// Thread-safe. Locks are taken in the order of Gate, call.
class Gate {
 public:
  // `env` must outlive this. Errors of AccessFile::Load().
  static absl::StatusOr<std::unique_ptr<Gate>> Open(ServerEnv* env);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Admits a call of `method` with `context`, which lives as long as the call. OK: the call has an account, and Leave()
  // must follow before it is deleted. UNAUTHENTICATED, PERMISSION_DENIED: the call must end with this status.
  absl::Status Enter(Call* call, AsyncService::Method method, grpc::ServerContext* context);
  // Removes a call; no-op for one that has not entered.
  void Leave(Call* call);

  // True if there are access rules.
  bool guarded() const { return file_ != nullptr; }
  // The name of the user at the other end of a connected unix socket, as the accounts of his calls without a token have
  // it. PERMISSION_DENIED: he may not hand over memory.
  absl::StatusOr<std::string> AdmitHandoff(int fd) const;

  // Reloads the rules. Calls that are no longer permitted are told, and those that have not ended after kGrace are
  // cancelled.
  absl::Status Reload();

 private:
  explicit Gate(ServerEnv* env);
  static std::string ClientName(const Identity* identity, const Credentials& credentials, const std::string& peer);
  int RevokeCalls();
  void CancelRevoked();
  void Main();

  ServerEnv* const env_;
  ClientAccounts clients_;
  std::unique_ptr<AccessFile> file_;  // null: all may call everything

  std::mutex mutex_;  // guards the rest
  std::unordered_set<Call*> calls_;
  bool over_ = false;
  std::condition_variable ends_;
  std::thread watch_;  // watches the file and revoked calls; only with a file
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_GATE_H_
