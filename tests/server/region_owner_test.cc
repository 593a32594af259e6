// Shared memory belongs to who made it: other clients can neither read it nor take its name, unless it is shared with
// them.
#include <gmock/gmock.h>
#include <grpcpp/create_channel_posix.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/shm/handoff.h"
#include "server/shm/shared_memory.h"
#include "tests/server/access_client.h"
#include "tests/server/harness.h"
#include "tests/server/memory_client.h"

namespace glint::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kWidth = 64, kHeight = 48;
constexpr size_t kBytes = kWidth * kHeight;

ServerOptions SharingOptions() {
  ServerOptions options = TestOptions();
  options.shared_memory.enabled = true;
  return options;
}

std::string MemorySocket(TestServer* server) {
  return (*server)->addresses().at(0).substr(sizeof("unix:") - 1) + kHandoffSuffix;
}

// A client of its own, with a region that is filled with one grey value.
class Client {
 public:
  // `connection`: to the server's socket for memory.
  Client(const std::shared_ptr<grpc::Channel>& channel, HandoffClient connection, uint8_t grey)
      : Client(v1::Server::NewStub(channel), v1::FeatureDetection::NewStub(channel), std::move(connection), grey) {}
  Client(std::unique_ptr<v1::Server::Stub> server, std::unique_ptr<v1::FeatureDetection::Stub> detection,
         HandoffClient connection, uint8_t grey)
      : server_(std::move(server)), detection_(std::move(detection)), connection_(std::move(connection)) {
    std::memset(memory_.data(), grey, kBytes);
    token_ = connection_.HandOver(memory_);
    EXPECT_FALSE(token_.empty());
  }

  grpc::Status Register(const std::string& name, const std::vector<std::string>& shared_with = {}) {
    v1::RegisterSharedMemoryRequest request;
    request.set_token(token_);
    request.set_name(name);
    for (const std::string& reader : shared_with) request.add_shared_with(reader);
    v1::RegisterSharedMemoryResponse response;
    grpc::ClientContext context;
    const grpc::Status status = server_->RegisterSharedMemory(&context, request, &response);
    owner_ = response.owner();
    return status;
  }
  grpc::Status Unregister() {
    v1::UnregisterSharedMemoryRequest request;
    request.set_token(token_);
    v1::UnregisterSharedMemoryResponse response;
    grpc::ClientContext context;
    return server_->UnregisterSharedMemory(&context, request, &response);
  }
  // Of the last Register().
  const std::string& owner() const { return owner_; }

  // The fake lane's answer to a frame in that region: the first pixel, or why there is none.
  std::string Read(const std::string& region) {
    v1::DetectRequest request;
    v1::SharedImage* const image = request.mutable_image()->mutable_shared();
    image->set_format(v1::PIXEL_FORMAT_GRAY8);
    image->set_width(kWidth);
    image->set_height(kHeight);
    image->set_region(region);
    v1::DetectResponse response;
    grpc::ClientContext context;
    const grpc::Status status = detection_->Detect(&context, request, &response);
    if (!status.ok()) return absl::StrCat(status.error_code(), " ", status.error_message());
    return absl::StrCat("grey ", response.features().y(0));
  }

 private:
  const std::unique_ptr<v1::Server::Stub> server_;
  const std::unique_ptr<v1::FeatureDetection::Stub> detection_;
  HandoffClient connection_;
  const Memory memory_{kBytes};
  std::string token_, owner_;
};

std::string NotThere(const std::string& region) {
  return absl::StrCat(static_cast<int>(grpc::StatusCode::NOT_FOUND),
                      " image.shared.region: no memory is registered as \"", region, "\" for this client");
}

