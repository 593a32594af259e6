// Reflection takes no threads, and is for those whom --reflection names.
#include "server/rpc/reflection.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/net/listen.h"
#include "server/wire/wire_writer.h"
#include "tests/server/harness.h"
#include "tests/server/http2_client.h"
#include "tests/server/process_memory.h"
#include "tests/server/raw_calls.h"

namespace glint::testing {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;

constexpr char kReflectionV1[] = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
constexpr uint32_t kFileByName = 3, kFileOfSymbol = 4, kFileOfExtension = 5, kExtensionsOfType = 6, kListServices = 7;
constexpr uint32_t kFiles = 4, kExtensionNumbers = 5, kServices = 6, kError = 7;

std::string Question(uint32_t field, const std::string& text) {
  std::string bytes;
  AppendBytesField(1, "host", &bytes);
  AppendBytesField(field, text, &bytes);
  return bytes;
}

// The fields of bytes of a message, with their numbers.
std::vector<std::pair<uint32_t, std::string>> Fields(const std::string& message) {
  const absl::Span<const uint8_t> piece(reinterpret_cast<const uint8_t*>(message.data()), message.size());
  WireReader in({&piece, 1});
  std::vector<std::pair<uint32_t, std::string>> fields;
  while (const uint32_t tag = in.NextField()) {
    if ((tag & 7) == static_cast<uint32_t>(WireType::kBytes)) {
      const WireBytes bytes = in.Bytes();
      fields.emplace_back(tag >> 3, message.substr(bytes.begin, bytes.size));
    } else {
      in.Unknown(tag);
    }
  }
  EXPECT_TRUE(in.ok());
  return fields;
}

// The content of the answer's oneof, which must be field `reply`.
std::string ContentOf(const std::string& question, const std::string& answer, uint32_t reply) {
  const auto fields = Fields(answer);
  EXPECT_EQ(fields.size(), 3u);
  if (fields.size() != 3) return "";
  EXPECT_EQ(fields[0].second, "host");
  EXPECT_EQ(fields[1].second, question);
  EXPECT_EQ(fields[2].first, reply);
  return fields[2].second;
}

std::string Ask(uint32_t field, const std::string& text, uint32_t reply) {
  const std::string question = Question(field, text);
  const auto answer = AnswerReflection(question);
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.ok() ? ContentOf(question, *answer, reply) : "";
}

std::vector<std::string> FileNames(const std::string& content) {
  std::vector<std::string> names;
  for (const auto& [number, bytes] : Fields(content)) {
    google::protobuf::FileDescriptorProto file;
    EXPECT_TRUE(file.ParseFromString(bytes));
    names.push_back(file.name());
  }
  return names;
}

TEST(ReflectionAnswers, AFileComesWithAllThatItImports) {
  const auto all = ::testing::UnorderedElementsAre(
      "glint/v1/feature_detection.proto", "glint/v1/calibration.proto", "glint/v1/envelope.proto",
      "google/protobuf/any.proto", "glint/v1/features.proto", "glint/v1/image.proto", "glint/v1/options.proto");
  EXPECT_THAT(FileNames(Ask(kFileOfSymbol, "glint.v1.FeatureDetection", kFiles)), all);
  EXPECT_THAT(FileNames(Ask(kFileOfSymbol, "glint.v1.FeatureDetection.DetectStream", kFiles)), all);
  EXPECT_THAT(FileNames(Ask(kFileByName, "glint/v1/feature_detection.proto", kFiles)), all);
  EXPECT_THAT(FileNames(Ask(kFileByName, "glint/v1/image.proto", kFiles)),
              ::testing::ElementsAre("glint/v1/image.proto"));
  EXPECT_THAT(FileNames(Ask(kFileOfSymbol, "glint.v1.Server", kFiles)),
              ::testing::ElementsAre("glint/v1/server.proto"));
}

TEST(ReflectionAnswers, ServicesAreListed) {
  std::vector<std::string> names;
  for (const auto& [number, bytes] : Fields(Ask(kListServices, "*", kServices)))
    names.push_back(Fields(bytes)[0].second);
  EXPECT_THAT(names,
              ::testing::IsSupersetOf({"glint.v1.Server", "glint.v1.FeatureDetection", "glint.v1.FeatureMatching",
                                       "glint.v1.FeatureTracking", "glint.v1.Localization", "grpc.health.v1.Health"}));
}

TEST(ReflectionAnswers, Extensions) {
  EXPECT_EQ(Fields(Ask(kExtensionsOfType, "glint.v1.Image", kExtensionNumbers))[0].second, "glint.v1.Image");
  std::string extension;
  AppendBytesField(1, "glint.v1.Image", &extension);
  AppendVarintField(2, 100, &extension);
  EXPECT_THAT(Ask(kFileOfExtension, extension, kError), HasSubstr("is not known here"));
}

TEST(ReflectionAnswers, WhatIsNotThereIsSaid) {
  for (const uint32_t field : {kFileByName, kFileOfSymbol, kExtensionsOfType}) {
    EXPECT_THAT(Ask(field, "no.such" + std::string(3000, 'x'), kError), HasSubstr("xxx...\" is not known here"));
  }
  const auto nothing = AnswerReflection("");
  ASSERT_TRUE(nothing.ok());
  EXPECT_THAT(*nothing, HasSubstr("not a question"));
  EXPECT_EQ(AnswerReflection("\xff").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AnswerReflection(Question(kFileByName, "\xff")).status().code(), absl::StatusCode::kInvalidArgument);
}

// As protobuf reads a oneof: nothing is left of the question before.
TEST(ReflectionAnswers, TheLastQuestionCounts) {
  std::string extension;
  AppendVarintField(2, 100, &extension);
  const std::string both = Question(kFileByName, "glint.v1.Image") + Question(kFileOfExtension, extension);
  const auto answer = AnswerReflection(both);
  ASSERT_TRUE(answer.ok());
  EXPECT_THAT(ContentOf(both, *answer, kError), HasSubstr("\"\" is not known here"));
}

TEST(ReflectionCalls, BothVersionsAnswerQuestionAfterQuestion) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  for (const char* method : {kReflection, kReflectionV1}) {
    RawCall call(server.channel(), method);
    for (const char* name : {"glint/v1/image.proto", "glint/v1/options.proto"}) {
      const std::string question = Question(kFileByName, name);
      ASSERT_TRUE(call.Write(question));
      const auto answer = call.Read();
      ASSERT_TRUE(answer.has_value());
      EXPECT_THAT(FileNames(ContentOf(question, *answer, kFiles)), ::testing::Contains(name));
    }
    call.WritesDone();
    EXPECT_EQ(call.Read(), std::nullopt);
    EXPECT_TRUE(call.Finish().ok());
  }
  EXPECT_TRUE(Eventually([&] { return server->calls() == 0; }));
}

