// Access rules: which identity may call which method. They are the content of --access-file (format: docs/access.md).
#ifndef GLINT_SERVER_ACCESS_ACCESS_RULES_H_
#define GLINT_SERVER_ACCESS_ACCESS_RULES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/access/token_digest.h"

namespace glint {

// Identity of callers without credentials, if the access file defines it.
inline constexpr char kAnonymous[] = "anonymous";
inline constexpr size_t kMaxAccessFileBytes = size_t{1} << 20;
inline constexpr size_t kMaxIdentityNameBytes = 64;

// The credentials of one call.
struct Credentials {
  bool inside = false;               // the call comes from this process
  int authorizations = 0;            // number of "authorization" headers
  std::optional<TokenDigest> token;  // digest of the bearer token, if there is one
  bool has_certificate = false;      // a client certificate that TLS has verified
  std::vector<std::string> names;    // in that certificate, as "dns=camera.example"
  std::optional<uint32_t> uid;       // of the process at the other end of a unix socket
};

struct Identity {
  std::string name;
  std::vector<TokenDigest> tokens;
  std::vector<std::string> names;  // as in Credentials
  std::vector<uint32_t> uids;
  uint64_t methods = ~uint64_t{0};  // bit i: it may call the i-th method
};

// Immutable, hence thread-safe.
class AccessRules {
 public:
  // Parses the text of an access file. INVALID_ARGUMENT names `file`, line and field. `methods`: at most 64 names that
  // rules may use; a method's index identifies it from then on.
  static absl::StatusOr<AccessRules> Parse(absl::string_view file, absl::string_view text,
                                           const std::vector<std::string>& methods);

  // Returns the identity of the caller, if it may call the method; null for a call from this process. A bearer token
  // takes precedence over the certificate, the certificate over the user of a unix socket, and that over the line
  // "anonymous". UNAUTHENTICATED: the caller is unknown. PERMISSION_DENIED: the caller is known and may not call the
  // method. Error texts do not repeat the credentials.
  absl::StatusOr<const Identity*> Check(const Credentials& credentials, size_t method) const;

  // The identity of a user of unix sockets; null if no identity has this user.
  const Identity* OfUser(uint32_t uid) const;
  // True if a process of this user may register shared memory: the user belongs to an identity, or the file has no
  // rules for users.
  bool KnowsUser(uint32_t uid) const;

  size_t identities() const { return identities_.size(); }
  // The line number of the first identity that is identified by a certificate; 0 if there is none.
  int first_certificate_line() const { return first_certificate_line_; }

 private:
  absl::StatusOr<const Identity*> Identify(const Credentials& credentials) const;
  const Identity* Anonymous() const;

  std::vector<std::string> methods_;
  std::vector<Identity> identities_;
  int first_certificate_line_ = 0;
};

}  // namespace glint

#endif  // GLINT_SERVER_ACCESS_ACCESS_RULES_H_