// `a` and `b` are different owners, with memory of grey 10 and 20.
void ExpectStrangers(Client* a, Client* b) {
  ASSERT_TRUE(a->Register("camera").ok());
  const std::string path = absl::StrCat(a->owner(), "/camera");
  EXPECT_EQ(a->Read("camera"), "grey 10");
  EXPECT_EQ(a->Read(path), "grey 10");
  // As if it were not there.
  EXPECT_EQ(b->Read("camera"), NotThere("camera"));
  EXPECT_EQ(b->Read(path), NotThere(path));
  EXPECT_EQ(b->Read(absl::StrCat(a->owner(), "/none")), NotThere(absl::StrCat(a->owner(), "/none")));
  // The same name is free for the other, and means another region.
  ASSERT_TRUE(b->Register("camera").ok());
  EXPECT_NE(a->owner(), b->owner());
  EXPECT_EQ(a->Read("camera"), "grey 10");
  EXPECT_EQ(b->Read("camera"), "grey 20");
  EXPECT_EQ(a->Read(absl::StrCat(b->owner(), "/camera")), NotThere(absl::StrCat(b->owner(), "/camera")));
  // Shared with others than the one who asks, then with him, then with everybody.
  const std::vector<std::string> lists[] = {
      {"user 4000000000", "identity nobody"}, {"identity nobody", b->owner()}, {"*"}};
  for (const std::vector<std::string>& readers : lists) {
    ASSERT_TRUE(a->Unregister().ok());
    ASSERT_TRUE(a->Register("camera", readers).ok());
    EXPECT_EQ(b->Read(path), readers.back() == "identity nobody" ? NotThere(path) : "grey 10");
    EXPECT_EQ(b->Read("camera"), "grey 20");
  }
  ASSERT_TRUE(a->Unregister().ok());
  EXPECT_EQ(b->Read(path), NotThere(path));
  EXPECT_EQ(a->Read("camera"), NotThere("camera"));
}

TEST(RegionOwners, IdentitiesAreStrangers) {
  const TestAccessFile access(TokenLine("left/eye") + TokenLine("right"));
  ServerOptions options = SharingOptions();
  options.access_file = access.path();
  LaneControl control;
  TestServer server(options, &control);
  const std::string address = server->addresses().at(0);
  const auto make = [&](const std::string& name, uint8_t grey) {
    return std::make_unique<Client>(DialAs<v1::Server>(address, name + "'s"), DialAs(address, name + "'s"),
                                    HandoffClient(MemorySocket(&server)), grey);
  };
  const auto a = make("left/eye", 10), b = make("right", 20);
  ExpectStrangers(a.get(), b.get());
  EXPECT_EQ(a->owner(), "identity left/eye");
}

// Calls `work` on a thread whose connections are another user's. Only root can.
template <typename Work>
auto AsUser(uid_t uid, Work work) {
  decltype(work()) result;
  std::thread([&] {
    // The system call itself changes this thread alone.
    EXPECT_EQ(syscall(SYS_setresuid, -1, uid, -1), 0);
    result = work();
  }).join();
  return result;
}

std::unique_ptr<Client> ClientOf(uid_t uid, const std::string& path, const std::string& memory_path, uint8_t grey) {
  int fd = -1;
  auto connection = AsUser(uid, [&] {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0) << std::strerror(errno);
    return std::make_unique<HandoffClient>(memory_path);
  });
  EXPECT_TRUE(connection->connected());
  fcntl(fd, F_SETFL, O_NONBLOCK);
  return std::make_unique<Client>(grpc::CreateInsecureChannelFromFd("server", fd), std::move(*connection), grey);
}

TEST(RegionOwners, UsersAreStrangersWithoutAnAccessFile) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to connect as two users";
  LaneControl control;
  TestServer server(SharingOptions(), &control);
  const std::string path = server->addresses().at(0).substr(5), memory_path = MemorySocket(&server);
  for (const std::string& socket : {path, memory_path}) ASSERT_EQ(chmod(socket.c_str(), 0777), 0);
  const auto a = ClientOf(54321, path, memory_path, 10), b = ClientOf(54322, path, memory_path, 20);
  ExpectStrangers(a.get(), b.get());
  EXPECT_EQ(a->owner(), "user 54321");
  // A third connection of the first user is no stranger.
  const auto again = ClientOf(54321, path, memory_path, 30);
  ASSERT_TRUE(a->Register("mine").ok());
  EXPECT_EQ(again->Read("mine"), "grey 10");
  EXPECT_EQ(again->Register("mine").error_code(), grpc::StatusCode::ALREADY_EXISTS);
}

