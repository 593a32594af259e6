#include "server/access/access_rules.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "features/error.h"

namespace glint {
namespace {

constexpr absl::string_view kNameKeys[] = {"dns", "uri", "email", "ip"};

bool IsNameKey(absl::string_view key) {
  return std::find(std::begin(kNameKeys), std::end(kNameKeys), key) != std::end(kNameKeys);
}

bool IsNameCharacter(unsigned char c) {
  return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-' || c == '@' || c == '/' || c == ':';
}

absl::Status CheckName(absl::string_view name) {
  if (name.size() <= kMaxIdentityNameBytes && std::all_of(name.begin(), name.end(), IsNameCharacter)) {
    return absl::OkStatus();
  }
  return ContradictionError(
      "name", absl::StrCat("\"", Echo(name), "\" is not 1..", kMaxIdentityNameBytes, " letters, digits and ._-@/:"));
}

// Rules treat methods of the same name, which differ in the version of their service, as one.
absl::Status ParseMethods(absl::string_view value, const std::vector<std::string>& methods, uint64_t* may) {
  *may = 0;
  for (const absl::string_view name : absl::StrSplit(value, ',')) {
    uint64_t named = 0;
    for (size_t i = 0; i < methods.size(); ++i) named |= uint64_t{methods[i] == name} << i;
    if (named == 0) {
      const std::set<std::string> all(methods.begin(), methods.end());
      return NotOneOfError("may", name, absl::StrJoin(all, ", "));
    }
    *may |= named;
  }
  return absl::OkStatus();
}

template <typename T>
bool Contains(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// Compares all tokens, so that the duration does not reveal which one matched.
bool HasToken(const Identity& identity, const TokenDigest& token) {
  bool has = false;
  for (const TokenDigest& own : identity.tokens) has = SameDigest(own, token) || has;
  return has;
}

// Parser of an access file, line by line.
class RulesParser {
 public:
  explicit RulesParser(const std::vector<std::string>& methods) : methods_(methods) {}

  // False, and OK, for a line without an identity.
  absl::StatusOr<bool> Line(absl::string_view line, Identity* identity) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty() || words[0][0] == '#') return false;
    identity->name = std::string(words[0]);
    absl::Status status = CheckName(words[0]);
    if (status.ok()) status = Claim("name", absl::StrCat("name=", identity->name), *identity);
    bool may = false;
    for (size_t i = 1; status.ok() && i < words.size(); ++i) {
      const std::pair<absl::string_view, absl::string_view> field = absl::StrSplit(words[i], absl::MaxSplits('=', 1));
      if (field.first == "may" && std::exchange(may, true)) return ContradictionError("may", "is there twice");
      status = Field(field.first, field.second, identity);
    }
    if (!status.ok()) return status;
    const bool shows = !identity->tokens.empty() || !identity->names.empty() || !identity->uids.empty();
    if ((identity->name == kAnonymous) != shows) return true;
    return ContradictionError(identity->name,
                              shows ? "is for callers that show nothing, and takes \"may\" only"
                                    : "has none of token, dns, uri, email, ip, uid: nobody could be known by it");
  }

 private:
  absl::Status Field(absl::string_view key, absl::string_view value, Identity* identity) {
    if (value.empty()) return ContradictionError(key, "has no value");
    if (key == "may") return ParseMethods(value, methods_, &identity->methods);
    if (key == "token") {
      const std::optional<TokenDigest> digest = ParseDigest(value);
      // Not repeated: it may be the token itself.
      if (!digest.has_value()) return ContradictionError(key, "is not the SHA-256 of a token, 64 hexadecimal digits");
      identity->tokens.push_back(*digest);
      return Claim(key, absl::StrCat("token=", absl::AsciiStrToLower(value)), *identity);
    }
    if (key == "uid") {
      uint32_t uid = 0;
      if (!absl::SimpleAtoi(value, &uid)) return OutOfRangeError(key, value, uint32_t{0}, UINT32_MAX);
      identity->uids.push_back(uid);
      return Claim(key, absl::StrCat("uid=", uid), *identity);
    }
    if (!IsNameKey(key)) return NotOneOfError("field", key, "may, token, dns, uri, email, ip, uid");
    identity->names.push_back(absl::StrCat(key, "=", value));
    return Claim(key, identity->names.back(), *identity);
  }