TEST(ReflectionCalls, OpenStreamsTakeNoThreads) {
  constexpr int kStreams = 200;  // fewer than one connection may have
  LaneControl control;
  ServerOptions options = TestOptions();
  options.max_small_calls = kStreams + 1;
  TestServer server(options, &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  Http2Client client(options.listen[0].substr(5));
  client.Call(kReflection);
  ASSERT_TRUE(Eventually([&] { return server->calls() == 1; }));
  const int64_t threads = ProcessStatus("Threads:");
  for (int i = 1; i < kStreams; ++i) client.Call(kReflection);
  // The first of them make way for the others after a while.
  ASSERT_TRUE(Eventually([&] { return server->calls() > kStreams * 3 / 4; })) << server->calls();
  EXPECT_LE(ProcessStatus("Threads:"), threads + 2);
  // Whoever comes now, and asks, is answered.
  RawCall call(server.channel(), kReflection);
  ASSERT_TRUE(call.Write(Question(kListServices, "*")));
  EXPECT_TRUE(call.Read().has_value());
}

TEST(ReflectionCalls, StreamsAreLimited) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.max_small_calls = 1;
  TestServer server(options, &control);
  RawCall first(server.channel(), kReflection);
  ASSERT_TRUE(first.Write(Question(kListServices, "*")));
  ASSERT_TRUE(first.Read().has_value());
  RawCall second(server.channel(), kReflectionV1);
  EXPECT_EQ(second.Read(), std::nullopt);
  EXPECT_EQ(second.Finish().error_message(),
            "reflection.streams: 2 is over this server's limit of 1 (--max-small-calls)");
}

TEST(ReflectionCalls, CanBeOff) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.reflection = Reflection::kOff;
  TestServer server(options, &control);
  for (const char* method : {kReflection, kReflectionV1}) {
    RawCall call(server.channel(), method);
    EXPECT_EQ(call.Read(), std::nullopt);
    EXPECT_EQ(call.Finish().error_code(), StatusCode::UNIMPLEMENTED);
  }
  EXPECT_EQ(CheckHealth(server.channel(), "no").substr(0, 7), "service");
}

TEST(ReflectionCalls, LoopbackIsThisMachine) {
  for (const char* peer : {"unix:", "unix:/run/x", "inproc:x", "ipv4:127.0.0.1:99", "ipv4:127.1.2.3:99",
                           "ipv6:[::1]:99", "ipv6:%5B::1%5D:99", "ipv6:%5B::ffff:127.0.0.1%5D:99"}) {
    EXPECT_TRUE(IsLoopbackPeer(peer)) << peer;
  }
  for (const char* peer : {"", "ipv4:10.0.0.1:127", "ipv4:192.168.1.127:1", "ipv6:[::12]:99", "ipv6:[fe80::1]:99",
                           "ipv6:%5B::ffff:10.0.0.1%5D:99", "dns:127.0.0.1"}) {
    EXPECT_FALSE(IsLoopbackPeer(peer)) << peer;
  }
  LaneControl control;
  ServerOptions options = TestOptions();
  options.listen.push_back("127.0.0.1:0");
  options.reflection = Reflection::kLoopback;
  TestServer server(options, &control);
  for (const std::string& address : server->addresses()) {
    RawCall call(Dial(address), kReflection);
    ASSERT_TRUE(call.Write(Question(kListServices, "*"))) << address;
    EXPECT_TRUE(call.Read().has_value()) << address;
  }
}

}  // namespace
}  // namespace glint::testing
