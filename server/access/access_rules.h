// Who may call what: the content of the file that --access-file names (docs/access.md has its format).
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

// The identity of callers that show nothing, where a line of the file has this name.
inline constexpr char kAnonymous[] = "anonymous";
inline constexpr size_t kMaxAccessFileBytes = size_t{1} << 20;
inline constexpr size_t kMaxIdentityNameBytes = 64;

// What a call has shown.
struct Credentials {
  bool inside = false;               // the call comes from this process
  int authorizations = 0;            // how many headers "authorization" it has
  std::optional<TokenDigest> token;  // of the bearer token, if the header is one
  bool has_certificate = false;      // of a client, which TLS has verified
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
  // `file` is named in errors, with line and field: INVALID_ARGUMENT. `methods`: the names that rules may use, at most
  // 64; a method is known by its place among them from then on.
  static absl::StatusOr<AccessRules> Parse(absl::string_view file, absl::string_view text,
                                           const std::vector<std::string>& methods);

  // The identity that may call the method; null for a call of this process. A token that is sent decides alone, then
  // the certificate does, then the user of a unix socket, then the line "anonymous". UNAUTHENTICATED: it is unknown who
  // this is. PERMISSION_DENIED: it is known, and may not. The texts do not repeat what was shown.
  absl::StatusOr<const Identity*> Check(const Credentials& credentials, size_t method) const;

  // Whether a process of this user may hand over memory: it is an identity's, or users do not matter in this file.
  bool KnowsUser(uint32_t uid) const;

  size_t identities() const { return identities_.size(); }
  // The line of the first identity that is known by its certificate; 0: none.
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
