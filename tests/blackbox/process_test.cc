// The binary as its supervisor sees it: signals, exit codes, flags, the start-up line.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "glint/v1/feature_detection.grpc.pb.h"
#include "tests/blackbox/server_process.h"

namespace glint::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A large frame, so that a lane has work for a while; of a server with this flag.
constexpr char kLargeImages[] = "--max-image-pixels=8294400";
v1::DetectStreamRequest BigFrame(uint64_t id) {
  v1::DetectStreamRequest message;
  message.mutable_frame()->set_frame_id(id);
  v1::RawImage* const raw = message.mutable_frame()->mutable_image()->mutable_raw();
  raw->set_format(v1::PIXEL_FORMAT_GRAY8);
  raw->set_width(3840);
  raw->set_height(2160);
  raw->mutable_data()->resize(3840 * 2160);
  uint32_t state = 1;
  for (char& pixel : *raw->mutable_data()) pixel = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
  return message;
}

// A stream to a server with some frames on their way.
class Client {
 public:
  explicit Client(const std::string& address)
      : stub_(v1::FeatureDetection::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))),
        stream_(stub_->DetectStream(&context_)) {
    v1::DetectStreamRequest options;
    options.mutable_options();
    stream_->Write(options);
  }
  void WriteFrames(uint64_t count) {
    for (uint64_t id = 1; id <= count; ++id) stream_->Write(BigFrame(id));
  }
  bool Read(v1::DetectStreamResponse* reply) {
    if (!std::exchange(has_headers_, true)) stream_->WaitForInitialMetadata();  // as client/stream.cc
    return stream_->Read(reply);
  }
  grpc::Status Finish() { return stream_->Finish(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<v1::FeatureDetection::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::DetectStreamRequest, v1::DetectStreamResponse>> stream_;
  bool has_headers_ = false;
};

TEST(ProcessTest, SaysInOneLineWhatItIs) {
  ServerProcess server({"--lanes=3"});
  ASSERT_FALSE(server.address().empty());
  const std::string log = server.LogUntil("serving");
  EXPECT_THAT(log,
              AllOf(HasSubstr(" version="), HasSubstr(" backend=cpu"), HasSubstr(" device="), HasSubstr(" lanes=3"),
                    HasSubstr(" simd="), HasSubstr(" listen=127.0.0.1:"), HasSubstr(" memory_bound_mib="),
                    HasSubstr(" usable_memory_mib="), HasSubstr(" memory_source="), HasSubstr(" processors="),
                    HasSubstr(" processors_source="), HasSubstr(" threads_limit="), HasSubstr(" threads_source=")));
}

TEST(ProcessTest, SigtermWithoutWorkEndsWithZero) {
  for (const int signal : {SIGTERM, SIGINT}) {
    ServerProcess server;
    server.Signal(signal);
    EXPECT_EQ(server.Join(), 0) << server.LogToEnd();
    EXPECT_THAT(server.LogToEnd(), AllOf(HasSubstr(" draining "), HasSubstr(" stopped")));
  }
}

TEST(ProcessTest, SigtermAnswersTheFramesItHasTaken) {
  ServerProcess server({"--lanes=1", kLargeImages, "--max-in-flight=4", "--drain-timeout=120s"});
  Client client(server.address());
  std::thread writer([&client] { client.WriteFrames(4); });
  v1::DetectStreamResponse reply;
  ASSERT_TRUE(client.Read(&reply));  // frames are on the lane and in the queue
  EXPECT_EQ(reply.frame_id(), 1u);
  server.Signal(SIGTERM);
  uint64_t answered = 1;
  while (client.Read(&reply)) {
    EXPECT_EQ(reply.frame_id(), ++answered);
    EXPECT_EQ(reply.status().code(), 0);
  }
  writer.join();
  const grpc::Status end = client.Finish();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(end.error_message(), "the server is draining");
  EXPECT_EQ(server.Join(), 0) << server.LogToEnd();
  EXPECT_THAT(server.LogToEnd(), ::testing::Not(HasSubstr("cut off")));
}

TEST(ProcessTest, TheDrainTimeoutCutsOffAndStillEndsWithZero) {
  ServerProcess server({"--lanes=1", kLargeImages, "--drain-timeout=0s"});
  Client client(server.address());
  std::thread writer([&client] { client.WriteFrames(4); });
  v1::DetectStreamResponse reply;
  ASSERT_TRUE(client.Read(&reply));
  server.Signal(SIGTERM);
  while (client.Read(&reply)) continue;
  writer.join();
  EXPECT_FALSE(client.Finish().ok());
  EXPECT_EQ(server.Join(), 0) << server.LogToEnd();
}

TEST(ProcessTest, ASecondSigtermEndsAtOnce) {
  // An open stream whose client does not read its replies would keep the server draining for an hour.
  ServerProcess server({"--lanes=1", kLargeImages, "--max-in-flight=64", "--drain-timeout=1h"});
  Client client(server.address());
  std::thread writer([&client] { client.WriteFrames(64); });
  v1::DetectStreamResponse reply;
  ASSERT_TRUE(client.Read(&reply));
  server.Signal(SIGTERM);
  EXPECT_THAT(server.LogUntil(" draining "), HasSubstr(" draining "));
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Join(), 128 + SIGTERM);
  while (client.Read(&reply)) continue;
  writer.join();
}

