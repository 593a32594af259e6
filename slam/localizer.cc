#include "slam/localizer.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "features/background.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "slam/front_end/depth_rules.h"
#include "slam/inertial/initializer.h"
#include "slam/loops/loop_closer.h"
#include "slam/map/drift.h"
#include "slam/map/global_map.h"
#include "slam/map/map_culling.h"
#include "slam/map/map_file.h"
#include "slam/watch/focal_length.h"
#include "slam/watch/frame_clock.h"
#include "slam/watch/frozen_image.h"
#include "slam/watch/lens_distortion.h"
#include "slam/watch/static_region.h"

namespace glint::slam {
namespace {

constexpr int kThreads = 2;      // a localizer's own: one adjusts, one looks for loops
constexpr int kPatience = 3;     // pairs in a row, with something to see, that may be not located
constexpr int kYoung = 5;        // keyframes: with fewer, a map that is lost is given up
constexpr int kProbeEvery = 10;  // pairs without a map from one test for exchanged images to the next

absl::Status NoMapError() { return absl::FailedPreconditionError("map: there is none yet"); }

AdjustmentUse UseIn(LocalizerMode mode) {
  return mode == LocalizerMode::kReproducible ? AdjustmentUse::kAfterDelay : AdjustmentUse::kWhenReady;
}

// Where a pair is, in what the map has around.
struct FoundPlace {
  int32_t map_id = 0;
  PoseAnchor anchor;
  LocalMap around;
  Pose camera_from_world;
  FrameMatches matches;
};

bool IsLocated(TrackingStatus status) {
  return status == TrackingStatus::kTracking || status == TrackingStatus::kRelocalized ||
         status == TrackingStatus::kNewMap;
}

std::vector<Warning> OneCameraWarnings(size_t seen) {
  return {{WarningKind::kOneCamera, static_cast<double>(seen), "1",
           absl::StrFormat("the left camera sees nothing: a pose is by the right one's %d keypoints alone", seen)}};
}

std::vector<Warning> MovingWarningsOf(const OdometryResult& result) {
  constexpr int kFewestMoving = 15;  // fewer are rather wrong matches
  if (result.moving < kFewestMoving && !result.is_unclear) return {};
  const double share = static_cast<double>(result.moving) / std::max(1, result.moving + result.inliers);
  return {{WarningKind::kMovingScene, share, "1",
           result.is_unclear
               ? "two groups of keypoints move differently, and nothing tells which is the world: the pose may be "
                 "relative to the wrong one"
               : absl::StrFormat("something that moves by itself has %.0f %% of the keypoints that are known: the "
                                 "pose is by the others",
                                 100 * share)}};
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
        clock(/*are_of_capture=*/options.odometry.imu.has_value()),
        static_region(camera, options.odometry.noise, front_end),
        odometry(camera, options.odometry, &static_region, UseIn(options.mode), threads),
        closer(std::make_unique<LoopCloser>(options.odometry.noise, options.min_place_inliers)) {}

  bool IsFull() const {
    return static_cast<int64_t>(map.keyframes().size()) >= options.max_keyframes ||
           map.live_points() >= options.max_points;
  }
  bool AreLoopsDue();
  bool UseLoops();
  // Covariances are those of the map with its loops as they are now.
  void UpdateAnchor();
  // Two maps become one, whose world is level if either's was.
  void Join(const ClosedLoops& closed);
  void StartLoops();
  void AddKeyframe(const FrameStamp& stamp);
  std::shared_ptr<const KeyframeFeatures> FeaturesOfFrame(const StereoFrame& frame) const;
  bool Find(const StereoFrame& frame, FoundPlace* found);
  // Likewise the last pair; places tell of the left camera.
  bool FindHere(FoundPlace* found) { return !odometry.is_right_alone() && Find(odometry.frame(), found); }
  bool IsYoung(int32_t map_id) const { return map_id != loaded_map && map.CountOf(map_id) < kYoung; }
  bool Settle();
  // Likewise, and says where the pair is now.
  void SettleFor(LocalizerResult* result);
  void GiveUp(int32_t map_id);
  // Turns the world of the last pair's map so that z points up.
  void Level(LocalizerResult* result);
  // The map says what the sensor's biases were when it was last ready there.
  void KeepBiases();
  // What becomes of a pair that odometry did not locate, with nothing of the map near where an inertial sensor says.
  void FindOnImu(const FrameStamp& stamp, LocalizerResult* result);
  // Likewise without.
  void FindLost(const FrameStamp& stamp, LocalizerResult* result);
  // What becomes of a pair whose images are of two moments.
  void PassOver(int64_t time_ns, const std::vector<Warning>& warnings, LocalizerResult* result);
  // `warnings`: of its time.
  void Watch(const CameraView& view, int64_t time_ns, const std::vector<Warning>& warnings, LocalizerResult* result);
  void Describe(LocalizerResult* result) const;

  const StereoCamera camera;  // as it was given
  const LocalizerOptions options;
  FrontEnd* const front_end;
  const std::unique_ptr<BackgroundThreads> own_threads;  // null: others' are used
  BackgroundThreads* const threads;
  FrameClock clock;
  FrozenImageWatch frozen;
  StaticRegionWatch static_region;  // the front end of odometry
  LensWatch lens;
  FocalLengthWatch focal_length;
  Odometry odometry;
  GlobalMap map;
  MapCuller culler;
  bool has_closed = false;     // a loop, and no pair has told so yet
  bool found_no_room = false;  // the last keyframe, in a map that is full
  LevelScales scales;
  int without_map = 0;  // pairs so far
  int not_found = 0;    // pairs in a row, with something to see
  int32_t loaded_map = -1;
  // State after the last pair.
  int64_t last_time_ns = 0;
  Eigen::Vector3d last_position = Eigen::Vector3d::Zero();
  bool was_tracking = false;

  // Belongs to the job while one goes on.
  std::unique_ptr<LoopCloser> closer;
  std::vector<int64_t> unqueried;  // keyframes for the next job
  int64_t last_queried = -1;       // keyframe, whose loops are in use
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
  last_queried = closed.last;
  for (const LoopEdge& loop : closed.loops) {
    // The older keyframe may have made room meanwhile.
    if (map.IndexOf(loop.from) != GlobalMap::kNone) map.AddLoop(loop);
  }
  if (closed.corrections.empty()) {
    if (!closed.loops.empty()) UpdateAnchor();
    return false;
  }
  if (odometry.is_adjusting()) {
    odometry.FinishAdjustment();
    map.Sync(odometry.map());
  }
  map.ApplyCorrections(closed.corrections, closed.map_id);
  if (closed.map_id == odometry.map_id()) odometry.ApplyCorrections(closed.corrections);
  if (closed.map_id != closed.into) Join(closed);
  UpdateAnchor();
  was_tracking = false;  // its position has moved
  return true;
}

void Localizer::State::UpdateAnchor() {
  const int64_t keyframe = odometry.anchor().keyframe;
  if (map.IndexOf(keyframe) == GlobalMap::kNone) return;  // it found no room
  odometry.SetUncertaintyOfAnchor(DriftOf(map, keyframe, odometry.RigSigma()));
}

void Localizer::State::Join(const ClosedLoops& closed) {
  const bool is_here = odometry.map_id() == closed.map_id || odometry.map_id() == closed.into;
  const bool becomes_level = map.LevelOf(closed.map_id).has_value() && !map.LevelOf(closed.into).has_value();
  map.Join(closed.map_id, closed.into);
  if (becomes_level) {
    const Eigen::Vector3d gravity = closed.corrections.begin()->second.rotation * -Eigen::Vector3d::UnitZ();
    const Pose level = LevelWorld(gravity, Pose());
    map.ApplyCorrections({{0, level}}, closed.into);
    if (is_here) odometry.TurnWorld(level);
  }
  if (is_here) odometry.Rename(closed.into, map.LevelOf(closed.into));
}

void Localizer::State::StartLoops() {
  // Those of the first one's map; the places of a map that may be given up are nobody's.
  const auto map_of = [this](int64_t id) { return map.keyframes()[map.IndexOf(id)].map_id; };
  const auto is_gone = [this](int64_t id) { return map.IndexOf(id) == GlobalMap::kNone; };
  unqueried.erase(std::remove_if(unqueried.begin(), unqueried.end(), is_gone), unqueried.end());
  if (unqueried.empty() || IsYoung(map_of(unqueried.front()))) return;
  const auto end = std::find_if(unqueried.begin(), unqueried.end(),
                                [&](int64_t id) { return map_of(id) != map_of(unqueried.front()); });
  const std::vector<int64_t> queried(unqueried.begin(), end);
  unqueried.erase(unqueried.begin(), end);
  job_used_in = options.loop_delay;
  MapSnapshot snapshot = SnapshotOf(map, odometry.camera(), scales, queried);
  job = RunInBackground(threads, [snapshot = std::move(snapshot), by = closer.get(), close = options.close_loops] {
    return by->Check(snapshot, close);
  });
}

void Localizer::State::AddKeyframe(const FrameStamp& stamp) {
  if (IsFull()) culler.MakeRoom(camera, odometry.map(), &map);
  found_no_room = IsFull();
  if (found_no_room) return;
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
  map.Add(id, odometry.map_id(), stamp, KeyframeFeaturesOf(frame, observations), odometry.newest_step());
  unqueried.push_back(id);
  culler.Add(id);
}

std::shared_ptr<const KeyframeFeatures> Localizer::State::FeaturesOfFrame(const StereoFrame& frame) const {
  std::vector<Observation> observations(frame.left.count());
  for (size_t i = 0; i < observations.size(); ++i) observations[i] = ObservationOf(frame, i, options.odometry.noise);
  return KeyframeFeaturesOf(frame, observations);
}

bool Localizer::State::Find(const StereoFrame& frame, FoundPlace* found) {
  if (job.valid()) job.wait();
  const MapSnapshot snapshot = SnapshotOf(map, odometry.camera(), scales, {});
  LoopCloser::Place place;
  if (!closer->FindPlace(snapshot, *FeaturesOfFrame(frame), std::numeric_limits<int64_t>::max(), &place)) return false;
  const MapKeyframe& keyframe = map.keyframes()[map.IndexOf(place.keyframe)];
  found->map_id = keyframe.map_id;
  found->camera_from_world = place.fit.query_from_match * keyframe.camera_from_world;
  // What the keyframes around have seen must agree with it, too.
  found->around = map.Around(place.keyframe, options.odometry.window, options.odometry.noise);
  if (!odometry.Confirm(found->around, frame, options.min_place_inliers, &found->camera_from_world, &found->matches)) {
    return false;
  }
  found->anchor = AnchorAt(map, place.keyframe, odometry.RigSigma());
  return true;
}

// Uses what is being worked out; whether the map was corrected.
bool Localizer::State::Settle() {
  if (odometry.is_adjusting()) {
    odometry.FinishAdjustment();
    map.Sync(odometry.map());
  }
  return job.valid() && UseLoops();
}

void Localizer::State::GiveUp(int32_t map_id) {
  if (IsYoung(map_id)) map.RemoveMap(map_id);
}

void Localizer::State::SettleFor(LocalizerResult* result) {
  result->loop_closed = Settle() || result->loop_closed;
  odometry.Describe(result);
}

void Localizer::State::Level(LocalizerResult* result) {
  SettleFor(result);
  if (!odometry.wants_level()) return;  // a loop has led into another map
  map.ApplyCorrections({{0, odometry.Level(result)}}, odometry.map_id());
  map.SetLevel(odometry.map_id(), odometry.inertial()->level());
  was_tracking = false;  // its position has moved
}

void Localizer::State::KeepBiases() {
  if (odometry.is_level() && odometry.inertial()->is_ready()) {
    map.SetLevel(odometry.map_id(), odometry.inertial()->level());
  }
}

void Localizer::State::FindOnImu(const FrameStamp& stamp, LocalizerResult* result) {
  SettleFor(result);
  if (!odometry.is_off_map()) return;  // a loop has led into another map
  FoundPlace found;
  if (FindHere(&found) && found.map_id == odometry.map_id() &&
      odometry.Agrees(found.camera_from_world, found.matches.fit)) {
    odometry.Rejoin(std::move(found.around), found.anchor, found.camera_from_world, std::move(found.matches), result);
    return;
  }
  if (!odometry.GoOnFromImu(result)) return;
  AddKeyframe(stamp);
  map.Sync(odometry.map());
}

void Localizer::State::FindLost(const FrameStamp& stamp, LocalizerResult* result) {
  ++not_found;
  if (result->status != TrackingStatus::kLost) return;
  result->loop_closed = Settle() || result->loop_closed;
  const int32_t last_map = odometry.map_id();
  FoundPlace found;
  if (FindHere(&found)) {
    if (found.map_id != last_map) GiveUp(last_map);
    odometry.Relocalize(std::move(found.around), found.map_id, map.LevelOf(found.map_id), found.anchor,
                        found.camera_from_world, std::move(found.matches), result);
    return;
  }
  if (!IsYoung(last_map) && (not_found <= kPatience || IsFull())) return;
  if (!odometry.BeginMap(result)) return;
  GiveUp(last_map);
  AddKeyframe(stamp);
  map.Sync(odometry.map());
}

void Localizer::State::PassOver(int64_t time_ns, const std::vector<Warning>& warnings, LocalizerResult* result) {
  odometry.PassOver(time_ns, frozen.count(), result);
  was_tracking = false;
  result->warnings = frozen.Warnings();
  result->warnings.insert(result->warnings.end(), warnings.begin(), warnings.end());
  Describe(result);
}

void Localizer::State::Watch(const CameraView& view, int64_t time_ns, const std::vector<Warning>& warnings,
                             LocalizerResult* result) {
  const StereoFrame& frame = odometry.frame();
  CalibrationFigures& figures = result->calibration;
  figures = FiguresOf(frame);
  double swapped_share = 0;
  if (!view.has_depth() && !odometry.is_right_alone() && odometry.map().keyframes.empty() &&
      without_map++ % kProbeEvery == 0 && MayBeSwapped(figures, frame.left.count())) {
    StereoFrame swapped;
    if (front_end->Find({view.right, view.left, view.right_mask, view.left_mask}, &swapped).ok())
      swapped_share = FiguresOf(swapped).stereo_share;
  }
  const Eigen::Vector3d& position = result->world_from_camera.translation;
  const bool is_tracking = result->status == TrackingStatus::kTracking;
  if (is_tracking && was_tracking) {
    figures.speed = (position - last_position).norm() / SecondsBetween(last_time_ns, time_ns);
  }
  was_tracking = is_tracking;
  last_position = position;
  last_time_ns = time_ns;
  result->warnings = odometry.is_right_alone() ? OneCameraWarnings(frame.left.count())
                     : view.has_depth()
                         ? DepthWarningsOf(figures, frame.left.count())
                         : WarningsOf(figures, frame.left.count(), result->rig_rotation.norm(), swapped_share);
  const std::vector<Warning> moving = MovingWarningsOf(*result);
  const std::vector<Warning> region = static_region.Warnings();
  if (result->is_keyframe && !view.has_depth() && region.empty()) {
    lens.Add(camera, frame);
    focal_length.Add(odometry.camera(), odometry.keyframe_step());
  }
  std::vector<Warning> of_imu;
  if (odometry.inertial() != nullptr) of_imu = odometry.inertial()->warnings();
  for (const auto& more : {warnings, moving, region, lens.Warnings(camera), focal_length.Warnings(), of_imu}) {
    result->warnings.insert(result->warnings.end(), more.begin(), more.end());
  }
}

void Localizer::State::Describe(LocalizerResult* result) const {
  result->inertial.is_level = map.LevelOf(result->map_id).has_value();
  result->rig_uncertainty = odometry.rig_uncertainty();
  result->keyframes = static_cast<int64_t>(map.keyframes().size());
  result->points = map.live_points();
  result->map_full = found_no_room && IsFull();
  if (result->map_full) {
    result->warnings.push_back(
        {WarningKind::kMapFull, static_cast<double>(result->keyframes), "1",
         absl::StrFormat("the map is full, with %d of %d keyframes and %d of %d points, of "
                         "which none that is redundant was found: this place is not kept",
                         result->keyframes, options.max_keyframes, result->points, options.max_points)});
  }
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
  GLINT_RETURN_IF_ERROR(s.clock.Validate(stamp.time_ns));
  FrameClock clock = s.clock;
  std::vector<Warning> warnings;
  const InertialMotion* const inertial = s.odometry.inertial();
  const bool is_known = inertial != nullptr && inertial->HasReadingsUntil(stamp.time_ns);
  const int64_t time_ns = clock.Next(stamp.time_ns, &warnings, is_known);
  GLINT_RETURN_IF_ERROR(s.odometry.ValidateInput(view, time_ns));
  if (!view.has_depth() && s.frozen.Look(TakenView(view.left), TakenView(view.right))) {
    s.clock = clock;
    s.PassOver(time_ns, warnings, result);
    return absl::OkStatus();
  }
  s.has_closed = (s.AreLoopsDue() && s.UseLoops()) || s.has_closed;
  GLINT_RETURN_IF_ERROR(s.odometry.Track(view, time_ns, result));
  s.clock = clock;
  result->loop_closed = std::exchange(s.has_closed, false);
  if (result->is_keyframe) s.AddKeyframe(stamp);
  if (result->is_keyframe || result->is_adjusted) s.map.Sync(s.odometry.map());
  s.culler.Cull(s.camera, s.odometry.map(), s.last_queried, &s.map);
  if (!s.job.valid() && !s.unqueried.empty()) s.StartLoops();
  const bool is_missed = !IsLocated(result->status) && !s.map.keyframes().empty();
  if (is_missed && s.odometry.is_off_map()) {
    s.FindOnImu(stamp, result);
  } else if (is_missed && result->keypoints >= s.options.odometry.min_inliers) {
    s.FindLost(stamp, result);
  }
  if (IsLocated(result->status)) s.not_found = 0;
  if (s.odometry.wants_level()) s.Level(result);
  s.KeepBiases();
  s.Watch(view, time_ns, warnings, result);
  s.Describe(result);
  result->world_correction = s.odometry.TakeWorldCorrection();
  return absl::OkStatus();
}

absl::Status Localizer::AddImu(const ImuReadings& readings) { return state_->odometry.AddImu(readings); }

void Localizer::PredictPoses(absl::Span<const int64_t> sensor_times_ns,
                             const std::function<void(const PredictedPose&)>& found) const {
  state_->odometry.PredictPoses(sensor_times_ns, found);
}

ImuReceived Localizer::imu_counts() const {
  const InertialMotion* const inertial = state_->odometry.inertial();
  return inertial == nullptr ? ImuReceived() : inertial->buffer().counts();
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
  FoundPlace found;
  if (s.Find(frame, &found)) {
    result->status = TrackingStatus::kRelocalized;
    result->map_id = found.map_id;
    result->world_from_camera = found.camera_from_world.Inverse();
    const Pose moved = found.camera_from_world * found.anchor.camera_from_world.Inverse();
    result->covariance = found.anchor.uncertainty.Then(moved, found.matches.uncertainty).Total(s.odometry.RigSigma());
    result->matches = static_cast<int>(found.matches.correspondences.size());
    result->inliers = found.matches.fit.inliers;
    result->mean_error = MeanError(s.odometry.camera(), found.camera_from_world, found.matches);
  }
  s.Describe(result);
  return absl::OkStatus();
}

absl::Status Localizer::SaveMap(const std::string& path) const {
  const State& s = *state_;
  if (s.map.keyframes().empty()) return NoMapError();
  StereoCamera camera = s.camera;
  camera.rig_rotation = s.odometry.camera().rig_rotation;
  const int32_t largest = s.map.LargestMap();
  if (s.map.CountOf(largest) == static_cast<int64_t>(s.map.keyframes().size())) {
    return WriteMapFile(path, camera, s.scales, s.front_end->kind(), s.map);
  }
  return WriteMapFile(path, camera, s.scales, s.front_end->kind(), s.map.Only(largest));
}

absl::Status Localizer::LoadMap(const std::string& path) {
  State& s = *state_;
  GLINT_ASSIGN_OR_RETURN(LoadedMap loaded, ReadMapFile(path, s.camera, s.front_end->kind(),
                                                       {s.options.max_keyframes, s.options.max_points}));
  if (s.odometry.is_adjusting()) s.odometry.FinishAdjustment();
  if (s.job.valid()) s.job.get();
  s.map = std::move(loaded.map);
  s.scales = loaded.scales;
  StereoCamera camera = s.camera;
  if (s.options.odometry.refine_rig) camera.rig_rotation = loaded.camera.rig_rotation;
  const MapKeyframe& last = s.map.keyframes().back();
  s.odometry.Load(s.map.Around(last.id, s.options.odometry.window, s.options.odometry.noise), camera,
                  AnchorAt(s.map, last.id, s.odometry.RigSigma()), last.id + 1,
                  static_cast<int64_t>(s.map.points().size()), s.map.LevelOf(0));
  s.loaded_map = s.odometry.map_id();
  s.map.Join(0, s.loaded_map);
  s.not_found = 0;
  // The index is made anew.
  s.closer = std::make_unique<LoopCloser>(s.options.odometry.noise, s.options.min_place_inliers);
  s.unqueried.clear();
  s.culler = MapCuller();
  s.last_queried = -1;
  s.found_no_room = false;
  // When the map was saved, its last keyframes were in the window, so that nothing had been judged of them, and of the
  // very last no loop had been looked for.
  const std::vector<MapKeyframe>& keyframes = s.map.keyframes();
  const size_t settled =
      keyframes.size() - std::min(keyframes.size(), 2 * static_cast<size_t>(s.options.odometry.window));
  std::set<int64_t> at_loops;
  for (const LoopEdge& loop : s.map.loops()) at_loops.insert(loop.to);
  std::vector<int64_t> known;
  for (size_t i = 0; i < keyframes.size(); ++i) {
    const int64_t id = keyframes[i].id;
    if (i >= settled) s.culler.Add(id);
    (i < settled || at_loops.count(id) > 0 ? known : s.unqueried).push_back(id);
  }
  if (!known.empty()) s.closer->Check(SnapshotOf(s.map, camera, s.scales, known), /*close_loops=*/false);
  if (!s.unqueried.empty()) s.StartLoops();
  s.was_tracking = false;
  return absl::OkStatus();
}

int32_t Localizer::map_id() const { return state_->odometry.map_id(); }

void Localizer::VisitMap(const std::function<bool(const MapKeyframeView&)>& keyframe,
                         const std::function<bool(const MapPointView&)>& point) const {
  const GlobalMap& map = state_->map;
  for (size_t i = 0; keyframe && i < map.keyframes().size(); ++i) {
    const MapKeyframe& k = map.keyframes()[i];
    if (k.map_id != state_->odometry.map_id()) continue;
    int sees = 0;
    for (const int32_t p : k.points) sees += p >= 0 ? 1 : 0;
    if (!keyframe({k.id, k.stamp, k.camera_from_world.Inverse(), sees})) return;
  }
  for (size_t i = 0; point && i < map.points().size(); ++i) {
    const MapLandmark& p = map.points()[i];
    if (p.map_id != state_->odometry.map_id()) continue;
    if (p.observations > 0 && !point({static_cast<int64_t>(i), p.position, p.observations})) return;
  }
}

size_t Localizer::MemoryBytes() const {
  if (state_->job.valid()) state_->job.wait();
  return state_->map.MemoryBytes() + state_->closer->MemoryBytes();
}

}  // namespace glint::slam
