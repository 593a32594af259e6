// Bearer tokens as the server knows them: their SHA-256. A token is random and long, so its digest needs no salt and
// tells nothing about it.
#ifndef GLINT_SERVER_ACCESS_TOKEN_DIGEST_H_
#define GLINT_SERVER_ACCESS_TOKEN_DIGEST_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace glint {

using TokenDigest = std::array<uint8_t, 32>;

TokenDigest DigestOf(absl::string_view token);

// From 64 hexadecimal digits; nothing if it is anything else.
std::optional<TokenDigest> ParseDigest(absl::string_view hex);

// Takes as long whether they are equal or not, and wherever they differ.
bool SameDigest(const TokenDigest& a, const TokenDigest& b);

}  // namespace glint

#endif  // GLINT_SERVER_ACCESS_TOKEN_DIGEST_H_
