#include "tests/slam/rendered_drive.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <utility>

#include "cpu/rectify/remap.h"

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

Eigen::Vector3d ToVector(scene::Vec3 v) { return {v.x, v.y, v.z}; }

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

Image Rectified(const Image& raw, const RemapTable& table) {
  Image image(table.shape.width, table.shape.height);
  cpu::BestRemapRows()(raw, table, 0, image.height(), image.row(0), image.row(1) - image.row(0));
  return image;
}

StereoCamera CameraOf(const scene::StereoHead& head) {
  StereoCamera camera;
  camera.image = {head.camera.width, head.camera.height};
  camera.focal_length = head.camera.focal;
  camera.centre_x = head.camera.cx;
  camera.centre_y = head.camera.cy;
  camera.baseline = head.baseline;
  return camera;
}

ImuModel ImuModelOf(const scene::ImuOptions& options) {
  ImuModel model;
  model.camera_from_imu = ToPose(options.camera_from_imu);
  const double factor = options.noise > 0 ? options.noise : 1;
  model.gyroscope_noise_density = factor * options.gyroscope_noise_density;
  model.gyroscope_random_walk = factor * options.gyroscope_random_walk;
  model.accelerometer_noise_density = factor * options.accelerometer_noise_density;
  model.accelerometer_random_walk = factor * options.accelerometer_random_walk;
  model.gravity = ToVector(options.gravity).norm();
  model.imu_time_minus_camera_time_ns = std::llround(1e9 * options.offset);
  model.gyroscope_range = options.gyroscope_range;
  model.accelerometer_range = options.accelerometer_range;
  return model;
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
      world_(path, options.seed) {
  if (!options_.imu.has_value() || moments_.empty()) return;
  smooth_.emplace(Timeline());
  imu_ = scene::MeasureImu(*smooth_, *options_.imu);
}

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

double RenderedDrive::SecondsOf(const Moment& moment) const {
  const double step =
      path_.size() < 2 ? 0.1 : (path_.back().seconds - path_.front().seconds) / static_cast<double>(path_.size() - 1);
  return path_[moment.pose].seconds + step * options_.every * moment.waited;
}

scene::Path RenderedDrive::Timeline() const {
  scene::Path timeline;
  int waited = 0;
  size_t next = 0;  // moment: those that wait at a pose follow it
  for (size_t pose = moments_.front().pose; pose <= moments_.back().pose; ++pose) {
    timeline.push_back({SecondsOf({pose, waited, false}), path_[pose].pose, ""});
    while (next < moments_.size() && moments_[next].pose <= pose) {
      const Moment& moment = moments_[next++];
      if (moment.waited == waited) continue;
      waited = moment.waited;
      timeline.push_back({SecondsOf(moment), path_[pose].pose, ""});
    }
  }
  return timeline;
}

void RenderedDrive::AddImu(size_t i, DriveFrame* frame) const {
  const auto earlier = [](const scene::ImuRow& row, double seconds) { return row.seconds <= seconds; };
  const double since = i == 0 ? -1e9 : SecondsOf(moments_[i - 1]);
  const auto begin = std::lower_bound(imu_.begin(), imu_.end(), since, earlier);
  const auto end = std::lower_bound(begin, imu_.end(), frame->seconds, earlier);
  for (auto row = begin; row != end; ++row) {
    frame->imu.gyroscope.push_back({row->time_ns, ToVector(row->angular_velocity)});
    frame->imu.accelerometer.push_back({row->time_ns, ToVector(row->acceleration)});
  }
  const scene::MovingPose at = smooth_->At(frame->seconds);
  const scene::Vec3 by_turning = Cross(at.angular_velocity, options_.imu->camera_from_imu.position);
  frame->motion.velocity = ToVector(at.velocity + at.pose.rotation * by_turning);
  if (end == imu_.begin()) return;
  frame->motion.bias = {ToVector((end - 1)->gyroscope_bias), ToVector((end - 1)->accelerometer_bias)};
}

DriveFrame RenderedDrive::Render(size_t i) {
  const Moment& moment = moments_[i];
  DriveFrame frame;
  frame.seconds = SecondsOf(moment);
  const double from_first = frame.seconds - SecondsOf(moments_.front());
  frame.is_dark = moment.is_dark;
  for (const DriveOptions::Span& span : options_.dark_spans) {
    frame.is_dark = frame.is_dark || (from_first >= span.from && from_first < span.to);
  }
  // Without a sensor a camera that waits keeps the time of its pose.
  const double exposed = smooth_.has_value() ? frame.seconds : path_[moment.pose].seconds;
  const std::function<scene::Pose(double)> pose_at = [&](double seconds) {
    return smooth_.has_value() ? smooth_->PoseAt(seconds) : PoseAtTime(path_, seconds);
  };
  const scene::Pose pose = smooth_.has_value() ? pose_at(exposed) : path_[moment.pose].pose;
  frame.truth = ToPose(pose);
  if (smooth_.has_value()) AddImu(i, &frame);
  const auto seed = static_cast<uint32_t>(moment.pose + static_cast<size_t>(moment.waited));
  for (const bool is_right : {false, true}) {
    Image& image = is_right ? frame.right : frame.left;
    if (is_right && options_.depth.has_value()) {
      frame.depth = SenseDepth(*options_.depth, options_.head.camera, pose, seed, &world_);
      continue;
    }
    if (!frame.is_dark) {
      image = Expose(options_.sensor, options_.head, is_right, pose_at, exposed, seed, &world_);
      if (options_.rectify.has_value()) image = Rectified(image, *options_.rectify);
      continue;
    }
    const Shape shape = options_.rectify.has_value() ? options_.rectify->shape
                                                     : Shape{options_.head.camera.width, options_.head.camera.height};
    image = Image(shape.width, shape.height);
    for (int y = 0; y < image.height(); ++y) std::fill_n(image.row(y), image.width(), uint8_t{0});
  }
  return frame;
}

CameraView DriveFrame::view(double unit) const {
  if (depth.bytes.empty()) return {left.view(), right.view(), {}};
  const auto [width, height] = depth.shape;
  return {left.view(), {}, {depth.bytes.data(), width, height, 2 * static_cast<ptrdiff_t>(width), {unit, 0, 0}}};
}

bool IsLocated(const LocalizerResult& result) {
  return result.status == TrackingStatus::kTracking || result.status == TrackingStatus::kRelocalized ||
         result.status == TrackingStatus::kNewMap;
}

void DriveRecord::Add(const DriveFrame& frame, const LocalizerResult& result, double ms) {
  const auto number = static_cast<int>(path.size());
  ++statuses[result.status];
  loops += result.loop_closed ? 1 : 0;
  if (result.status == TrackingStatus::kLost && first_lost < 0) first_lost = number;
  if (result.status == TrackingStatus::kRelocalized && first_again < 0) first_again = number;
  path.push_back(result.world_from_camera);
  truth.push_back(frame.truth);
  results.push_back(result);
  seconds.push_back(frame.seconds);
  is_dark.push_back(frame.is_dark);
  motion.push_back(frame.motion);
  total_ms.push_back(ms);
  find_ms.push_back(1e-6 * static_cast<double>(result.find_ns));
  track_ms.push_back(1e-6 * static_cast<double>(result.track_ns));
  adjust_ms.push_back(1e-6 * static_cast<double>(result.adjust_ns));
  last = result;
}

void DriveRecord::Level(const Localizer& localizer) {
  Pose now;
  uint64_t first = path.size();
  localizer.VisitMap(
      [&](const MapKeyframeView& keyframe) {
        now = keyframe.world_from_camera;
        first = keyframe.stamp.frame_id;
        return false;
      },
      nullptr);
  if (first >= path.size()) return;
  const Pose level_from_world = now * path[first].Inverse();
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    if (results[i].map_id == results.back().map_id) path[i] = level_from_world * path[i];
  }
}

