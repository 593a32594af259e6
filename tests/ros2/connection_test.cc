// The connection to servers in this process, which come and go.
#include "ros2/operations/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/ros2/fake_node.h"
#include "tests/server/harness.h"

namespace glint::ros2 {
namespace {

using ::glint::testing::Eventually;
using ::glint::testing::TestOptions;
using ::glint::testing::TestServer;
using ::testing::HasSubstr;

ServerConfig ServerAt(const std::string& address) {
  ServerConfig config;
  config.address = address;
  return config;
}

std::string Figure(Connection* connection, const std::string& key) {
  for (const ros::KeyValue& value : connection->Diagnose().values) {
    if (value.key == key) return value.value;
  }
  return "";
}

TEST(ConnectionTest, SharesMemoryWithEachServer) {
  ServerOptions options = TestOptions();
  options.shared_memory.enabled = true;
  testing::FakeInput input;
  Connection connection({ServerAt(options.listen[0]), 5}, &input);
  EXPECT_EQ(connection.client(), nullptr);
  EXPECT_EQ(connection.Diagnose().level, ros::DiagnosticStatus::kError);
  auto server = std::make_unique<TestServer>(options);
  ASSERT_TRUE(Eventually([&] { return connection.client() != nullptr; }));
  ASSERT_TRUE(connection.server().has_value());
  EXPECT_EQ(connection.Diagnose().message, "connected");
  EXPECT_EQ(input.ring(), nullptr);  // no image yet
  input.set_image_bytes(5000);
  ASSERT_TRUE(Eventually([&] { return input.ring() != nullptr; }));
  EXPECT_GE(input.ring()->slot_bytes(), 5000u);
  input.set_image_bytes(500000);  // larger images
  ASSERT_TRUE(Eventually([&] { return input.ring()->slot_bytes() >= 500000; }));
  EXPECT_THAT(Figure(&connection, "images"), HasSubstr("shared memory, 5 x "));

  const auto first = connection.client();
  server.reset();
  connection.Lost(first, absl::UnavailableError("gone"));
  EXPECT_EQ(input.ring(), nullptr);
  EXPECT_EQ(connection.client(), nullptr);
  server = std::make_unique<TestServer>(options);
  ASSERT_TRUE(Eventually([&] { return input.ring() != nullptr; }));
  const auto second = connection.client();
  EXPECT_NE(second, first);
  connection.Lost(first, absl::UnavailableError("gone"));  // of the one before
  EXPECT_EQ(connection.client(), second);
  EXPECT_EQ(Figure(&connection, "connections"), "2");
}

TEST(ConnectionTest, TakesAsMuchMemoryAsTheServerGives) {
  ServerOptions options = TestOptions();
  options.shared_memory.enabled = true;
  options.shared_memory.max_bytes = 1 << 20;
  const TestServer server(options);
  testing::FakeInput input;
  input.set_image_bytes(64 << 10);
  Connection connection({ServerAt(options.listen[0]), 40}, &input);
  ASSERT_TRUE(Eventually([&] { return input.ring() != nullptr; }));
  EXPECT_EQ(Figure(&connection, "images"), "shared memory, 10 x 65536 bytes");
}

TEST(ConnectionTest, SaysWhyMemoryIsNotShared) {
  const ServerOptions options = TestOptions();  // without
  const TestServer server(options);
  testing::FakeInput input;
  input.set_image_bytes(5000);
  Connection connection({ServerAt(options.listen[0]), 5}, &input);
  EXPECT_TRUE(Eventually([&] { return !Figure(&connection, "images").empty(); }));
  EXPECT_TRUE(Eventually([&] { return Figure(&connection, "images") != "messages"; }));
  EXPECT_THAT(Figure(&connection, "images"), HasSubstr("messages, since memory cannot be shared: "));
  EXPECT_EQ(input.ring(), nullptr);
}

TEST(ConnectionTest, GivesUpIfItIsTold) {
  testing::FakeInput input;
  ServerConfig config = ServerAt("unix:" + glint::testing::UniqueSocketPath());
  config.give_up_after = 0.2;
  Connection connection({config, 5}, &input);
  EXPECT_TRUE(connection.given_up().ok());
  EXPECT_TRUE(Eventually([&] { return absl::IsUnavailable(connection.given_up()); }));
  EXPECT_THAT(connection.given_up().message(), HasSubstr(config.address));
}

TEST(ConnectionTest, NamesAFileThatCannotBeRead) {
  testing::FakeInput input;
  ServerConfig config;
  config.token_file = "/nowhere/token";
  Connection connection({config, 5}, &input);
  EXPECT_TRUE(Eventually([&] {
    return connection.Diagnose().message ==
           "no server: server.token_file: cannot read /nowhere/token: No such file or directory";
  }));
}

}  // namespace
}  // namespace glint::ros2
