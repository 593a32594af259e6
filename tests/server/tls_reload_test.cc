// Files of TLS: which a server starts with, and what new connections get while they are renewed.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/client.h"
#include "glint/v1/server.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "server/net/tls.h"
#include "server/net/tls_reloader.h"
#include "tests/support/certificates.h"

namespace glint {
namespace {

using ::glint::testing::Authority;
using ::glint::testing::CertificateOptions;
using ::glint::testing::CertifiedKey;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TlsFilesTest : public ::testing::Test {
 protected:
  TlsFilesTest()
      : folder_(absl::StrCat(::testing::TempDir(), "/tls_", getpid(), "_",
                             ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(folder_);
  }
  ~TlsFilesTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return absl::StrCat(folder_, "/", name); }
  // In one step, as a tool that renews certificates does.
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path("next"), std::ios::binary) << text;
    std::filesystem::rename(Path("next"), Path(name));
    return Path(name);
  }
  TlsFiles Files(const std::string& certificate, const std::string& key, const std::string& client_ca = "") const {
    TlsFiles files = {Write("certificate.pem", certificate), Write("key.pem", key), ""};
    if (!client_ca.empty()) files.client_ca = Write("client_ca.pem", client_ca);
    return files;
  }
  std::string Error(const std::string& certificate, const std::string& key, const std::string& client_ca = "") const {
    return std::string(CheckTlsFiles(Files(certificate, key, client_ca), absl::Now()).status().message());
  }

  const std::string folder_;
  const Authority authority_{"authority"};
};

TEST_F(TlsFilesTest, FilesThatBelongTogetherAreTaken) {
  CertificateOptions options;
  options.ends = absl::Hours(5);
  const CertifiedKey server = authority_.Issue(options);
  const absl::Time before = absl::Now();
  for (const std::string& certificate : {server.certificate, server.certificate + authority_.certificate(),
                                         server.key + server.certificate, "text of any kind\n" + server.certificate}) {
    const auto expiry = CheckTlsFiles(Files(certificate, server.key, authority_.certificate()), absl::Now());
    ASSERT_TRUE(expiry.ok()) << expiry.status();
    EXPECT_GE(*expiry, before + absl::Hours(5) - absl::Seconds(2));
    EXPECT_LE(*expiry, absl::Now() + absl::Hours(5));
  }
  options.usage = "serverAuth,clientAuth";
  const CertifiedKey both = authority_.Issue(options);
  EXPECT_EQ(Error(both.certificate, both.key), "");
}

TEST_F(TlsFilesTest, FilesWithWhichNobodyCanConnectAreRefusedByName) {
  const CertifiedKey server = authority_.Issue(), other = authority_.Issue();
  const std::string certificate_flag = absl::StrCat("tls-certificate: ", Path("certificate.pem"));
  const std::string key_flag = absl::StrCat("tls-key: ", Path("key.pem"));
  EXPECT_THAT(Error(server.certificate, other.key), AllOf(StartsWith(key_flag), HasSubstr("is not the key of")));
  EXPECT_THAT(Error(server.certificate, testing::WithPassword(server.key, "secret")),
              AllOf(StartsWith(key_flag), HasSubstr("password")));
  EXPECT_THAT(Error(server.certificate, server.key.substr(0, server.key.size() / 2)), StartsWith(key_flag));
  EXPECT_THAT(Error(authority_.certificate() + server.certificate, server.key),
              AllOf(StartsWith(certificate_flag), HasSubstr("belongs to certificate 2")));
  const std::string cut_off = authority_.certificate().substr(0, authority_.certificate().size() - 40);
  EXPECT_THAT(Error(server.certificate + cut_off, server.key), StartsWith(certificate_flag));
  EXPECT_THAT(Error("", server.key), StartsWith(certificate_flag));

  CertificateOptions options;
  options.begins = absl::Hours(1);
  const CertifiedKey early = authority_.Issue(options);
  EXPECT_THAT(Error(early.certificate, early.key), AllOf(StartsWith(certificate_flag), HasSubstr("not yet valid")));
  options = {};
  options.ends = -absl::Minutes(1);
  const CertifiedKey late = authority_.Issue(options);
  EXPECT_THAT(Error(late.certificate, late.key), AllOf(StartsWith(certificate_flag), HasSubstr("has expired")));
  options = {};
  options.usage = "clientAuth";
  const CertifiedKey client = authority_.Issue(options);
  EXPECT_THAT(Error(client.certificate, client.key), AllOf(StartsWith(certificate_flag), HasSubstr("no client can")));

  EXPECT_THAT(Error(server.certificate, server.key, cut_off), StartsWith("tls-client-ca: "));
  EXPECT_THAT(Error(server.certificate, server.key, server.key), StartsWith("tls-client-ca: "));
  TlsFiles files = Files(server.certificate, server.key);
  files.key = Path("nothing");
  EXPECT_EQ(CheckTlsFiles(files, absl::Now()).status().message(),
            "tls-key: cannot read " + Path("nothing") + ": No such file or directory");
}

