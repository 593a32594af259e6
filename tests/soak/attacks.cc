#include "tests/soak/attacks.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glint/v1/feature_detection.grpc.pb.h"
#include "glint/v1/server.grpc.pb.h"
#include "tests/server/memory_client.h"

extern char** environ;

namespace glint::soak {
namespace {

using testing::HandoffClient;
using testing::Memory;
using testing::Random;

constexpr int kOpenAtOnce = 8;  // connections or streams of one attacker
constexpr size_t kRegionBytes = 640 * 480;

void Sleep(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

class Socket {
 public:
  explicit Socket(const std::string& address) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const size_t colon = address.rfind(':');
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
    inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
    open_ = connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0;
  }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)), open_(other.open_) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(open_, other.open_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  // False once the server has closed, or takes nothing more at this moment.
  bool Send(const std::string& bytes) {
    return open_ && send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == ssize_t(bytes.size());
  }
  void HalfClose() { shutdown(fd_, SHUT_WR); }
  // Closing it sends a reset.
  void MakeAbrupt() {
    const linger now = {1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  }

 private:
  int fd_;
  bool open_;
};

// ---- HTTP/2 by hand (RFC 9113), as little of it as begins a call.

std::string BigEndian(uint32_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> 8 * i);
  return out;
}

std::string Http2Frame(char type, char flags, uint32_t stream, const std::string& payload) {
  return BigEndian(static_cast<uint32_t>(payload.size()), 3) + type + flags + BigEndian(stream, 4) + payload;
}

std::string BeginCall(const std::string& method) {
  std::string headers;
  for (const auto& [key, value] : {std::pair<std::string, std::string>{":method", "POST"},
                                   {":scheme", "http"},
                                   {":path", "/glint.v1.FeatureDetection/" + method},
                                   {":authority", "soak"},
                                   {"content-type", "application/grpc"},
                                   {"te", "trailers"}}) {
    headers += std::string(1, '\0') + static_cast<char>(key.size()) + key + static_cast<char>(value.size()) + value;
  }
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Http2Frame(4, 0, 0, "") + Http2Frame(1, 4, 1, headers);
}

std::string GrpcMessage(const std::string& bytes) {
  return std::string(1, '\0') + BigEndian(static_cast<uint32_t>(bytes.size()), 4) + bytes;
}

v1::DetectStreamRequest SmallFrame(uint64_t id) {
  v1::DetectStreamRequest request;
  v1::RawImage* const raw = request.mutable_frame()->mutable_image()->mutable_raw();
  request.mutable_frame()->set_frame_id(id);
  raw->set_format(v1::PIXEL_FORMAT_GRAY8);
  raw->set_width(96);
  raw->set_height(96);
  raw->mutable_data()->resize(96 * 96);
  for (size_t i = 0; i < 96 * 96; ++i) (*raw->mutable_data())[i] = static_cast<char>((i / 7 + i / 96 / 5) * 37);
  return request;
}

v1::DetectStreamRequest Options() {
  v1::DetectStreamRequest request;
  request.mutable_options()->mutable_detector()->set_preset("orb");
  return request;
}

// ---- The attacks.

void ReadNothing(const Victim& victim, uint32_t seed, const std::atomic<bool>& stop, std::atomic<int64_t>* count,
                 Tally*) {
  Random random(seed);
  std::vector<Socket> open;
  std::string frames = GrpcMessage(Options().SerializeAsString());
  for (uint64_t id = 1; id <= 5; ++id) frames += GrpcMessage(SmallFrame(id).SerializeAsString());
  while (!stop) {
    if (open.size() == kOpenAtOnce) open.erase(open.begin() + random.Uniform(0, kOpenAtOnce - 1));
    open.emplace_back(victim.address);
    open.back().Send(BeginCall("DetectStream"));
    for (size_t at = 0; at < frames.size(); at += 16000) {
      open.back().Send(Http2Frame(0, 0, 1, frames.substr(at, 16000)));
    }
    ++*count;
    Sleep(random.Uniform(20, 200));
  }
}

void WriteSlowly(const Victim& victim, uint32_t seed, const std::atomic<bool>& stop, std::atomic<int64_t>* count,
                 Tally*) {
  Random random(seed);
  while (!stop) {
    const bool call = random.OneIn(2);
    Socket socket(victim.address);
    std::string message = GrpcMessage(call ? SmallFrame(1).frame().SerializeAsString() : Options().SerializeAsString());
    message.resize(message.size() - static_cast<size_t>(random.Uniform(0, 3)));  // some never end
    const std::string begin = BeginCall(call ? "Detect" : "DetectStream");
    bool open = socket.Send(begin.substr(0, 30));
    Sleep(random.Uniform(0, 50));
    open = open && socket.Send(begin.substr(30));
    for (size_t at = 0; open && !stop && at < message.size();) {
      const auto piece = static_cast<size_t>(random.Uniform(1, 9));
      open = socket.Send(Http2Frame(0, 0, 1, message.substr(at, piece)));
      at += piece;
      Sleep(random.Uniform(0, 20));
    }
    if (random.OneIn(2)) socket.MakeAbrupt();
    ++*count;
  }
}

void StaySilent(const Victim& victim, uint32_t seed, const std::atomic<bool>& stop, std::atomic<int64_t>* count,
                Tally*) {
  Random random(seed);
  std::vector<Socket> open;
  while (!stop) {
    if (open.size() == kOpenAtOnce) open.erase(open.begin() + random.Uniform(0, kOpenAtOnce - 1));
    open.emplace_back(random.OneIn(3) ? victim.metrics : victim.address);
    if (random.OneIn(2)) open.back().Send(BeginCall("DetectStream").substr(0, size_t(random.Uniform(1, 120))));
    if (random.OneIn(3)) open.back().HalfClose();
    if (random.OneIn(3)) open.back().MakeAbrupt();
    ++*count;
    Sleep(random.Uniform(1, 60));
  }
}

void SpeakOtherProtocols(const Victim& victim, uint32_t seed, const std::atomic<bool>& stop,
                         std::atomic<int64_t>* count, Tally*) {
  Random random(seed);
  // A ClientHello of TLS 1.2 (RFC 5246), with nothing to choose from.
  const std::string hello = BigEndian(0x160301, 3) + BigEndian(45, 2) + BigEndian(0x01000029, 4) +
                            BigEndian(0x0303, 2) + std::string(32, 'r') + std::string(1, '\0') + BigEndian(2, 2) +
                            BigEndian(0x002f, 2) + BigEndian(0x0100, 2);
  while (!stop) {
    Socket socket(random.OneIn(3) ? victim.metrics : victim.address);
    std::string bytes = hello;
    switch (random.Uniform(0, 3)) {
      case 0:
        bytes = hello.substr(0, static_cast<size_t>(random.Uniform(1, 40)));
        break;
      case 1:
        bytes = "GET / HTTP/1.1\r\nHost: soak\r\n\r\n";
        break;
      case 2:
        bytes = BeginCall("Detect");
        for (int i = random.Uniform(1, 60); i > 0; --i) {
          bytes[static_cast<size_t>(random.Uniform(24, static_cast<int>(bytes.size()) - 1))] =
              static_cast<char>(random.Bits());
        }
        break;
      default:
        break;
    }
    socket.Send(bytes);
    Sleep(random.Uniform(0, 30));
    ++*count;
  }
}

void KillClients(const Victim& victim, uint32_t seed, const std::atomic<bool>& stop, std::atomic<int64_t>* count,
                 Tally* tally) {
  Random random(seed);
  while (!stop) {
    std::string program = "/proc/self/exe", option = "--client", address = victim.address;
    std::string own_seed = std::to_string(random.Bits() >> 1);
    char* const arguments[] = {program.data(), option.data(), address.data(), own_seed.data(), nullptr};
    pid_t pid = -1;
    if (posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments, environ) != 0) {
      return tally->Blame("a client could not be started");
    }
    Sleep(random.Uniform(50, 900));
    kill(pid, SIGKILL);
    int status = 0;
    waitpid(pid, &status, 0);
    if (!WIFSIGNALED(status)) tally->Blame(absl::StrCat("a client ended by itself, status ", status));
    ++*count;
  }
}

