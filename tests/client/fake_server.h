// A FeatureDetection server that does what a test tells it, over a unix socket (so with real flow control).
#ifndef GLINT_TESTS_CLIENT_FAKE_SERVER_H_
#define GLINT_TESTS_CLIENT_FAKE_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/client.h"
#include "glint/v1/feature_detection.grpc.pb.h"
#include "glint/v1/server.grpc.pb.h"
#include "gtest/gtest.h"

namespace glint::client {

class FakeServer : public v1::FeatureDetection::Service {
 public:
  using Stream = grpc::ServerReaderWriter<v1::DetectStreamResponse, v1::DetectStreamRequest>;

  // Started; `on_*` may be set until the first call.
  FakeServer();
  ~FakeServer() override;

  const std::string& address() const { return address_; }
  grpc::Server* server() { return server_.get(); }
  // Breaks all calls off and listens no more, as one that was killed; and comes back at the same address.
  void Stop();
  void Start();
  Client Connect();

  // How much time the last call of Detect had.
  absl::Duration detect_deadline() const { return detect_deadline_; }

  std::function<grpc::Status(const v1::DetectRequest&, v1::DetectResponse*)> on_detect;
  std::function<grpc::Status(grpc::ServerContext*, Stream*)> on_stream;

 private:
  grpc::Status Detect(grpc::ServerContext* context, const v1::DetectRequest* request,
                      v1::DetectResponse* response) override {
    detect_deadline_ = absl::FromChrono(context->deadline()) - absl::Now();
    return on_detect(*request, response);
  }
  grpc::Status DetectStream(grpc::ServerContext* context, Stream* stream) override {
    return on_stream(context, stream);
  }

  struct Info : v1::Server::Service {
    grpc::Status GetServerInfo(grpc::ServerContext*, const v1::GetServerInfoRequest*,
                               v1::GetServerInfoResponse* response) override;
  };

  Info info_;
  absl::Duration detect_deadline_;
  std::string folder_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

// Reads the options, then answers every frame with `keypoints` keypoints, one after the other, until the client is
// done.
grpc::Status AnswerFrames(FakeServer::Stream* stream, int keypoints = 1);

// `count` keypoints in every array of the message.
void SetKeypoints(int count, v1::ImageFeatures* features);

}  // namespace glint::client

#endif  // GLINT_TESTS_CLIENT_FAKE_SERVER_H_