  // Registers a credential of an identity: no two identities may share one.
  absl::Status Claim(absl::string_view key, const std::string& what, const Identity& identity) {
    const auto [claimed, first] = owners_.emplace(what, identity.name);
    if (first) return absl::OkStatus();
    return ContradictionError(key, absl::StrCat("is there before, with ", claimed->second));
  }

  const std::vector<std::string>& methods_;
  std::map<std::string, std::string> owners_;
};

}  // namespace

absl::StatusOr<AccessRules> AccessRules::Parse(absl::string_view file, absl::string_view text,
                                               const std::vector<std::string>& methods) {
  AccessRules rules;
  rules.methods_ = methods;
  RulesParser parser(methods);
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    Identity identity;
    const absl::StatusOr<bool> there = parser.Line(line, &identity);
    if (!there.ok()) {
      return absl::Status(there.status().code(),
                          absl::StrCat("access-file: ", file, ":", number, ": ", there.status().message()));
    }
    if (!*there) continue;
    if (rules.first_certificate_line_ == 0 && !identity.names.empty()) rules.first_certificate_line_ = number;
    rules.identities_.push_back(std::move(identity));
  }
  if (rules.identities_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("access-file: ", file, ": has no identity; nobody could call"));
  }
  return rules;
}

const Identity* AccessRules::Anonymous() const {
  for (const Identity& identity : identities_) {
    if (identity.name == kAnonymous) return &identity;
  }
  return nullptr;
}

absl::StatusOr<const Identity*> AccessRules::Identify(const Credentials& credentials) const {
  if (credentials.authorizations > 0) {
    if (credentials.authorizations > 1) return absl::UnauthenticatedError("authorization: is there more than once");
    if (!credentials.token.has_value()) return absl::UnauthenticatedError("authorization: is not \"Bearer TOKEN\"");
    const Identity* found = nullptr;
    for (const Identity& identity : identities_) {
      if (HasToken(identity, *credentials.token)) found = &identity;
    }
    if (found == nullptr) return absl::UnauthenticatedError("authorization: this token is not valid, or not any more");
    return found;
  }
  for (const Identity& identity : identities_) {
    for (const std::string& name : credentials.names) {
      if (Contains(identity.names, name)) return &identity;
    }
  }
  if (const Identity* const user = credentials.uid.has_value() ? OfUser(*credentials.uid) : nullptr; user != nullptr) {
    return user;
  }
  if (const Identity* const anonymous = Anonymous(); anonymous != nullptr) return anonymous;
  if (credentials.has_certificate) {
    return absl::PermissionDeniedError("certificate: its names are not allowed here, or not any more");
  }
  if (credentials.uid.has_value()) {
    return absl::PermissionDeniedError(
        absl::StrCat("user: ", *credentials.uid, " is not allowed here, or not any more, without a token"));
  }
  return absl::UnauthenticatedError("authorization: missing; this server wants a bearer token or a certificate");
}

absl::StatusOr<const Identity*> AccessRules::Check(const Credentials& credentials, size_t method) const {
  if (credentials.inside) return nullptr;
  auto identity = Identify(credentials);
  if (identity.ok() && ((*identity)->methods >> method & 1) == 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("method: ", (*identity)->name, " may not call ", methods_.at(method)));
  }
  return identity;
}

const Identity* AccessRules::OfUser(uint32_t uid) const {
  for (const Identity& identity : identities_) {
    if (Contains(identity.uids, uid)) return &identity;
  }
  return nullptr;
}

bool AccessRules::KnowsUser(uint32_t uid) const {
  return OfUser(uid) != nullptr || std::all_of(identities_.begin(), identities_.end(),
                                               [](const Identity& identity) { return identity.uids.empty(); });
}

}  // namespace glint
