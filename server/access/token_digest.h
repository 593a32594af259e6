// Bearer tokens are stored as SHA-256 digests. A token is random and long, so the digest needs no salt and does not
// reveal the token.
#ifndef GLINT_SERVER_ACCESS_TOKEN_DIGEST_H_
#define GLINT_SERVER_ACCESS_TOKEN_DIGEST_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace glint {

using TokenDigest = std::array<uint8_t, 32>;

TokenDigest DigestOf(absl::string_view token);

// Parses 64 hexadecimal digits; nullopt for anything else.
std::optional<TokenDigest> ParseDigest(absl::string_view hex);

// Constant-time comparison: the duration does not depend on the contents.
bool SameDigest(const TokenDigest& a, const TokenDigest& b);

}  // namespace glint

#endif  // GLINT_SERVER_ACCESS_TOKEN_DIGEST_H_