// A gRPC server on two ports that has TLS by a TlsReloader.
class TlsReloaderTest : public TlsFilesTest {
 protected:
  void Start(const TlsFiles& files) {
    auto reloader = TlsReloader::Open(files, [this](const absl::StatusOr<absl::Time>& expiry) {
      std::lock_guard<std::mutex> lock(mutex_);
      reports_.push_back(expiry.ok() ? "renewed" : std::string(expiry.status().message()));
    });
    ASSERT_TRUE(reloader.ok()) << reloader.status();
    reloader_ = *std::move(reloader);
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    const auto credentials = reloader_->Credentials();
    for (int& port : ports_) builder.AddListeningPort("127.0.0.1:0", credentials, &port);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  ~TlsReloaderTest() override {
    if (server_ != nullptr) server_->Shutdown();
  }
  // Whether clients that believe this authority can connect, on both ports.
  bool Serves(const Authority& authority, const CertifiedKey& client = {}) const {
    client::ClientOptions options;
    options.tls = client::TlsOptions{authority.certificate(), client.certificate, client.key};
    options.connect_timeout = absl::Seconds(30);
    for (const int port : ports_) {
      if (!client::Client::Connect(absl::StrCat("127.0.0.1:", port), options).ok()) return false;
    }
    return true;
  }
  // Waits until the files have been looked at, which connections and metrics cause, and `count` reports have come.
  std::vector<std::string> Reports(size_t count) {
    for (const absl::Time end = absl::Now() + absl::Seconds(60);;) {
      reloader_->Metrics();
      {
        std::lock_guard<std::mutex> lock(mutex_);
        if (reports_.size() >= count || absl::Now() > end) return reports_;
      }
      absl::SleepFor(absl::Milliseconds(50));
    }
  }

  v1::Server::Service service_;
  std::mutex mutex_;
  std::vector<std::string> reports_;
  std::unique_ptr<TlsReloader> reloader_;
  std::unique_ptr<grpc::Server> server_;
  int ports_[2] = {};
};

TEST_F(TlsReloaderTest, TheOldPairStaysUntilTheNewOneIsWhole) {
  const Authority next{"next authority"};
  CertificateOptions longer;
  longer.ends = absl::Hours(48);
  const CertifiedKey before = authority_.Issue(), after = next.Issue(longer);
  Start(Files(before.certificate, before.key));
  EXPECT_TRUE(Serves(authority_));
  EXPECT_FALSE(Serves(next));
  const std::string metrics = reloader_->Metrics();

  Write("certificate.pem", after.certificate);
  EXPECT_THAT(Reports(1), ::testing::ElementsAre(HasSubstr("is not the key of")));
  EXPECT_TRUE(Serves(authority_)) << "between certificate and key";
  EXPECT_EQ(reloader_->Metrics(), metrics);

  Write("key.pem", after.key);
  EXPECT_THAT(Reports(2), ::testing::ElementsAre(HasSubstr("is not the key of"), "renewed"));
  EXPECT_TRUE(Serves(next));
  EXPECT_FALSE(Serves(authority_));
  EXPECT_NE(reloader_->Metrics(), metrics);
}

TEST_F(TlsReloaderTest, AnAuthorityOfClientsThatIsHalfWrittenIsNotTaken) {
  const Authority next{"next authority"};
  const CertifiedKey server = authority_.Issue();
  CertificateOptions options;
  options.usage = "clientAuth";
  const CertifiedKey client = authority_.Issue(options), newcomer = next.Issue(options);
  Start(Files(server.certificate, server.key, authority_.certificate()));

  const std::string both = authority_.certificate() + next.certificate();
  Write("client_ca.pem", both.substr(0, both.size() - 40));
  EXPECT_THAT(Reports(1), ::testing::ElementsAre(StartsWith("tls-client-ca: ")));
  EXPECT_TRUE(Serves(authority_, client));
  Write("client_ca.pem", both);
  EXPECT_THAT(Reports(2), ::testing::ElementsAre(StartsWith("tls-client-ca: "), "renewed"));
  EXPECT_TRUE(Serves(authority_, client));
  EXPECT_TRUE(Serves(authority_, newcomer));
}

}  // namespace
}  // namespace glint