double DriveRecord::StepError(bool is_corrected) const {
  double sum = 0;
  int steps = 0;
  for (size_t i = 1; i < results.size(); ++i) {
    const LocalizerResult &last = results[i - 1], &now = results[i];
    if (last.status != TrackingStatus::kTracking || now.status != TrackingStatus::kTracking) continue;
    if (last.map_id != now.map_id && !now.world_correction.has_value()) continue;
    Pose from = last.world_from_camera;
    if (is_corrected) from = now.world_correction.value_or(Pose()) * from;
    const Pose step = from.Inverse() * now.world_from_camera, true_step = truth[i - 1].Inverse() * truth[i];
    sum += (step.translation - true_step.translation).squaredNorm();
    ++steps;
  }
  return steps == 0 ? 0 : std::sqrt(sum / steps);
}

DriveRecord::Claims DriveRecord::TrackingClaims() const {
  struct Start {
    Pose found_from_true;
    double way;
  };
  std::map<int32_t, Start> maps;
  Claims claims;
  std::vector<double> errors, sigmas, normalised;
  double way = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const LocalizerResult& result = results[i];
    if (i > 0) way += (truth[i].translation - truth[i - 1].translation).norm();
    if (!IsLocated(result)) continue;
    const auto [map, is_first] = maps.try_emplace(result.map_id, Start{path[i] * truth[i].Inverse(), way});
    if (is_first || result.status != TrackingStatus::kTracking) continue;
    const Start& start = map->second;
    ++claims.all;
    // In the camera's axes, as the covariance; all zero, it covers nothing.
    const Eigen::Vector3d error = ((start.found_from_true * truth[i]).Inverse() * path[i]).translation;
    const Eigen::Matrix3d covariance = result.covariance.bottomRightCorner<3, 3>();
    const double squared = covariance.trace() > 0 ? error.dot(covariance.inverse() * error) : HUGE_VAL;
    if (squared > 9 && error.norm() > 0.01 * (way - start.way)) ++claims.wrong;
    errors.push_back(error.norm());
    sigmas.push_back(std::sqrt(covariance.trace()));
    normalised.push_back(squared / 3);
  }
  if (claims.all == 0) return claims;
  claims.error = Percentile(errors, 0.5);
  claims.sigma = Percentile(sigmas, 0.5);
  claims.normalised = Percentile(normalised, 0.5);
  return claims;
}

