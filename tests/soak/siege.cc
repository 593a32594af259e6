// glint-siege [SECONDS [CLIENTS]]: a glint-server under clients that are after its memory (60 s, 48 clients), and one
// good client. Its memory must stay within the bound that the server prints. What the good client waits is measured
// alone and under siege, and printed beside it.
//
// The hostile ones are of four kinds, in turn: calls whose message of 33 MiB stops a byte short; first messages of
// nothing but empty unknown fields; frames in DATA frames of 24 bytes; streams that send nothing.
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "glint/v1/feature_detection.grpc.pb.h"
#include "tests/blackbox/server_process.h"
#include "tests/server/http2_client.h"
#include "tests/soak/page.h"

namespace glint::soak {
namespace {

using testing::Http2Client;
using Clock = std::chrono::steady_clock;
using Milliseconds = Http2Client::Milliseconds;

constexpr char kGetServerInfo[] = "/glint.v1.Server/GetServerInfo";
constexpr char kDetectStream[] = "/glint.v1.FeatureDetection/DetectStream";
constexpr uint32_t kShortBytes = 33 << 20, kFieldsBytes = 4 << 20, kPiecesBytes = 2 << 20;
constexpr size_t kPiece = 24;  // of smaller ones gRPC puts several into one slice
constexpr Milliseconds kPatience(200);
constexpr const char* kKinds[] = {"messages that stop a byte short", "empty unknown fields", "DATA frames of 24 bytes",
                                  "silent streams"};
constexpr int kKindCount = 4;

// Holds what it has begun for a moment, so that the server has to, too.
void Linger(Http2Client* client, const std::atomic<bool>& stop) {
  for (int i = 0; i < 10 && !stop && client->alive(); ++i) client->Pump(kPatience);
}

void StopShort(Http2Client* client, const std::atomic<bool>& stop) {
  const uint32_t stream = client->Call(kGetServerInfo);
  client->SendPrefix(stream, kShortBytes);
  client->SendZeros(stream, kShortBytes - 1, kPatience);
  Linger(client, stop);
}

void SendUnknownFields(Http2Client* client, const std::atomic<bool>& stop) {
  std::string fields;
  while (fields.size() < kFieldsBytes) fields += std::string("\x7a\x00", 2);  // field 15, of no bytes
  const uint32_t stream = client->Call(kDetectStream);
  client->SendPrefix(stream, kFieldsBytes);
  client->SendData(stream, fields, kPatience);
  Linger(client, stop);
}

void SendPieces(Http2Client* client, const std::atomic<bool>& stop) {
  v1::DetectStreamRequest options;
  options.mutable_options()->mutable_detector()->set_preset("orb");
  const std::string first = options.SerializeAsString();
  const uint32_t stream = client->Call(kDetectStream);
  client->SendPrefix(stream, static_cast<uint32_t>(first.size()));
  client->SendData(stream, first, kPatience);
  client->SendPrefix(stream, kPiecesBytes);
  const std::string piece(kPiece, '\0');
  for (size_t sent = 0; sent + kPiece < kPiecesBytes && !stop; sent += kPiece) {
    if (!client->SendData(stream, piece, kPatience)) break;
  }
  Linger(client, stop);
}

void StaySilent(Http2Client* client, const std::atomic<bool>& stop) {
  for (int i = 0; i < 8; ++i) client->Call(kDetectStream);
  Linger(client, stop);
}

constexpr void (*kAttack[])(Http2Client*, const std::atomic<bool>&) = {StopShort, SendUnknownFields, SendPieces,
                                                                       StaySilent};

v1::DetectStreamRequest Frame() {
  v1::DetectStreamRequest request;
  v1::RawImage* const raw = request.mutable_frame()->mutable_image()->mutable_raw();
  raw->set_format(v1::PIXEL_FORMAT_GRAY8);
  raw->set_width(640);
  raw->set_height(480);
  for (int i = 0; i < 640 * 480; ++i) raw->mutable_data()->push_back(static_cast<char>((i / 9 + i / 640 / 7) * 37));
  return request;
}

// One frame after the other, on one stream, for `seconds`. Round trips in milliseconds, sorted; empty: it was broken.
std::vector<double> Detect(const std::string& address, double seconds) {
  const auto stub = v1::FeatureDetection::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(static_cast<int>(seconds) + 30));
  const auto stream = stub->DetectStream(&context);
  v1::DetectStreamRequest options;
  options.mutable_options()->mutable_detector()->set_preset("orb");
  stream->Write(options);
  const v1::DetectStreamRequest frame = Frame();
  v1::DetectStreamResponse reply;
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  bool good = true;
  while (good && Clock::now() < end) {
    const auto begin = Clock::now();
    good = stream->Write(frame);
    if (times.empty()) stream->WaitForInitialMetadata();  // as client/stream.cc
    good = good && stream->Read(&reply) && reply.has_features();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  stream->WritesDone();
  const grpc::Status status = stream->Finish();
  std::sort(times.begin(), times.end());
  if (!good || !status.ok()) {
    std::printf("WRONG: the good client: %s %s\n", reply.status().message().c_str(), status.error_message().c_str());
    return {};
  }
  return times;
}

double At(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1))];
}

