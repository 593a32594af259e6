#include "slam/localizer.h"

#include <limits>
#include <utility>

#include "features/background.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "slam/front_end/depth_rules.h"
#include "slam/loops/loop_closer.h"
#include "slam/map/global_map.h"
#include "slam/map/map_file.h"

namespace glint::slam {
namespace {

constexpr int kThreads = 2;      // a localizer's own: one adjusts, one looks for loops
constexpr int kProbeEvery = 10;  // pairs without a map from one test for exchanged images to the next

absl::Status NoMapError() { return absl::FailedPreconditionError("map: there is none yet"); }

AdjustmentUse UseIn(LocalizerMode mode) {
  return mode == LocalizerMode::kReproducible ? AdjustmentUse::kAfterDelay : AdjustmentUse::kWhenReady;
}

void PutPlace(const LoopCloser::Place& place, const Pose& camera_from_world, LocalizerResult* result) {
  result->status = TrackingStatus::kRelocalized;
  result->world_from_camera = camera_from_world.Inverse();
  result->covariance = place.fit.covariance;
  result->matches = place.fit.matches;
  result->inliers = place.fit.inliers;
  result->mean_error = place.fit.mean_error;
}

}  // namespace

absl::Status ValidateLocalizerOptions(const LocalizerOptions& o) {
  const auto check = [](const char* field, int64_t value, int64_t low, int64_t high) {
    return value >= low && value <= high ? absl::OkStatus() : OutOfRangeError(field, value, low, high);
  };
  GLINT_RETURN_IF_ERROR(ValidateOdometryOptions(o.odometry));
  GLINT_RETURN_IF_ERROR(check("loop_delay", o.loop_delay, 1, 100));
  GLINT_RETURN_IF_ERROR(check("min_place_inliers", o.min_place_inliers, 10, 1000));
  GLINT_RETURN_IF_ERROR(check("max_keyframes", o.max_keyframes, 10, 1000000));
  GLINT_RETURN_IF_ERROR(check("max_points", o.max_points, 1000, 100000000));
  return absl::OkStatus();
}

struct Localizer::State {
  // `some_threads` may be `an_own_threads`, which may be null.
  State(const StereoCamera& a_camera, const LocalizerOptions& an_options, FrontEnd* a_front_end,
        std::unique_ptr<BackgroundThreads> an_own_threads, BackgroundThreads* some_threads)
      : camera(a_camera),
        options(an_options),
        front_end(a_front_end),
        own_threads(std::move(an_own_threads)),
        threads(some_threads),
        odometry(camera, options.odometry, front_end, UseIn(options.mode), threads),
        closer(std::make_unique<LoopCloser>(options.odometry.noise, options.min_place_inliers)) {}

  bool IsFull() const {
    return static_cast<int64_t>(map.keyframes().size()) >= options.max_keyframes ||
           map.live_points() >= options.max_points;
  }
  bool AreLoopsDue();
  bool UseLoops();
  void StartLoops();
  void AddKeyframe(const FrameStamp& stamp);
  std::shared_ptr<const KeyframeFeatures> FeaturesOfFrame(const StereoFrame& frame) const;
  bool Find(const KeyframeFeatures& features, LoopCloser::Place* place, Pose* camera_from_world);
  void FindLost(LocalizerResult* result);
  void Watch(const CameraView& view, int64_t time_ns, LocalizerResult* result);
  void Describe(LocalizerResult* result) const;

  const StereoCamera camera;  // as it was given
  const LocalizerOptions options;
  FrontEnd* const front_end;
  const std::unique_ptr<BackgroundThreads> own_threads;  // null: others' are used
  BackgroundThreads* const threads;
  Odometry odometry;
  GlobalMap map;
  LevelScales scales;
  int without_map = 0;  // pairs so far
  // State after the last pair.
  int64_t last_time_ns = 0;
  Eigen::Vector3d last_position = Eigen::Vector3d::Zero();
  bool was_tracking = false;

