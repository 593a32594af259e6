// Shared memory end to end, and everything that a client can do to a server with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/server/harness.h"
#include "tests/server/memory_client.h"
#include "tests/support/images.h"
#include "tests/support/random.h"

namespace glint::testing {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMiB = 1 << 20;

ServerOptions SharingOptions() {
  ServerOptions options = TestOptions();
  options.shared_memory.enabled = true;
  options.shared_memory.max_bytes = 64 * kMiB;
  options.shared_memory.max_regions = 4;
  return options;
}

class SharedMemoryTest : public ::testing::Test {
 protected:
  explicit SharedMemoryTest(ServerOptions options = SharingOptions())
      : server_(std::move(options), &control_), socket_(server_->addresses().at(0).substr(5) + kHandoffSuffix) {}

  grpc::Status Register(const std::string& token, const std::string& name) {
    v1::RegisterSharedMemoryRequest request;
    request.set_token(token);
    request.set_name(name);
    v1::RegisterSharedMemoryResponse response;
    grpc::ClientContext context;
    return server_.server_stub()->RegisterSharedMemory(&context, request, &response);
  }
  grpc::Status Unregister(const std::string& token) {
    v1::UnregisterSharedMemoryRequest request;
    request.set_token(token);
    v1::UnregisterSharedMemoryResponse response;
    grpc::ClientContext context;
    return server_.server_stub()->UnregisterSharedMemory(&context, request, &response);
  }

