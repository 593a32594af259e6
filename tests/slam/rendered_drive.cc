#include "tests/slam/rendered_drive.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <utility>

namespace glint::slam {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

Pose ToPose(const scene::Pose& pose) {
  Eigen::Matrix3d rotation;
  for (int i = 0; i < 9; ++i) rotation(i / 3, i % 3) = pose.rotation.m[static_cast<size_t>(i)];
  Pose result;
  result.rotation = Eigen::Quaterniond(rotation).normalized();
  result.translation = {pose.position.x, pose.position.y, pose.position.z};
  return result;
}

double ProcessorMs(clockid_t clock) {
  timespec time;
  return clock_gettime(clock, &time) == 0
             ? 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec)
             : 0;
}

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

}  // namespace

StereoCamera CameraOf(const scene::StereoHead& head) {
  StereoCamera camera;
  camera.image = {head.camera.width, head.camera.height};
  camera.focal_length = head.camera.focal;
  camera.centre_x = head.camera.cx;
  camera.centre_y = head.camera.cy;
  camera.baseline = head.baseline;
  return camera;
}

namespace {

scene::Path Beside(scene::Path path, double metres) {
  for (scene::TimedPose& p : path) p.pose.position = p.pose.ToWorld({metres, 0, 0});
  return path;
}

}  // namespace

RenderedDrive::RenderedDrive(const scene::Path& path, const DriveOptions& options)
    : path_(Beside(path, options.aside)),
      options_(options),
      moments_(MomentsOf(path_.size(), options)),
      world_(path, options.seed) {}

std::vector<RenderedDrive::Moment> RenderedDrive::MomentsOf(size_t poses, const DriveOptions& options) {
  const auto first = static_cast<size_t>(options.first), every = static_cast<size_t>(options.every);
  const size_t end = std::min(poses, first + static_cast<size_t>(options.frames));
  const int count = end > first ? static_cast<int>((end - first - 1) / every + 1) : 0;
  const std::vector<bool> arrives = scene::Arrivals(count, options.drop_share, options.drop_burst, options.seed);
  std::vector<Moment> moments;
  int waited = 0;
  const auto wait = [&](size_t pose, int frames, bool is_dark) {
    for (int i = 0; i < frames; ++i) moments.push_back({pose, ++waited, is_dark});
  };
  for (size_t i = 0; i < arrives.size(); ++i) {
    const size_t pose = first + i * every;
    if (arrives[i]) moments.push_back({pose, waited, false});
    if (options.dark >= 0 && pose == static_cast<size_t>(options.dark)) wait(pose, 30, true);
  }
  if (count > 0) wait(end - 1, options.still, false);
  return moments;
}

DriveFrame RenderedDrive::Render(size_t i) {
  const Moment& moment = moments_[i];
  const double step =
      path_.size() < 2 ? 0.1 : (path_.back().seconds - path_.front().seconds) / static_cast<double>(path_.size() - 1);
  const double seconds = path_[moment.pose].seconds;
  DriveFrame frame;
  frame.seconds = seconds + step * options_.every * moment.waited;
  frame.truth = ToPose(path_[moment.pose].pose);
  const auto seed = static_cast<uint32_t>(moment.pose + static_cast<size_t>(moment.waited));
  for (const bool is_right : {false, true}) {
    Image& image = is_right ? frame.right : frame.left;
    if (is_right && options_.depth.has_value()) {
      frame.depth = SenseDepth(*options_.depth, options_.head.camera, path_[moment.pose].pose, seed, &world_);
      continue;
    }
    if (!moment.is_dark) {
      image = Expose(options_.sensor, options_.head, is_right, path_, seconds, seed, &world_);
      continue;
    }
    image = Image(options_.head.camera.width, options_.head.camera.height);
    for (int y = 0; y < image.height(); ++y) std::fill_n(image.row(y), image.width(), uint8_t{0});
  }
  return frame;
}

