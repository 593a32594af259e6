#include "server/access/token_digest.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

namespace glint {

TokenDigest DigestOf(absl::string_view token) {
  TokenDigest digest;
  static_assert(std::tuple_size<TokenDigest>::value == SHA256_DIGEST_LENGTH, "of SHA-256");
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data());
  return digest;
}

std::optional<TokenDigest> ParseDigest(absl::string_view hex) {
  TokenDigest digest;
  const auto is_hex = [](unsigned char c) { return absl::ascii_isxdigit(c); };
  if (hex.size() != 2 * digest.size() || !std::all_of(hex.begin(), hex.end(), is_hex)) return std::nullopt;
  const std::string bytes = absl::HexStringToBytes(hex);
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

bool SameDigest(const TokenDigest& a, const TokenDigest& b) { return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

}  // namespace glint
