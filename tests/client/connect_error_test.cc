// What Client::Connect() says where no connection comes about.
#include "client/connect_error.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/client.h"
#include "glint/v1/server.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/silent_server.h"
#include "tests/support/certificates.h"

namespace glint::client {
namespace {

using ::glint::testing::Authority;
using ::glint::testing::CertificateOptions;
using ::glint::testing::CertifiedKey;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ConnectErrorTest : public ::testing::Test {
 protected:
  ~ConnectErrorTest() override {
    if (server_ != nullptr) server_->Shutdown();
  }
  void Start(const std::shared_ptr<grpc::ServerCredentials>& credentials) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    builder.AddListeningPort("127.0.0.1:0", credentials, &port_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  void StartTls(const CertificateOptions& options = {}, bool clients_need_one = false) {
    const CertifiedKey own = authority_.Issue(options);
    grpc::SslServerCredentialsOptions tls(clients_need_one ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                                           : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
    if (clients_need_one) tls.pem_root_certs = authority_.certificate();
    tls.pem_key_cert_pairs.push_back({own.key, own.certificate});
    Start(grpc::SslServerCredentials(tls));
  }
  // What a client with these options is told; "" if it connects.
  std::string Error(const std::optional<TlsOptions>& tls) const {
    ClientOptions options;
    options.tls = tls;
    options.connect_timeout = absl::Seconds(30);
    const std::string address = absl::StrCat("127.0.0.1:", port_);
    const absl::Status status = Client::Connect(address, options).status();
    if (status.ok()) return "";
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr(absl::StrCat("cannot connect to ", address, ": ")));
    return std::string(status.message());
  }
  TlsOptions Believe(const Authority& authority) const { return {authority.certificate(), "", ""}; }

  const Authority authority_{"authority"};
  v1::Server::Service service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

TEST_F(ConnectErrorTest, TlsAtOneEndAlone) {
  StartTls();
  EXPECT_EQ(Error(Believe(authority_)), "");
  EXPECT_THAT(Error(std::nullopt), HasSubstr("the server has TLS there"));
}

TEST_F(ConnectErrorTest, TlsAtTheOtherEndAlone) {
  Start(grpc::InsecureServerCredentials());
  EXPECT_EQ(Error(std::nullopt), "");
  EXPECT_THAT(Error(Believe(authority_)), HasSubstr("the server has no TLS there"));
}

TEST_F(ConnectErrorTest, ACertificateForAnotherName) {
  CertificateOptions options;
  options.names = "DNS:elsewhere.example";
  StartTls(options);
  EXPECT_THAT(Error(Believe(authority_)), HasSubstr("the server's certificate is not for \"127.0.0.1\""));
}

TEST_F(ConnectErrorTest, AnAuthorityThatIsNotBelieved) {
  StartTls();
  EXPECT_THAT(Error(Believe(Authority("stranger"))), HasSubstr("of no authority that this client believes"));
  EXPECT_THAT(Error(TlsOptions{"no certificate", "", ""}), HasSubstr("no certificate in the text"));
}

TEST_F(ConnectErrorTest, ACertificateThatHasExpired) {
  CertificateOptions options;
  options.ends = -absl::Minutes(1);
  StartTls(options);
  EXPECT_THAT(Error(Believe(authority_)), HasSubstr("the server's certificate is refused: certificate has expired"));
}

TEST_F(ConnectErrorTest, AClientWithoutACertificateAndWithFilesThatDoNotFit) {
  StartTls({}, true);
  CertificateOptions options;
  options.usage = "clientAuth";
  const CertifiedKey own = authority_.Issue(options), other = authority_.Issue(options);
  EXPECT_EQ(Error(TlsOptions{authority_.certificate(), own.certificate, own.key}), "");
  EXPECT_THAT(Error(Believe(authority_)), HasSubstr("the server wants a certificate of the client"));
  EXPECT_THAT(Error(TlsOptions{authority_.certificate(), own.certificate, other.key}),
              HasSubstr("the client's certificate and key cannot be used: "));
}

TEST_F(ConnectErrorTest, NobodyThere) {
  port_ = 1;
  EXPECT_THAT(Error(std::nullopt), HasSubstr(": Connection refused"));
  EXPECT_THAT(Error(Believe(authority_)), HasSubstr(": Connection refused"));
  EXPECT_EQ(WhyNotConnected("ipv4:127.0.0.1:1,127.0.0.1:2", std::nullopt), "Connection refused");
  EXPECT_EQ(WhyNotConnected("unix:/no/such/socket", std::nullopt), "No such file or directory");
  EXPECT_EQ(WhyNotConnected("unix:///no/such/socket", Believe(authority_)), "No such file or directory");
  EXPECT_THAT(WhyNotConnected("unix:/" + std::string(200, 'a'), std::nullopt), HasSubstr("longer than 107 bytes"));
  // Longer than a part of a name can be, so that nobody is asked for it.
  const std::string name(70, 'a');
  for (const std::string& address : {name + ":50051", "dns:///" + name + ":50051", "dns://127.0.0.1/" + name + ":1"}) {
    EXPECT_THAT(WhyNotConnected(address, std::nullopt),
                HasSubstr(absl::StrCat("the name \"", name, "\" cannot be resolved: ")));
  }
}

TEST_F(ConnectErrorTest, WaitingForAServerEndsWithTheReason) {
  ClientOptions patient;
  patient.wait_for_server = true;
  patient.connect_timeout = absl::Milliseconds(500);
  const absl::Status status = Client::Connect("unix:/no/such/socket", patient).status();
  EXPECT_EQ(status,
            absl::UnavailableError("no answer from unix:/no/such/socket within 500ms: No such file or directory"));
}

TEST_F(ConnectErrorTest, AServerThatSaysNothing) {
  const SilentServer silent(SilentServer::Kind::kNotConnected);
  EXPECT_EQ(WhyNotConnected(silent.address(), std::nullopt), "what listens there does not answer");
  EXPECT_EQ(WhyNotConnected(silent.address(), Believe(authority_)), "the server does not answer in TLS");
}

TEST(CheckAddressTest, FormsThatAreTaken) {
  for (const char* address : {"localhost:1", "127.0.0.1:65535", "[::1]:50051", "[fe80::1%lo]:50051",
                              "a-b.example:50051", "unix:/a b", "unix:a", "unix:///a", "unix-abstract:a", "dns:///a:1",
                              "dns:a:1", "ipv4:1.2.3.4:5,1.2.3.5:5", "ipv6:[::1]:5"}) {
    EXPECT_TRUE(CheckAddress("address", address).ok()) << address;
  }
}

TEST(CheckAddressTest, OthersAreRefusedWithWhatIsWrong) {
  const auto error = [](const std::string& address) {
    const absl::Status status = Client::Connect(address).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << address;
    EXPECT_THAT(status.message(), HasSubstr(absl::StrCat("address: \"", address, "\" is not HOST:PORT or unix:PATH")));
    return std::string(status.message());
  };
  EXPECT_THAT(error("http://localhost:50051"), HasSubstr("leave \"http://\" out"));
  EXPECT_THAT(error("https://localhost"), AllOf(HasSubstr("leave \"https://\" out"), HasSubstr("TLS")));
  EXPECT_THAT(error("grpc://localhost:50051/"), HasSubstr("leave \"grpc://\" out"));
  EXPECT_THAT(error("::1:50051"), HasSubstr("brackets"));
  for (const char* address : {"localhost:0", "localhost:65536", "localhost:http", "localhost:", "localhost:+1",
                              "localhost:50051/", "localhost:99999999999"}) {
    EXPECT_THAT(error(address), HasSubstr("a port in 1..65535"));
  }
  for (const char* address :
       {"", "localhost", ":50051", "[::1]", "[::1:50051", "a b:1", "user@host:1", "a/b:1", "unix:", "dns:"}) {
    error(address);
  }
}

}  // namespace
}  // namespace glint::client
