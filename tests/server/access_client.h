// Clients with credentials, and the file of those that a server knows.
#ifndef GLINT_TESTS_SERVER_ACCESS_CLIENT_H_
#define GLINT_TESTS_SERVER_ACCESS_CLIENT_H_

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/bearer.h"
#include "server/access/token_digest.h"
#include "tests/server/harness.h"

namespace glint::testing {

inline std::string HexDigest(const std::string& token) {
  const TokenDigest digest = DigestOf(token);
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

// "NAME token=...", for the token "NAME's".
inline std::string TokenLine(const std::string& name) {
  return absl::StrCat(name, " token=", HexDigest(name + "'s"), "\n");
}

// Replaced in one step, as a careful operator does.
class TestAccessFile {
 public:
  explicit TestAccessFile(const std::string& text) : path_(UniqueSocketPath() + ".access") { Write(text); }
  ~TestAccessFile() { std::remove(path_.c_str()); }
  void Write(const std::string& text) const {
    const std::string next = path_ + ".new";
    std::ofstream(next) << text;
    std::rename(next.c_str(), path_.c_str());
  }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// Whose calls show `token`, if it is not empty.
template <typename Service = v1::FeatureDetection>
std::unique_ptr<typename Service::Stub> DialAs(
    const std::string& address, const std::string& token,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials = grpc::InsecureChannelCredentials()) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return Service::NewStub(grpc::experimental::CreateCustomChannelWithInterceptors(address, credentials, arguments,
                                                                                  client::BearerInterceptors(token)));
}

inline grpc::Status GetInfo(v1::Server::Stub* stub) {
  grpc::ClientContext context;
  v1::GetServerInfoResponse response;
  return stub->GetServerInfo(&context, {}, &response);
}

// A stream that works: its first frame has been answered.
inline std::unique_ptr<TestStream> OpenStream(v1::FeatureDetection::Stub* stub) {
  auto stream = std::make_unique<TestStream>(stub);
  stream->Write(OptionsMessage());
  stream->Write(FrameMessage(1));
  stream->Read();
  return stream;
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_ACCESS_CLIENT_H_