CameraView DriveFrame::view(double unit) const {
  if (depth.bytes.empty()) return {left.view(), right.view(), {}};
  const auto [width, height] = depth.shape;
  return {left.view(), {}, {depth.bytes.data(), width, height, 2 * static_cast<ptrdiff_t>(width), {unit, 0, 0}}};
}

void DriveRecord::Add(const DriveFrame& frame, const LocalizerResult& result, double ms) {
  const auto number = static_cast<int>(path.size());
  ++statuses[result.status];
  loops += result.loop_closed ? 1 : 0;
  if (result.status == TrackingStatus::kLost && first_lost < 0) first_lost = number;
  if (result.status == TrackingStatus::kRelocalized && first_again < 0) first_again = number;
  path.push_back(result.world_from_camera);
  truth.push_back(frame.truth);
  total_ms.push_back(ms);
  find_ms.push_back(1e-6 * static_cast<double>(result.find_ns));
  track_ms.push_back(1e-6 * static_cast<double>(result.track_ns));
  adjust_ms.push_back(1e-6 * static_cast<double>(result.adjust_ns));
  last = result;
}

void DriveRecord::Print() const {
  constexpr double kDegrees = 57.29577951308232;
  for (const auto& [status, count] : statuses) std::printf("%s %d  ", NameOf(status), count);
  const PathErrors e = Errors();
  std::printf("\nlength %.1f m  ATE %.4f m %.3f %%  end %.3f m  RPE %.4f m %.4f degrees\n", e.length, e.absolute,
              100 * e.absolute / e.length, e.end, e.relative, kDegrees * e.relative_angle);
  const Eigen::Vector3d rig = kDegrees * last.rig_rotation;
  std::printf("loops %d  keyframes %zu  points %zu  rig %.4f %.4f %.4f degrees\n", loops,
              static_cast<size_t>(last.keyframes), static_cast<size_t>(last.points), rig.x(), rig.y(), rig.z());
  const std::pair<const char*, const std::vector<double>*> times[] = {
      {"total", &total_ms}, {"find", &find_ms}, {"track", &track_ms}, {"adjust", &adjust_ms}};
  for (const auto& [name, values] : times) {
    std::printf("%s ms: p50 %.1f p99 %.1f  ", name, Percentile(*values, 0.5), Percentile(*values, 0.99));
  }
  if (!thread_ms.empty()) {
    std::printf("\nprocessor ms: tracking p50 %.1f p99 %.1f  others, mean %.1f", Percentile(thread_ms, 0.5),
                Percentile(thread_ms, 0.99),
                std::accumulate(others_ms.begin(), others_ms.end(), 0.0) / static_cast<double>(others_ms.size()));
  }
  if (first_lost >= 0) std::printf("\nfirst lost %d, found again %d", first_lost, first_again);
  std::printf("\n");
}

absl::Status Track(RenderedDrive* drive, Localizer* localizer, DriveRecord* record) {
  for (size_t i = 0; i < drive->count(); ++i) {
    const DriveFrame frame = drive->Render(i);
    LocalizerResult result;
    const double thread = ProcessorMs(CLOCK_THREAD_CPUTIME_ID), process = ProcessorMs(CLOCK_PROCESS_CPUTIME_ID);
    const auto start = std::chrono::steady_clock::now();
    const FrameStamp stamp = {i, std::llround(frame.seconds * 1e9)};
    const absl::Status status = localizer->Track(frame.view(drive->depth_unit()), stamp, &result);
    if (!status.ok()) return status;
    record->Add(frame, result, Milliseconds(std::chrono::steady_clock::now() - start).count());
    record->thread_ms.push_back(ProcessorMs(CLOCK_THREAD_CPUTIME_ID) - thread);
    record->others_ms.push_back(ProcessorMs(CLOCK_PROCESS_CPUTIME_ID) - process - record->thread_ms.back());
  }
  return absl::OkStatus();
}

}  // namespace glint::slam