TEST(RegionOwners, ReadersAreChecked) {
  LaneControl control;
  TestServer server(SharingOptions(), &control);
  Client client(server.channel(), HandoffClient(MemorySocket(&server)), 10);
  const std::vector<std::string> bad = {"",        "**",      "user",   "user ",    "user x",          "user -1",
                                        "user 01", "user  1", "User 1", "identity", "user 4294967296", "identity ",
                                        "someone", "*/camera"};
  for (const std::string& reader : bad) {
    const grpc::Status status = client.Register("camera", {"*", reader});
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << reader;
    EXPECT_THAT(status.error_message(), HasSubstr("shared_with[1]: ")) << reader;
  }
  EXPECT_THAT(client.Register("camera", std::vector<std::string>(kMaxReaders + 1, "*")).error_message(),
              HasSubstr(absl::StrCat("shared_with.size: ", kMaxReaders + 1)));
  EXPECT_THAT(client.Register("camera", {"identity " + std::string(kMaxOwnerBytes, 'x')}).error_message(),
              HasSubstr("shared_with[0]"));
  EXPECT_TRUE(client.Register("camera", std::vector<std::string>(kMaxReaders, "user 4294967295")).ok());
  EXPECT_EQ(client.owner(), absl::StrCat("user ", geteuid()));
  // Nothing that is asked for leads out of the names.
  const std::string own = absl::StrCat(client.owner(), "/camera");
  EXPECT_EQ(client.Read(own), "grey 10");
  const std::vector<std::string> none = {
      "/camera", "/", "//", "user /camera", own + "/", "/" + own, own + "/camera", std::string(kMaxRegionPath, '/')};
  for (const std::string& region : none) {
    EXPECT_EQ(client.Read(region).substr(0, 2), "5 ") << region;
  }
  EXPECT_THAT(client.Read(std::string(kMaxRegionPath + 1, 'x')), HasSubstr("image.shared.region: has more than"));
}

// What an owner has handed over is known before it has a name.
TEST(RegionOwners, ConnectionsHaveAnOwner) {
  SharedMemoryOptions options;
  options.enabled = true;
  const MemoryPinning pinning;
  SharedMemory shared(options, &pinning, [](const absl::Status&) {});
  int connections = 0;
  const std::string path = UniqueSocketPath();
  const auto handoff = Handoff::Start(path, 16, &shared, [&](int) -> absl::StatusOr<std::string> {
    return absl::StrCat("user ", ++connections == 1 ? 1 : 2);
  });
  ASSERT_TRUE(handoff.ok()) << handoff.status();
  const Memory memory(kBytes);
  HandoffClient one(path);
  const std::string token = one.HandOver(memory);
  EXPECT_FALSE(token.empty());
  HandoffClient two(path), three(path);
  EXPECT_FALSE(two.HandOver(memory).empty());
  EXPECT_FALSE(three.HandOver(memory).empty());
  EXPECT_EQ(shared.ShareOf("user 1").regions, 1);
  EXPECT_EQ(shared.ShareOf("user 2").regions, 2);
  EXPECT_EQ(shared.ShareOf("user 2").bytes, static_cast<int64_t>(2 * kBytes));
  EXPECT_EQ(shared.ShareOf("user 3").regions, 0);
  // Who is not known has no names, which all others that are not known would have, too.
  for (const std::string& nobody : {std::string(), std::string("unix sockets")}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(shared.Register(token, nobody, "camera", {}).status())) << nobody;
  }
  two.Die();
  EXPECT_TRUE(Eventually([&] { return shared.ShareOf("user 2").regions == 1; }));
}

}  // namespace
}  // namespace glint::testing
