// A tool, not a test: what a pair takes on a lane, at the pace of a camera with 20 frames a second (docs/slam.md).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "lane/lane.h"
#include "tests/server/flight.h"

namespace glint::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUp = 10;  // pairs that do not count

void Print(const char* what, std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  const auto at = [&](double share) { return ms[static_cast<size_t>(share * static_cast<double>(ms.size() - 1))]; };
  std::printf("%-24s p50 %7.3f ms, p99 %7.3f ms\n", what, at(0.5), at(0.99));
}

int Run(const LaneOptions& lanes, const scene::Camera& camera, int features, int count) {
  const auto set = CreateLanes(lanes);
  const slam::DriveOptions drive = FlightOptions(camera, count);
  auto localization = Localization::Create(OptionsOf(drive.head, features));
  if (!set.ok() || !localization.ok()) {
    std::fprintf(stderr, "%s\n", (set.ok() ? localization.status() : set.status()).ToString().c_str());
    return 1;
  }
  const std::vector<slam::DriveFrame> frames = RenderFlight(drive);
  std::printf("%dx%d, %d features, %d pairs on %s\n", camera.width, camera.height, features, count,
              set->device.c_str());
  std::vector<double> detect, match, locate, track, all;
  const Clock::time_point start = Clock::now();
  for (size_t i = 0; i < frames.size(); ++i) {
    const slam::DriveFrame& f = frames[i];
    std::this_thread::sleep_until(start + std::chrono::nanoseconds(std::llround(f.seconds * 1e9)));
    Location location;
    FrameTimes times;
    const Clock::time_point began = Clock::now();
    const absl::Status status = (*localization)
                                    ->Track(set->lanes[i % set->lanes.size()].get(), {f.left, f.right, {}}, i,
                                            std::llround(f.seconds * 1e9) + 1, &location, &times);
    const double took = std::chrono::duration<double, std::milli>(Clock::now() - began).count();
    if (!status.ok() || (i > 0 && location.status != LocationStatus::kTracking)) {
      std::fprintf(stderr, "pair %d: not tracked; %s\n", static_cast<int>(i), status.ToString().c_str());
      return 1;
    }
    if (i < kWarmUp) continue;
    const StageTimes& s = times.stages;
    detect.push_back(static_cast<double>(s.upload_ns + s.detect_ns + s.download_ns) * 1e-6);
    match.push_back(static_cast<double>(times.match_ns) * 1e-6);
    locate.push_back(static_cast<double>(times.locate_ns) * 1e-6);
    track.push_back(detect.back() + match.back() + locate.back());
    all.push_back(took);
  }
  Print("both images' features", detect);
  Print("images matched", match);
  Print("pose", locate);
  Print("these together", track);
  Print("with keyframes, loops", all);
  return 0;
}

}  // namespace
}  // namespace glint::testing

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() != 5 || (words[0] != "cpu" && words[0] != "cuda")) {
    std::fprintf(stderr, "Usage: glint-localize-times cpu|cuda THREADS 752x480|1226x370 FEATURES PAIRS\n");
    return 2;
  }
  glint::LaneOptions lanes;
  lanes.backend = words[0] == "cpu" ? glint::Backend::kCpu : glint::Backend::kCuda;
  lanes.lanes = 2;
  lanes.threads_per_lane = std::max(1, std::atoi(words[1].c_str()));
  const glint::scene::Camera camera = words[2] == "752x480" ? glint::scene::Camera{752, 480, 458, 375.5, 239.5}
                                                            : glint::scene::Camera{1226, 370, 707, 612.5, 184.5};
  return glint::testing::Run(lanes, camera, std::atoi(words[3].c_str()), std::max(20, std::atoi(words[4].c_str())));
}