  LaneControl control_;
  TestServer server_;
  const std::string socket_;
};

v1::SharedImage* SetShared(const std::string& region, int width, int height, v1::Image* image) {
  v1::SharedImage* const shared = image->mutable_shared();
  shared->set_format(v1::PIXEL_FORMAT_GRAY8);
  shared->set_width(static_cast<uint32_t>(width));
  shared->set_height(static_cast<uint32_t>(height));
  shared->set_region(region);
  return shared;
}

v1::DetectStreamRequest SharedFrame(uint64_t id, const std::string& region, int width = 64, int height = 48) {
  v1::DetectStreamRequest message;
  message.mutable_frame()->set_frame_id(id);
  SetShared(region, width, height, message.mutable_frame()->mutable_image());
  return message;
}

class SharingOff : public SharedMemoryTest {
 protected:
  SharingOff() : SharedMemoryTest(TestOptions()) {}
};

TEST_F(SharingOff, RefusesEverything) {
  struct stat file;
  EXPECT_NE(stat(socket_.c_str(), &file), 0);
  EXPECT_EQ(Register(std::string(16, 'x'), "a").error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Unregister(std::string(16, 'x')).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  TestStream stream(server_.stub());
  stream.Write(OptionsMessage());
  stream.Write(SharedFrame(1, "a"));
  EXPECT_EQ(stream.Read().status().code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST(SharingOptionsTest, NeedAUnixSocketAndRoomForItsNeighbour) {
  ServerOptions options = SharingOptions();
  EXPECT_TRUE(ValidateServerOptions(options).ok());
  options.listen = {"127.0.0.1:0"};
  EXPECT_THAT(ValidateServerOptions(options).message(), HasSubstr("shared-memory"));
  options.listen = {"unix:/" + std::string(105, 'x')};
  EXPECT_EQ(ValidateServerOptions(options).code(), absl::StatusCode::kInvalidArgument);
  options = SharingOptions();
  options.shared_memory.max_bytes = 0;
  EXPECT_THAT(ValidateServerOptions(options).message(), HasSubstr("shared-memory-max-bytes: 0"));
}

TEST_F(SharedMemoryTest, LanesReadWhatTheClientWrote) {
  v1::GetServerInfoResponse info;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(server_.server_stub()->GetServerInfo(&context, {}, &info).ok());
  }
  EXPECT_EQ(info.shared_memory_socket(), socket_);
  Memory memory(kMiB);
  HandoffClient client(socket_);
  const std::string token = client.HandOver(memory);
  ASSERT_EQ(token.size(), static_cast<size_t>(kTokenBytes));
  ASSERT_TRUE(Register(token, "camera-1").ok());
  TestStream stream(server_.stub());
  stream.Write(OptionsMessage());
  for (uint64_t id = 0; id < 20; ++id) {
    const size_t offset = id * 40000 + id;
    memory.data()[offset] = static_cast<uint8_t>(100 + id);
    v1::DetectStreamRequest message = SharedFrame(id, "camera-1", 60 + static_cast<int>(id), 48);
    message.mutable_frame()->mutable_image()->mutable_shared()->set_offset(offset);
    message.mutable_frame()->mutable_image()->mutable_shared()->set_stride(id % 2 == 0 ? 0 : 512);
    if (id % 3 == 0) {
      SetShared("camera-1", 60 + static_cast<int>(id), 48, message.mutable_frame()->mutable_mask())->set_offset(offset);
    }
    stream.Write(message);
    const v1::DetectStreamResponse reply = stream.Read();
    ASSERT_EQ(reply.status().code(), 0) << reply.status().message();
    EXPECT_EQ(reply.features().x(0), 60 + id);
    EXPECT_EQ(reply.features().y(0), 100 + id);
    EXPECT_EQ(reply.features().response(0), id % 3 == 0 ? 100.0 + id : -1.0);
  }
}

TEST_F(SharedMemoryTest, HandoffsMustBeWellFormed) {
  Memory memory(kMiB);
  const auto refused = [&](const std::function<void(HandoffClient*)>& send) {
    HandoffClient client(socket_);
    send(&client);
    const HandoffReply reply = client.Receive();
    EXPECT_GT(reply.code, 0);
    EXPECT_EQ(client.Receive().code, -1);  // closed
    return std::string(reply.message);
  };
  const HandoffRequest good = HandoffClient::Request(kMiB);
  HandoffRequest bad = good;
  bad.magic[0] = 'x';
  EXPECT_THAT(refused([&](HandoffClient* c) { c->Send(bad, {memory.fd()}); }), HasSubstr("not a request"));
  EXPECT_THAT(refused([&](HandoffClient* c) { c->Send(good, {}); }), HasSubstr("not a request"));
  EXPECT_THAT(refused([&](HandoffClient* c) {
                c->Send(good, {memory.fd(), memory.fd()});
              }),
              HasSubstr("not a request"));
  EXPECT_THAT(refused([&](HandoffClient* c) { c->Send(&good, sizeof(good) - 1, {memory.fd()}); }),
              HasSubstr("not a request"));
  const std::string more(sizeof(good) + 1, 'x');
  EXPECT_THAT(refused([&](HandoffClient* c) { c->Send(more.data(), more.size(), {memory.fd()}); }),
              HasSubstr("not a request"));
  {  // Something more from one that has handed over: it is out.
    HandoffClient client(socket_);
    const std::string token = client.HandOver(memory);
    ASSERT_FALSE(token.empty());
    client.Send(good, {memory.fd()});
    EXPECT_GT(client.Receive().code, 0);
    EXPECT_EQ(client.Receive().code, -1);
    EXPECT_EQ(Register(token, "a").error_code(), grpc::StatusCode::NOT_FOUND);
  }
  HandoffClient client(socket_);
  EXPECT_FALSE(client.HandOver(memory).empty());
}

TEST_F(SharedMemoryTest, MemoryMustBeSealedAndOfItsSize) {
  const auto refused = [&](int fd, uint64_t bytes) {
    HandoffClient client(socket_);
    const HandoffReply reply = client.HandOver(fd, bytes);
    EXPECT_GT(reply.code, 0) << bytes;
    return std::string(reply.message);
  };
  for (const int seals : {0, F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_SHRINK | F_SEAL_SEAL, F_SEAL_GROW | F_SEAL_SEAL}) {
    EXPECT_THAT(refused(Memory(kMiB, seals).fd(), kMiB), HasSubstr("not sealed")) << seals;
  }
  const Memory good(kMiB);
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{kMiB - 1}, uint64_t{kMiB + 1}, uint64_t{8} << 20}) {
    EXPECT_THAT(refused(good.fd(), bytes), HasSubstr("were announced"));
  }
  EXPECT_THAT(refused(good.fd(), 0), HasSubstr("0 were announced"));
  for (const uint64_t bytes : {uint64_t{64 * kMiB + 1}, ~uint64_t{0}, uint64_t{1} << 63}) {
    EXPECT_THAT(refused(good.fd(), bytes), HasSubstr("--shared-memory-max-bytes"));
  }
  // A file, memory that is not a memfd's, a pipe, a memfd that can only be written to.
  const Descriptor file(open((::testing::TempDir() + "/glint-file").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
  ASSERT_EQ(ftruncate(file.get(), kMiB), 0);
  refused(file.get(), kMiB);
  const Descriptor plain(open("/dev/shm", O_TMPFILE | O_RDWR, 0600));
  if (plain.get() >= 0) {
    ASSERT_EQ(ftruncate(plain.get(), kMiB), 0);
    EXPECT_THAT(refused(plain.get(), kMiB), HasSubstr("not sealed"));
  }
  refused(Descriptor(open("/dev/zero", O_RDONLY)).get(), kMiB);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  refused(ends[0], kMiB);
  close(ends[0]);
  close(ends[1]);
  const Descriptor blind(open(absl::StrCat("/proc/self/fd/", good.fd()).c_str(), O_WRONLY));
  EXPECT_THAT(refused(blind.get(), kMiB), HasSubstr("cannot be mapped"));
  const Descriptor huge(memfd_create("huge", MFD_ALLOW_SEALING | MFD_HUGETLB));
  if (huge.get() >= 0 && ftruncate(huge.get(), 2 * kMiB) == 0) {
    fcntl(huge.get(), F_ADD_SEALS, kGoodSeals);
    EXPECT_THAT(refused(huge.get(), 2 * kMiB), HasSubstr("ordinary pages"));
  }
  // None of these took anything of the limit away.
  const Memory all(64 * kMiB);
  HandoffClient client(socket_);
  EXPECT_FALSE(client.HandOver(all).empty());
}

TEST_F(SharedMemoryTest, ConnectionsThatSayNothingAreClosed) {
  // They take every place there is.
  std::vector<std::unique_ptr<HandoffClient>> silent;
  for (int i = 0; i < SharingOptions().shared_memory.max_regions; ++i) {
    silent.push_back(std::make_unique<HandoffClient>(socket_));
    ASSERT_TRUE(silent.back()->connected());
  }
  for (const auto& connection : silent) EXPECT_EQ(connection->Receive().code, -1);  // closed, without an answer
  HandoffClient next(socket_);
  const Memory memory(kMiB);
  const std::string token = next.HandOver(memory);
  ASSERT_EQ(token.size(), static_cast<size_t>(kTokenBytes));
  // Who has handed over may be silent for as long as it likes.
  HandoffClient late(socket_);
  EXPECT_EQ(late.Receive().code, -1);
  EXPECT_TRUE(Register(token, "camera").ok());
}

TEST_F(SharedMemoryTest, RegionsAndTheirBytesAreLimitedAndComeBack) {
  const Memory half(32 * kMiB), small(4096);
  for (int round = 0; round < 3; ++round) {
    {
      HandoffClient a(socket_), b(socket_), c(socket_);
      EXPECT_FALSE(a.HandOver(half).empty());
      EXPECT_FALSE(b.HandOver(half).empty());
      EXPECT_THAT(c.HandOver(small.fd(), small.bytes()).message, HasSubstr("--shared-memory-max-bytes"));
    }
    std::vector<HandoffClient> clients;
    for (int i = 0; i < 4; ++i) {
      // The server sees that a connection has ended a moment later.
      ASSERT_TRUE(Eventually([&] {
        HandoffClient client(socket_);
        if (client.HandOver(small).empty()) return false;
        clients.push_back(std::move(client));
        return true;
      }));
    }
    HandoffClient fifth(socket_);
    EXPECT_THAT(fifth.Receive().message, HasSubstr("--shared-memory-max-regions"));
  }
}

TEST_F(SharedMemoryTest, NamesAreUnique) {
  const Memory memory(kMiB);
  HandoffClient a(socket_), b(socket_);
  const std::string first = a.HandOver(memory), second = b.HandOver(memory);
  EXPECT_NE(first, second);
  for (const std::string& name : {std::string(), std::string("a/b"), std::string("a b"), std::string("\xc3\xa4"),
                                  std::string(65, 'x'), std::string("a\0b", 3)}) {
    EXPECT_EQ(Register(first, name).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << name;
  }
  EXPECT_EQ(Register("", "n").error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Register(std::string(16, '\0'), "n").error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Unregister(first).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(Register(first, "n").ok());
  EXPECT_EQ(Register(first, "m").error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Register(second, "n").error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_TRUE(Unregister(first).ok());
  EXPECT_TRUE(Register(second, "n").ok());
  EXPECT_TRUE(Register(first, std::string(64, 'x')).ok());
  b.Die();
  EXPECT_TRUE(Eventually([&] { return Unregister(second).error_code() == grpc::StatusCode::NOT_FOUND; }));
}

TEST_F(SharedMemoryTest, BadFramesFailAloneAndReadNothing) {
  const Memory memory(10000);
  HandoffClient client(socket_);
  ASSERT_TRUE(Register(client.HandOver(memory), "r").ok());
  TestStream stream(server_.stub());
  stream.Write(OptionsMessage());
  uint64_t id = 0;
  const auto refused = [&](const std::function<void(v1::SharedImage*)>& change) {
    v1::DetectStreamRequest message = SharedFrame(++id, "r", 100, 100);
    change(message.mutable_frame()->mutable_image()->mutable_shared());
    stream.Write(message);
    const v1::DetectStreamResponse reply = stream.Read();
    EXPECT_EQ(reply.frame_id(), id);
    EXPECT_NE(reply.status().code(), 0) << message.ShortDebugString();
    ExpectAPath(reply.status());
    return reply.status().message();
  };
  EXPECT_THAT(refused([](v1::SharedImage* i) { i->set_region("other"); }), HasSubstr("image.shared.region"));
  EXPECT_THAT(refused([](v1::SharedImage* i) { i->set_region(""); }), HasSubstr("image.shared.region"));
  EXPECT_THAT(refused([](v1::SharedImage* i) { i->set_region(std::string(1000, 'r')); }),
              HasSubstr("image.shared.region"));
  for (const uint64_t offset : {uint64_t{1}, uint64_t{10000}, uint64_t{1} << 32, ~uint64_t{0}, ~uint64_t{0} - 9999}) {
    EXPECT_THAT(refused([&](v1::SharedImage* i) { i->set_offset(offset); }), HasSubstr("image.shared.offset"))
        << offset;
  }
  EXPECT_THAT(refused([](v1::SharedImage* i) { i->set_height(101); }), HasSubstr("image.shared.offset"));
  EXPECT_THAT(refused([](v1::SharedImage* i) { i->set_stride(101); }), HasSubstr("image.shared.offset"));
  EXPECT_THAT(refused([](v1::SharedImage* i) { i->set_stride(~0u); }), HasSubstr("image.shared.offset"));
  EXPECT_THAT(refused([](v1::SharedImage* i) { i->set_stride(99); }), HasSubstr("image.shared.stride"));
  EXPECT_THAT(refused([](v1::SharedImage* i) { i->set_format(v1::PIXEL_FORMAT_RGBA8); }),
              HasSubstr("image.shared.offset"));
  EXPECT_THAT(refused([](v1::SharedImage* i) { i->set_format(static_cast<v1::PixelFormat>(77)); }),
              HasSubstr("image.shared.format"));
  EXPECT_THAT(refused([](v1::SharedImage* i) { i->set_width(0); }), HasSubstr("image.shared.width"));
  EXPECT_THAT(refused([](v1::SharedImage* i) { i->set_width(~0u); }), HasSubstr("image.shared.width"));
  stream.Write(SharedFrame(++id, "r", 100, 100));  // exactly the region
  EXPECT_EQ(stream.Read().status().code(), 0);
}

TEST(SharedMemoryPeers, OnlyUnixSockets) {
  ServerOptions options = SharingOptions();
  options.listen.push_back("127.0.0.1:0");
  LaneControl control;
  TestServer server(std::move(options), &control);
  const std::shared_ptr<grpc::Channel> others[] = {Dial(server->addresses().at(1)), server->InProcessChannel()};
  const Memory memory(kMiB);
  HandoffClient client(server->addresses().at(0).substr(5) + kHandoffSuffix);
  v1::RegisterSharedMemoryRequest request;
  request.set_token(client.HandOver(memory));
  request.set_name("r");
  v1::RegisterSharedMemoryResponse response;
  for (const auto& other : others) {
    grpc::ClientContext context;
    EXPECT_EQ(v1::Server::NewStub(other)->RegisterSharedMemory(&context, request, &response).error_code(),
              grpc::StatusCode::FAILED_PRECONDITION);
  }
  {
    grpc::ClientContext context;
    ASSERT_TRUE(server.server_stub()->RegisterSharedMemory(&context, request, &response).ok());
    EXPECT_EQ(response.bytes(), kMiB);
  }
  v1::DetectRequest detect;
  SetShared("r", 64, 48, detect.mutable_image());
  for (const auto& other : others) {
    const auto stub = v1::FeatureDetection::NewStub(other);
    TestStream stream(stub.get());
    stream.Write(OptionsMessage());
    stream.Write(SharedFrame(1, "r"));
    EXPECT_EQ(stream.Read().status().code(), grpc::StatusCode::FAILED_PRECONDITION);
    grpc::ClientContext context;
    v1::DetectResponse ignored;
    EXPECT_EQ(stub->Detect(&context, detect, &ignored).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  }
  grpc::ClientContext context;
  v1::DetectResponse found;
  EXPECT_TRUE(server.stub()->Detect(&context, detect, &found).ok());
}

TEST_F(SharedMemoryTest, FramesUnderWayOutliveTheClient) {
  Memory memory(kMiB);
  memory.data()[0] = 77;
  HandoffClient client(socket_);
  const std::string token = client.HandOver(memory);
  ASSERT_TRUE(Register(token, "r").ok());
  ASSERT_TRUE(server_->WaitUntilServing(absl::Seconds(10)));
  const int before = control_.runs();
  control_.Hold(true);
  TestStream stream(server_.stub());
  stream.Write(OptionsMessage());
  stream.Write(SharedFrame(1, "r"));
  stream.Write(SharedFrame(2, "r"));
  ASSERT_TRUE(Eventually([&] { return control_.runs() > before; }));
  ASSERT_TRUE(Eventually([&] { return server_->frames_in_flight() == 2; }));
  client.Die();
  ASSERT_TRUE(Eventually([&] { return Unregister(token).error_code() == grpc::StatusCode::NOT_FOUND; }));
  stream.Write(SharedFrame(3, "r"));
  control_.Hold(false);
  EXPECT_EQ(stream.Read().features().y(0), 77);
  EXPECT_EQ(stream.Read().features().y(0), 77);
  EXPECT_EQ(stream.Read().status().code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(SharedMemoryTest, SealedMemoryCannotBeTakenAway) {
  Memory memory(kMiB);
  HandoffClient client(socket_);
  ASSERT_TRUE(Register(client.HandOver(memory), "r").ok());
  EXPECT_NE(ftruncate(memory.fd(), 0), 0);
  EXPECT_NE(ftruncate(memory.fd(), 2 * kMiB), 0);
  // Holes can be made, and are zeros.
  memory.data()[0] = 9;
  ASSERT_EQ(fallocate(memory.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kMiB), 0);
  TestStream stream(server_.stub());
  stream.Write(OptionsMessage());
  stream.Write(SharedFrame(1, "r", 1024, 1024));
  EXPECT_EQ(stream.Read().features().y(0), 0);
}

// The detector itself on pixels that change all the time.
TEST(SharedMemoryScribbling, ChangesNothingButTheFeatures) {
  TestServer server(SharingOptions());
  const std::string socket = server->addresses().at(0).substr(5) + kHandoffSuffix;
  constexpr int kWidth = 640, kHeight = 480;
  Memory memory(kWidth * kHeight);
  HandoffClient client(socket);
  v1::RegisterSharedMemoryRequest request;
  request.set_token(client.HandOver(memory));
  request.set_name("r");
  v1::RegisterSharedMemoryResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(server.server_stub()->RegisterSharedMemory(&context, request, &response).ok());
  std::atomic<bool> stop{false};
  std::thread scribbler([&] {
    Random random(5);
    const Image noise = Noise({kWidth, kHeight}, 3);
    while (!stop) {
      switch (random.Uniform(0, 3)) {
        case 0:  // corners everywhere, and none
          for (int y = 0; y < kHeight; ++y) std::memcpy(memory.data() + y * kWidth, noise.row(y), kWidth);
          break;
        case 1:
          std::memset(memory.data(), random.Uniform(0, 255), memory.bytes());
          break;
        case 2:
          (void)fallocate(memory.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096 * random.Uniform(0, 60), 65536);
          break;
        default:
          for (int i = 0; i < 5000; ++i) memory.data()[random.Uniform(0, kWidth * kHeight - 1)] ^= 0xff;
      }
    }
  });
  for (const std::string& preset : PresetNames()) {
    TestStream stream(server.stub());
    v1::DetectStreamRequest options = OptionsMessage();
    options.mutable_options()->mutable_detector()->set_preset(preset);
    options.mutable_options()->mutable_detector()->set_max_features(2000);
    stream.Write(options);
    size_t found = 0;
    // More where the scribbler waits for a processor and has left the memory flat.
    for (uint64_t id = 1; id <= 60 || (found == 0 && id <= 6000); ++id) {
      stream.Write(SharedFrame(id, "r", kWidth, kHeight));
      const v1::DetectStreamResponse reply = stream.Read();
      ASSERT_EQ(reply.frame_id(), id);
      ASSERT_EQ(reply.status().code(), 0) << reply.status().message();
      for (int i = 0; i < reply.features().x_size(); ++i) {
        ASSERT_TRUE(reply.features().x(i) >= 0 && reply.features().x(i) < kWidth);
        ASSERT_TRUE(reply.features().y(i) >= 0 && reply.features().y(i) < kHeight);
      }
      found += static_cast<size_t>(reply.features().x_size());
    }
    EXPECT_GT(found, 0u);
  }
  stop = true;
  scribbler.join();
  // The server is as it was.
  const Image noise = Noise({kWidth, kHeight}, 3);
  for (int y = 0; y < kHeight; ++y) std::memcpy(memory.data() + y * kWidth, noise.row(y), kWidth);
  v1::DetectRequest shared, sent;
  SetShared("r", kWidth, kHeight, shared.mutable_image());
  SetGray(kWidth, kHeight, 0, sent.mutable_image());
  sent.mutable_image()->mutable_raw()->mutable_data()->assign(reinterpret_cast<const char*>(memory.data()),
                                                              memory.bytes());
  v1::DetectResponse answers[2];
  for (int i = 0; i < 2; ++i) {
    grpc::ClientContext call;
    ASSERT_TRUE(server.stub()->Detect(&call, i == 0 ? shared : sent, &answers[i]).ok());
  }
  EXPECT_GT(answers[0].features().x_size(), 100);
  EXPECT_EQ(answers[0].features().SerializeAsString(), answers[1].features().SerializeAsString());
}

}  // namespace
}  // namespace glint::testing
