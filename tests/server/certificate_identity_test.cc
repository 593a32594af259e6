// Clients that are known by the names in their certificates, which openssl makes here; skips without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "tests/server/access_client.h"

namespace glint::testing {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;

class CertificateTest : public ::testing::Test {
 protected:
  CertificateTest() : folder_(UniqueSocketPath() + ".certificates") { std::filesystem::create_directories(folder_); }
  ~CertificateTest() override { std::filesystem::remove_all(folder_); }
  void SetUp() override {
    if (!OpenSsl("version")) GTEST_SKIP() << "openssl is not installed";
    ASSERT_TRUE(
        OpenSsl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority "
                "-keyout ca.key -out ca.pem"));
    Issue("server", "IP:127.0.0.1");
    ServerOptions options = TestOptions();
    options.listen.push_back("127.0.0.1:0");
    options.tls = {folder_ + "/server.pem", folder_ + "/server.key", folder_ + "/ca.pem"};
    file_.Write("good dns=good.example\nbad uri=spiffe://plant/bad\n");
    options.access_file = file_.path();
    server_ = std::make_unique<TestServer>(std::move(options), &control_);
    ASSERT_TRUE((*server_)->WaitUntilServing(absl::Seconds(30)));
  }
  bool OpenSsl(const std::string& words) const {
    return std::system(("cd " + folder_ + " && openssl " + words + " > /dev/null 2>&1").c_str()) == 0;
  }
  void Issue(const std::string& name, const std::string& names) const {
    std::ofstream(folder_ + "/" + name + ".ext") << "subjectAltName=" << names << "\n";
    ASSERT_TRUE(OpenSsl("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + name + " -keyout " +
                        name + ".key -out " + name + ".csr"));
    ASSERT_TRUE(OpenSsl("x509 -req -in " + name + ".csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile " +
                        name + ".ext -out " + name + ".pem"));
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  // With a certificate for these names.
  template <typename Service = v1::FeatureDetection>
  std::unique_ptr<typename Service::Stub> As(const std::string& name, const std::string& names) {
    Issue(name, names);
    return DialAs<Service>((*server_)->addresses().at(1), "",
                           grpc::SslCredentials({Read("ca.pem"), Read(name + ".key"), Read(name + ".pem")}));
  }

  const std::string folder_;
  const TestAccessFile file_{""};
  LaneControl control_;
  std::unique_ptr<TestServer> server_;
};

TEST_F(CertificateTest, AreKnownByTheirNames) {
  EXPECT_TRUE(GetInfo(As<v1::Server>("a", "DNS:good.example").get()).ok());
  EXPECT_TRUE(GetInfo(As<v1::Server>("b", "DNS:other.example,URI:spiffe://plant/bad").get()).ok());
  for (const char* names : {"DNS:bad.example", "URI:good.example", "DNS:x.good.example", "email:good.example@x"}) {
    const grpc::Status refused = GetInfo(As<v1::Server>("c", names).get());
    EXPECT_EQ(refused.error_code(), StatusCode::PERMISSION_DENIED) << names;
    EXPECT_EQ(refused.error_message(), "certificate: its names are not allowed here, or not any more");
  }
}

TEST_F(CertificateTest, ARevokedOneEndsItsStreamsAndNoOther) {
  const auto good = As("good", "DNS:good.example"), bad = As("bad", "URI:spiffe://plant/bad");
  const auto good_stream = OpenStream(good.get()), bad_stream = OpenStream(bad.get());
  ASSERT_FALSE(bad_stream->ended());
  for (uint64_t id = 2; id <= 5; ++id) ASSERT_TRUE(good_stream->Write(FrameMessage(id)));
  file_.Write("good dns=good.example\n");
  const absl::Time reloaded = absl::Now();
  ASSERT_TRUE((*server_)->ReloadAccess().ok());
  bad_stream->Read();
  RecordProperty("seconds_to_end_of_stream", absl::FormatDuration(absl::Now() - reloaded));
  EXPECT_TRUE(bad_stream->ended());
  const grpc::Status end = bad_stream->Finish();
  EXPECT_EQ(end.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(end.error_message(), "certificate: its names are not allowed here, or not any more");
  EXPECT_EQ(GetInfo(As<v1::Server>("bad", "URI:spiffe://plant/bad").get()).error_code(), StatusCode::PERMISSION_DENIED);
  for (uint64_t id = 6; id <= 9; ++id) ASSERT_TRUE(good_stream->Write(FrameMessage(id)));
  for (uint64_t id = 2; id <= 9; ++id) {
    const v1::DetectStreamResponse reply = good_stream->Read();
    EXPECT_EQ(reply.frame_id(), id);
    EXPECT_TRUE(reply.has_features());
  }
  good_stream->WritesDone();
  good_stream->Read();
  EXPECT_TRUE(good_stream->Finish().ok());
}

}  // namespace
}  // namespace glint::testing
