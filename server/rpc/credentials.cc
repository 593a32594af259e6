#include "server/rpc/credentials.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/net/unix_listener.h"
#include "server/rpc/peer.h"

namespace glint {
namespace {

constexpr absl::string_view kScheme = "Bearer ";

void ReadToken(const grpc::ServerContext& context, Credentials* credentials) {
  const auto [first, last] = context.client_metadata().equal_range("authorization");
  for (auto header = first; header != last; ++header) {
    ++credentials->authorizations;
    const absl::string_view value(header->second.data(), header->second.size());
    if (!absl::StartsWithIgnoreCase(value, kScheme) || value.size() == kScheme.size()) continue;
    credentials->token = DigestOf(value.substr(kScheme.size()));
  }
}

void ReadCertificate(const grpc::ServerContext& context, Credentials* credentials) {
  const auto auth = context.auth_context();
  if (auth == nullptr || !auth->IsPeerAuthenticated()) return;
  credentials->has_certificate = !auth->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME).empty();
  static constexpr std::pair<const char*, const char*> kKinds[] = {{GRPC_PEER_DNS_PROPERTY_NAME, "dns"},
                                                                   {GRPC_PEER_URI_PROPERTY_NAME, "uri"},
                                                                   {GRPC_PEER_EMAIL_PROPERTY_NAME, "email"},
                                                                   {GRPC_PEER_IP_PROPERTY_NAME, "ip"}};
  for (const auto& [property, key] : kKinds) {
    for (const grpc::string_ref& value : auth->FindPropertyValues(property)) {
      credentials->names.push_back(absl::StrCat(key, "=", absl::string_view(value.data(), value.size())));
    }
  }
}

}  // namespace

Credentials CredentialsOf(const grpc::ServerContext& context) {
  Credentials credentials;
  const std::string peer = context.peer();
  credentials.inside = PeerOf(peer).empty();
  if (credentials.inside) return credentials;
  ReadToken(context, &credentials);
  ReadCertificate(context, &credentials);
  credentials.uid = UserOfPeer(peer);
  return credentials;
}

}  // namespace glint