TEST(ProcessTest, BadFlagsEndWithTwoAndAnAddressInUseWithOne) {
  ServerProcess bad({"--lanes=many"});
  EXPECT_EQ(bad.Join(), 2);
  EXPECT_EQ(bad.LogToEnd(), "glint-server: lanes: \"many\" is not a whole number in range\n");
  ServerProcess first;
  ServerProcess second({"--listen=" + first.address()});
  EXPECT_EQ(second.Join(), 1);
  EXPECT_THAT(second.LogToEnd(), HasSubstr("cannot listen on " + first.address() + ": Address already in use"));
}

TEST(ProcessTest, HelpAndVersionEndWithZero) {
  for (const char* flag : {"--help", "--version"}) {
    ServerProcess server({flag});
    EXPECT_EQ(server.Join(), 0);
  }
}

TEST(ProcessTest, AnswersAndEndsThoughNobodyReadsItsLog) {
  ServerProcess server({"--lanes=1", "--drain-timeout=2s"});
  server.ShrinkLogPipe();
  const auto stub =
      v1::FeatureDetection::NewStub(grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials()));
  // Each leaves a line of more than 200 bytes: the pipe is full after 20 of them.
  for (int i = 0; i < 150; ++i) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    context.AddMetadata("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    v1::DetectResponse response;
    const grpc::Status status = stub->Detect(&context, v1::DetectRequest(), &response);
    ASSERT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << i << ": " << status.error_message();
  }
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Join(), 0);
}

// Each compressed call makes gRPC log something.
TEST(ProcessTest, WhatGrpcLogsAreLinesOfItsLog) {
  ServerProcess server({"--lanes=1"});
  const auto stub =
      v1::FeatureDetection::NewStub(grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials()));
  for (int i = 0; i < 10; ++i) {
    grpc::ClientContext context;
    context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    v1::DetectRequest request;
    request.mutable_image()->mutable_encoded()->mutable_data()->resize(5000);
    v1::DetectResponse response;
    EXPECT_EQ(stub->Detect(&context, request, &response).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  }
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Join(), 0);
  std::istringstream log(server.LogToEnd());
  int of_grpc = 0;
  for (std::string line; std::getline(log, line);) {
    EXPECT_THAT(line, ::testing::ContainsRegex("^20[0-9-]+T[0-9:.]+Z (info|warning) ")) << line;
    of_grpc += line.find(" warning grpc message=") != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(of_grpc, 10);
}

TEST(ProcessTest, TheLogCanBeJson) {
  ServerProcess server({"--log-format=json"});
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Join(), 0);
  const std::string log = server.LogToEnd();
  EXPECT_THAT(log, HasSubstr("\"severity\":\"info\",\"event\":\"serving\",\"version\":"));
  EXPECT_THAT(log, HasSubstr("\"event\":\"stopped\"}\n"));
}

}  // namespace
}  // namespace glint::testing