void Print(const char* when, const std::vector<double>& times) {
  std::printf("good client %-11s %6zu frames, p50 %6.2f ms, p99 %7.2f ms\n", when, times.size(), At(times, 0.5),
              At(times, 0.99));
}

int Main(double seconds, int clients) {
  grpc_init();
  const std::string path = "/tmp/glint-siege-" + std::to_string(getpid()) + ".sock";
  testing::ServerProcess server({"--lanes=2", "--metrics-listen=127.0.0.1:0", "--listen=127.0.0.1:0",
                                 "--listen=unix:" + path, "--memory-limit=4294967296"});
  if (server.address().empty()) {
    std::printf("glint-server does not start: %s\n", server.LogToEnd().c_str());
    return 1;
  }
  const std::string metrics = server.metrics_address();
  std::thread log([&server] { server.LogToEnd(); });
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::vector<double> alone = Detect(server.address(), std::min(10.0, seconds / 4));
  const auto before = Page::Fetch(metrics);

  std::atomic<bool> stop{false};
  std::atomic<int64_t> counts[kKindCount] = {};
  std::atomic<double> peak{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back([&, kind = i % kKindCount] {
      while (!stop) {
        Http2Client client(path);
        kAttack[kind](&client, stop);
        ++counts[kind];
      }
    });
  }
  threads.emplace_back([&] {
    while (!stop) {
      if (const auto page = Page::Fetch(metrics); page.has_value()) {
        peak = std::max(peak.load(), page->Sum("process_resident_memory_bytes"));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  const std::vector<double> besieged = Detect(server.address(), seconds);
  stop = true;
  for (std::thread& thread : threads) thread.join();

  const double bound = before.has_value() ? before->Sum("glint_memory_bound_bytes") : 0;
  for (int kind = 0; kind < kKindCount; ++kind) {
    std::printf("%7lld times %s\n", static_cast<long long>(counts[kind].load()), kKinds[kind]);
  }
  std::printf("memory: bound %.0f MiB, %.0f MiB resident at its highest\n", bound / (1 << 20), peak / (1 << 20));
  bool good = peak > 0 && peak <= bound && !alone.empty() && !besieged.empty();
  if (!alone.empty() && !besieged.empty()) {
    Print("alone", alone);
    Print("under siege", besieged);
  }
  server.Signal(SIGTERM);
  good = server.Join() == 0 && good;
  log.join();
  std::printf(good ? "all well\n" : "NOT well\n");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace glint::soak

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 60;
  const int clients = argc > 2 ? std::atoi(argv[2]) : 48;
  if (seconds <= 0 || clients < 1 || argc > 3) {
    std::fprintf(stderr, "usage: glint-siege [SECONDS [CLIENTS]]\n");
    return 2;
  }
  return glint::soak::Main(seconds, clients);
}