// Frames in shared memory whose pixels change, vanish and are taken away meanwhile.
void BreakMemory(const Victim& victim, uint32_t seed, const std::atomic<bool>& stop, std::atomic<int64_t>* count,
                 Tally* tally) {
  Random random(seed);
  const auto channel = grpc::CreateChannel("unix:" + victim.unix_path, grpc::InsecureChannelCredentials());
  const auto stub = v1::FeatureDetection::NewStub(channel);
  const auto server = v1::Server::NewStub(channel);
  for (int round = 0; !stop; ++round) {
    const Memory memory(kRegionBytes);
    HandoffClient handoff(victim.unix_path + ".shm");
    v1::RegisterSharedMemoryRequest region;
    region.set_token(handoff.HandOver(memory));
    region.set_name(absl::StrCat("soak-", seed, "-", round));
    v1::RegisterSharedMemoryResponse registered;
    grpc::ClientContext register_context;
    if (!server->RegisterSharedMemory(&register_context, region, &registered).ok()) {
      if (!stop) tally->Blame("good memory is refused");
      Sleep(10);
      continue;
    }
    std::atomic<bool> done{false};
    std::thread breaker([&] {
      Random own(seed + 1);
      while (!done) {
        const int at = own.Uniform(0, static_cast<int>(kRegionBytes) / 4096 - 1) * 4096;
        switch (own.Uniform(0, 2)) {
          case 0:
            std::fill_n(memory.data() + at, 4096, static_cast<uint8_t>(own.Bits()));
            break;
          case 1:  // no seal forbids it; what was there reads as 0
            if (fallocate(memory.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, 8192) != 0) {
              tally->Blame("memory could not be punched");
            }
            break;
          default:  // the seals forbid it, or a lane would read beyond the end
            if (ftruncate(memory.fd(), at) == 0) tally->Blame("memory could be cut");
        }
      }
    });
    grpc::ClientContext context;
    const auto stream = stub->DetectStream(&context);
    stream->Write(Options());
    const int frames = random.Uniform(1, 6);
    v1::DetectStreamRequest request;
    v1::SharedImage* const image = request.mutable_frame()->mutable_image()->mutable_shared();
    image->set_format(v1::PIXEL_FORMAT_GRAY8);
    image->set_width(640);
    image->set_height(480);
    image->set_region(region.name());
    for (int i = 0; i < frames; ++i) {
      request.mutable_frame()->set_frame_id(static_cast<uint64_t>(i));
      stream->Write(request);
      if (random.OneIn(6)) handoff.Die();  // takes the region back; frames that were read go on
    }
    stream->WritesDone();
    stream->WaitForInitialMetadata();  // as client/stream.cc
    v1::DetectStreamResponse reply;
    int answers = 0;
    while (stream->Read(&reply)) answers += reply.frame_id() == static_cast<uint64_t>(answers) ? 1 : 0;
    if (stream->Finish().ok() && answers != frames) {
      tally->Blame(absl::StrCat(frames, " frames in shared memory, ", answers, " answers in their order"));
    }
    done = true;
    breaker.join();
    ++*count;
  }
}

}  // namespace

const Attack kAttackTable[kAttacks] = {{"streams that read nothing", ReadNothing},
                                       {"messages a few bytes at a time", WriteSlowly},
                                       {"silent and half-open connections", StaySilent},
                                       {"other protocols", SpeakOtherProtocols},
                                       {"clients killed", KillClients},
                                       {"regions overwritten, punched and taken back", BreakMemory}};

int RunKilledClient(const std::string& address, uint32_t seed) {
  const Files files;
  Tally tally;  // nobody asks for it
  Doing doing;
  const std::atomic<bool> stop{false};
  RunClient(address, files, seed, {true, true}, stop, &doing, &tally);
  return 0;
}

}  // namespace glint::soak
