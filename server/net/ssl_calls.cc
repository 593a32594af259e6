// SSL_read() and SSL_write() of glint-server, in place of OpenSSL's, which they call: behind them is what a guard of a
// TLS connection has to see. gRPC 1.51 decrypts and encrypts by them alone, one at a time for a connection.
#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "server/net/connections.h"

namespace glint {
namespace {

void Delete(void*, void* connection, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<TlsConnection*>(connection);
}

// Null for the client's side of a connection.
TlsConnection* ConnectionOf(SSL* ssl) {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, Delete);
  if (SSL_is_server(ssl) == 0) return nullptr;
  void* connection = SSL_get_ex_data(ssl, index);
  if (connection == nullptr) SSL_set_ex_data(ssl, index, connection = new TlsConnection);
  return static_cast<TlsConnection*>(connection);
}

}  // namespace
}  // namespace glint

extern "C" int SSL_read(SSL* ssl, void* bytes, int size) {
  static const auto original = reinterpret_cast<int (*)(SSL*, void*, int)>(dlsym(RTLD_NEXT, "SSL_read"));
  const int count = original(ssl, bytes, size);
  glint::TlsConnection* const connection = count > 0 ? glint::ConnectionOf(ssl) : nullptr;
  if (connection == nullptr || connection->Receive(bytes, static_cast<size_t>(count))) return count;
  ERR_raise(ERR_LIB_USER, ERR_R_OPERATION_FAIL);  // so that SSL_get_error() says that the connection cannot go on
  return -1;
}

extern "C" int SSL_write(SSL* ssl, const void* bytes, int size) {
  static const auto original = reinterpret_cast<int (*)(SSL*, const void*, int)>(dlsym(RTLD_NEXT, "SSL_write"));
  const int count = original(ssl, bytes, size);
  glint::TlsConnection* const connection = count > 0 ? glint::ConnectionOf(ssl) : nullptr;
  if (connection != nullptr) connection->Send(bytes, static_cast<size_t>(count));
  return count;
}
