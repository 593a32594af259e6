// glint-silence ADDRESS [FRAMES [WIDTH HEIGHT]]: how much later than in a busy stream is the answer to the first frame
// after 1.0 to 2.1 s of silence?
//
// Two rounds of FRAMES frames (200) over one stream with one frame outstanding: back to back, then each after a silence
// whose length runs evenly through the range; nothing else happens on the connection in between. 200 silences take five
// minutes.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "glint/v1/feature_detection.grpc.pb.h"

namespace {

using Clock = std::chrono::steady_clock;
namespace v1 = glint::v1;

constexpr double kShortestSilence = 1.0, kLongestSilence = 2.1;  // seconds

class Stream {
 public:
  Stream(const std::string& address, uint32_t width, uint32_t height) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = v1::FeatureDetection::NewStub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    stream_ = stub_->DetectStream(&context_);
    v1::DetectStreamRequest options;
    options.mutable_options();
    stream_->Write(options);
    v1::RawImage* const raw = frame_.mutable_frame()->mutable_image()->mutable_raw();
    raw->set_format(v1::PIXEL_FORMAT_GRAY8);
    raw->set_width(width);
    raw->set_height(height);
    raw->mutable_data()->assign(size_t{width} * height, 100);
  }

  struct Times {
    double round_trip = 0, server = 0;  // milliseconds
  };
  Times Frame() {
    const Clock::time_point begin = Clock::now();
    v1::DetectStreamResponse reply;
    bool answered = stream_->Write(frame_);
    if (answered) {
      if (!std::exchange(has_headers_, true)) stream_->WaitForInitialMetadata();  // as client/stream.cc
      answered = stream_->Read(&reply);
    }
    if (!answered) {
      std::fprintf(stderr, "glint-silence: %s\n", stream_->Finish().error_message().c_str());
      std::exit(1);
    }
    return {std::chrono::duration<double, std::milli>(Clock::now() - begin).count(),
            static_cast<double>(reply.timings().total_ns()) * 1e-6};
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<v1::FeatureDetection::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::DetectStreamRequest, v1::DetectStreamResponse>> stream_;
  bool has_headers_ = false;
  v1::DetectStreamRequest frame_;
};

void Print(const char* what, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double p) { return values[static_cast<size_t>(p * static_cast<double>(values.size() - 1))]; };
  std::printf("%-28s p50 %7.3f  p90 %7.3f  p99 %7.3f  p99.9 %7.3f  max %7.3f ms\n", what, at(0.5), at(0.9), at(0.99),
              at(0.999), values.back());
}

void Report(const char* round, const std::vector<Stream::Times>& all) {
  std::vector<double> round_trips, outside;
  for (const Stream::Times& times : all) {
    round_trips.push_back(times.round_trip);
    outside.push_back(times.round_trip - times.server);
  }
  std::printf("%s, %zu frames\n", round, all.size());
  Print("  round trip", round_trips);
  Print("  of it outside the server", outside);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: glint-silence ADDRESS [FRAMES [WIDTH HEIGHT]]\n");
    return 2;
  }
  const int frames = argc > 2 ? std::atoi(argv[2]) : 200;
  const uint32_t width = argc > 4 ? static_cast<uint32_t>(std::atoi(argv[3])) : 640;
  const uint32_t height = argc > 4 ? static_cast<uint32_t>(std::atoi(argv[4])) : 480;

  Stream stream(argv[1], width, height);
  for (int i = 0; i < 50; ++i) stream.Frame();  // warm-up
  std::vector<Stream::Times> busy, silent;
  for (int i = 0; i < frames; ++i) busy.push_back(stream.Frame());
  Report("busy", busy);
  for (int i = 0; i < frames; ++i) {
    const double part = static_cast<double>(i % 100) / 99.0;
    std::this_thread::sleep_for(
        std::chrono::duration<double>(kShortestSilence + part * (kLongestSilence - kShortestSilence)));
    silent.push_back(stream.Frame());
  }
  Report("after 1.0-2.1 s of silence", silent);
  return 0;
}