void DriveRecord::Print() const {
  constexpr double kDegrees = 57.29577951308232;
  for (const auto& [status, count] : statuses) std::printf("%s %d  ", NameOf(status), count);
  const PathErrors e = Errors();
  std::printf("\nlength %.1f m  ATE %.4f m %.3f %%  end %.3f m  RPE %.4f m %.4f degrees\n", e.length, e.absolute,
              100 * e.absolute / e.length, e.end, e.relative, kDegrees * e.relative_angle);
  std::printf("steps: RMS error %.2f mm as answered, %.2f mm corrected by what moved the world\n",
              1e3 * StepError(false), 1e3 * StepError(true));
  const Claims claims = TrackingClaims();
  std::printf(
      "false TRACKING: %d of %d, off by over 3 sigma and 1 %% of the way; medians: off by %.2f mm, sigma %.2f mm, "
      "normalised squared error %.2f\n",
      claims.wrong, claims.all, 1e3 * claims.error, 1e3 * claims.sigma, claims.normalised);
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
  std::map<WarningKind, std::pair<int, std::string>> told;  // pairs, and the last text
  for (const LocalizerResult& result : results) {
    for (const Warning& w : result.warnings) told[w.kind] = {told[w.kind].first + 1, w.text};
  }
  for (const auto& [kind, pairs] : told) std::printf("%d pairs: %s\n", pairs.first, pairs.second.c_str());
}

namespace {

absl::Status TrackFrame(const DriveFrame& frame, size_t i, double depth_unit, const DriveRun& run) {
  DriveRecord* const record = run.record;
  LocalizerResult result;
  const double thread = ProcessorMs(CLOCK_THREAD_CPUTIME_ID), process = ProcessorMs(CLOCK_PROCESS_CPUTIME_ID);
  const auto start = std::chrono::steady_clock::now();
  const FrameStamp stamp = {i, std::llround(frame.seconds * 1e9)};
  absl::Status status = run.with_imu ? run.localizer->AddImu(frame.imu) : absl::OkStatus();
  if (status.ok()) status = run.localizer->Track(frame.view(depth_unit), stamp, &result);
  if (!status.ok()) return status;
  const bool becomes_level = result.inertial.is_level && !record->results.empty() && !record->last.inertial.is_level &&
                             record->last.map_id == result.map_id;
  record->Add(frame, result, Milliseconds(std::chrono::steady_clock::now() - start).count());
  record->thread_ms.push_back(ProcessorMs(CLOCK_THREAD_CPUTIME_ID) - thread);
  record->others_ms.push_back(ProcessorMs(CLOCK_PROCESS_CPUTIME_ID) - process - record->thread_ms.back());
  if (becomes_level) record->Level(*run.localizer);
  return absl::OkStatus();
}

}  // namespace

absl::Status TrackFrame(const DriveFrame& frame, size_t i, double depth_unit, const std::vector<DriveRun>& runs) {
  for (const DriveRun& run : runs) {
    if (absl::Status status = TrackFrame(frame, i, depth_unit, run); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Track(RenderedDrive* drive, const std::vector<DriveRun>& runs) {
  absl::Status status;
  for (size_t i = 0; i < drive->count() && status.ok(); ++i) {
    status = TrackFrame(drive->Render(i), i, drive->depth_unit(), runs);
  }
  return status;
}

absl::Status Track(RenderedDrive* drive, Localizer* localizer, DriveRecord* record) {
  return Track(drive, {{localizer, record}});
}

}  // namespace glint::slam