  // Belongs to the job while one goes on.
  std::unique_ptr<LoopCloser> closer;
  std::vector<int64_t> unqueried;  // keyframes for the next job
  BackgroundResult<ClosedLoops> job;
  int job_used_in = 0;
};

bool Localizer::State::AreLoopsDue() {
  if (!job.valid()) return false;
  if (options.mode == LocalizerMode::kReproducible) return --job_used_in <= 0;
  // Moving the window would have to wait for an adjustment.
  return !odometry.is_adjusting() && job.ready();
}

bool Localizer::State::UseLoops() {
  const ClosedLoops closed = job.get();
  for (const LoopEdge& loop : closed.loops) map.AddLoop(loop);
  if (closed.corrections.empty()) return false;
  if (odometry.is_adjusting()) {
    odometry.FinishAdjustment();
    map.Sync(odometry.map());
  }
  map.ApplyCorrections(closed.corrections);
  odometry.ApplyCorrections(closed.corrections);
  was_tracking = false;  // its position has moved
  return true;
}

void Localizer::State::StartLoops() {
  job_used_in = options.loop_delay;
  job = RunInBackground(threads, [snapshot = SnapshotOf(map, odometry.camera(), scales, unqueried), by = closer.get(),
                                  close = options.close_loops] { return by->Check(snapshot, close); });
  unqueried.clear();
}

void Localizer::State::AddKeyframe(const FrameStamp& stamp) {
  if (IsFull()) return;
  const StereoFrame& frame = odometry.frame();
  const int64_t id = odometry.map().keyframes.back().id;
  std::vector<Observation> observations(frame.left.count());
  for (size_t i = 0; i < observations.size(); ++i) observations[i] = ObservationOf(frame, i, options.odometry.noise);
  for (const Landmark& point : odometry.map().points) {
    const Landmark::KeyframeObservation& last = point.observations.back();
    // The first observation of a point is exact for what is followed from there, but not for its corner.
    if (last.keyframe == id && point.observations.size() > 1)
      observations[static_cast<size_t>(last.keypoint)] = last.observation;
  }
  scales = {frame.levels, frame.scale};
  map.Add(id, stamp, KeyframeFeaturesOf(frame, observations));
  unqueried.push_back(id);
}

std::shared_ptr<const KeyframeFeatures> Localizer::State::FeaturesOfFrame(const StereoFrame& frame) const {
  std::vector<Observation> observations(frame.left.count());
  for (size_t i = 0; i < observations.size(); ++i) observations[i] = ObservationOf(frame, i, options.odometry.noise);
  return KeyframeFeaturesOf(frame, observations);
}

bool Localizer::State::Find(const KeyframeFeatures& features, LoopCloser::Place* place, Pose* camera_from_world) {
  if (job.valid()) job.wait();
  const MapSnapshot snapshot = SnapshotOf(map, odometry.camera(), scales, {});
  if (!closer->FindPlace(snapshot, features, std::numeric_limits<int64_t>::max(), place)) return false;
  *camera_from_world = place->fit.query_from_match * map.keyframes()[map.IndexOf(place->keyframe)].camera_from_world;
  return true;
}

void Localizer::State::FindLost(LocalizerResult* result) {
  LoopCloser::Place place;
  Pose pose;
  if (result->keypoints < options.odometry.min_inliers || !Find(*FeaturesOfFrame(odometry.frame()), &place, &pose)) {
    return;
  }
  odometry.Restart(map.Around(place.keyframe, options.odometry.window, options.odometry.noise), odometry.camera(), pose,
                   /*is_located=*/true, odometry.next_keyframe(), odometry.next_point());
  PutPlace(place, pose, result);
}

void Localizer::State::Watch(const CameraView& view, int64_t time_ns, LocalizerResult* result) {
  const StereoFrame& frame = odometry.frame();
  CalibrationFigures& figures = result->calibration;
  figures = FiguresOf(frame);
  if (!view.has_depth() && odometry.map().keyframes.empty() && without_map++ % kProbeEvery == 0 &&
      MayBeSwapped(figures, frame.left.count())) {
    StereoFrame swapped;
    if (front_end->Find(view.right, view.left, &swapped).ok()) figures.swapped_share = FiguresOf(swapped).stereo_share;
  }
  const Eigen::Vector3d& position = result->world_from_camera.translation;
  const bool is_tracking = result->status == TrackingStatus::kTracking;
  if (is_tracking && was_tracking) {
    figures.speed = (position - last_position).norm() / SecondsBetween(last_time_ns, time_ns);
  }
  was_tracking = is_tracking;
  last_position = position;
  last_time_ns = time_ns;
  result->warnings = view.has_depth() ? DepthWarningsOf(figures, frame.left.count())
                                      : WarningsOf(figures, frame.left.count(), result->rig_rotation.norm());
}

void Localizer::State::Describe(LocalizerResult* result) const {
  result->rig_uncertainty = odometry.rig_uncertainty();
  result->keyframes = static_cast<int64_t>(map.keyframes().size());
  result->points = map.live_points();
  result->map_full = IsFull();
}

Localizer::Localizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Localizer::~Localizer() = default;

absl::StatusOr<std::unique_ptr<Localizer>> Localizer::Create(const StereoCamera& camera,
                                                             const LocalizerOptions& options, FrontEnd* front_end,
                                                             BackgroundThreads* threads) {
  GLINT_RETURN_IF_ERROR(ValidateStereoCamera(camera));
  GLINT_RETURN_IF_ERROR(ValidateLocalizerOptions(options));
  std::unique_ptr<BackgroundThreads> own;
  if (threads == nullptr) {
    GLINT_ASSIGN_OR_RETURN(own, BackgroundThreads::Create("localizer", kThreads));
    threads = own.get();
  }
  return std::unique_ptr<Localizer>(
      new Localizer(std::make_unique<State>(camera, options, front_end, std::move(own), threads)));
}

absl::Status Localizer::Track(const CameraView& view, const FrameStamp& stamp, LocalizerResult* result) {
  State& s = *state_;
  *result = {};
  GLINT_RETURN_IF_ERROR(s.odometry.ValidateInput(view, stamp.time_ns));
  const bool loop_closed = s.AreLoopsDue() && s.UseLoops();
  GLINT_RETURN_IF_ERROR(s.odometry.Track(view, stamp.time_ns, result));
  result->loop_closed = loop_closed;
  if (result->is_keyframe) s.AddKeyframe(stamp);
  if (result->is_keyframe || result->is_adjusted) s.map.Sync(s.odometry.map());
  if (!s.job.valid() && !s.unqueried.empty()) s.StartLoops();
  if (result->status == TrackingStatus::kLost && !s.map.keyframes().empty()) s.FindLost(result);
  s.Watch(view, stamp.time_ns, result);
  s.Describe(result);
  return absl::OkStatus();
}

absl::Status Localizer::Relocalize(const CameraView& view, LocalizerResult* result) {
  State& s = *state_;
  *result = {};
  GLINT_RETURN_IF_ERROR(ValidateView(s.camera, view));
  if (s.map.keyframes().empty()) return NoMapError();
  StereoFrame frame;
  GLINT_RETURN_IF_ERROR(FindIn(view, s.camera, s.front_end, &frame));
  result->keypoints = static_cast<int>(frame.left.count());
  result->status = TrackingStatus::kLost;
  result->rig_rotation = s.odometry.camera().rig_rotation;
  result->calibration = FiguresOf(frame);
  LoopCloser::Place place;
  Pose pose;
  if (s.Find(*s.FeaturesOfFrame(frame), &place, &pose)) PutPlace(place, pose, result);
  s.Describe(result);
  return absl::OkStatus();
}

absl::Status Localizer::SaveMap(const std::string& path) const {
  const State& s = *state_;
  if (s.map.keyframes().empty()) return NoMapError();
  StereoCamera camera = s.camera;
  camera.rig_rotation = s.odometry.camera().rig_rotation;
  return WriteMapFile(path, camera, s.scales, s.front_end->kind(), s.map);
}

absl::Status Localizer::LoadMap(const std::string& path) {
  State& s = *state_;
  GLINT_ASSIGN_OR_RETURN(LoadedMap loaded, ReadMapFile(path, s.camera, s.front_end->kind(),
                                                       {s.options.max_keyframes, s.options.max_points}));
  if (s.job.valid()) s.job.get();
  s.map = std::move(loaded.map);
  s.scales = loaded.scales;
  StereoCamera camera = s.camera;
  if (s.options.odometry.refine_rig) camera.rig_rotation = loaded.camera.rig_rotation;
  const MapKeyframe& last = s.map.keyframes().back();
  s.odometry.Restart(s.map.Around(last.id, s.options.odometry.window, s.options.odometry.noise), camera,
                     last.camera_from_world, /*is_located=*/false, last.id + 1,
                     static_cast<int64_t>(s.map.points().size()));
  // The index is made anew; its keyframes are not queried for loops again.
  s.closer = std::make_unique<LoopCloser>(s.options.odometry.noise, s.options.min_place_inliers);
  s.unqueried.clear();
  std::vector<int64_t> all;
  for (const MapKeyframe& k : s.map.keyframes()) all.push_back(k.id);
  s.closer->Check(SnapshotOf(s.map, camera, s.scales, all), /*close_loops=*/false);
  s.was_tracking = false;
  return absl::OkStatus();
}

void Localizer::VisitMap(const std::function<bool(const MapKeyframeView&)>& keyframe,
                         const std::function<bool(const MapPointView&)>& point) const {
  const GlobalMap& map = state_->map;
  for (size_t i = 0; keyframe && i < map.keyframes().size(); ++i) {
    const MapKeyframe& k = map.keyframes()[i];
    int sees = 0;
    for (const int32_t p : k.points) sees += p >= 0 ? 1 : 0;
    if (!keyframe({k.id, k.stamp, k.camera_from_world.Inverse(), sees})) return;
  }
  for (size_t i = 0; point && i < map.points().size(); ++i) {
    const MapLandmark& p = map.points()[i];
    if (p.observations > 0 && !point({static_cast<int64_t>(i), p.position, p.observations})) return;
  }
}

size_t Localizer::MemoryBytes() const {
  if (state_->job.valid()) state_->job.wait();
  return state_->map.MemoryBytes() + state_->closer->MemoryBytes();
}

}  // namespace glint::slam
