#include "server/operations/track/track_session.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/server_error.h"
#include "features/status_macros.h"

namespace glint {
namespace {

// The first seven states equal the tracker's.
TrackState StateOf(TrackStatus status) { return static_cast<TrackState>(static_cast<int>(status) + 1); }
static_assert(static_cast<int>(TrackState::kTracked) == static_cast<int>(TrackStatus::kTracked) + 1);
static_assert(static_cast<int>(TrackState::kFlat) == static_cast<int>(TrackStatus::kFlat) + 1);
static_assert(static_cast<int>(TrackState::kOutOfImage) == static_cast<int>(TrackStatus::kOutOfImage) + 1);
static_assert(static_cast<int>(TrackState::kMovedTooFar) == static_cast<int>(TrackStatus::kMovedTooFar) + 1);
static_assert(static_cast<int>(TrackState::kNotConverged) == static_cast<int>(TrackStatus::kNotConverged) + 1);
static_assert(static_cast<int>(TrackState::kHighResidual) == static_cast<int>(TrackStatus::kHighResidual) + 1);
static_assert(static_cast<int>(TrackState::kBackwardError) == static_cast<int>(TrackStatus::kBackwardError) + 1);
static_assert(static_cast<int>(TrackStatus::kBackwardError) == kTrackStatuses - 1);

// Extrapolates a point by `ratio` times its last motion, clamped to the image.
float Predict(float now, float before, double ratio, int side) {
  return NearestInside(double{now} + (double{now} - double{before}) * ratio, side);
}

// Reserves memory for `count` tracks, so that a later Resize() cannot throw half-way and leave arrays of different
// lengths.
void Reserve(size_t count, CameraTracks* tracks) {
  const auto reserve = [count](auto* values) {
    if (count > values->capacity()) values->reserve(std::max(count, 2 * values->capacity()));
  };
  reserve(&tracks->id);
  reserve(&tracks->age);
  reserve(&tracks->state);
  reserve(&tracks->origin);
  for (auto* v :
       {&tracks->x, &tracks->y, &tracks->last_x, &tracks->last_y, &tracks->residual, &tracks->gain, &tracks->offset}) {
    reserve(v);
  }
}

// Appends all of `live`, which is empty afterwards.
void EndAll(TrackState why, CameraTracks* live, CameraTracks* changed) {
  *changed = *live;
  changed->detected = false;
  std::fill(changed->state.begin(), changed->state.end(), why);
  live->Clear();
}

// Whether the mask allows a track at the point: its nearest pixel counts.
bool IsAllowed(const ImageView& mask, float x, float y) {
  if (mask.empty()) return true;
  const auto nearest = [](float v, int side) { return std::clamp(static_cast<int>(std::lround(v)), 0, side - 1); };
  return mask.at(nearest(x, mask.width), nearest(y, mask.height)) != 0;
}

// Clears the pixels of `mask` that are 0 in `other`.
void MaskBy(const ImageView& other, Image* mask) {
  if (other.empty()) return;
  for (int y = 0; y < other.height; ++y) {
    const uint8_t* const from = other.row(y);
    uint8_t* const to = mask->row(y);
    for (int x = 0; x < other.width; ++x) to[x] &= from[x];
  }
}

absl::Status CheckInside(absl::string_view field, absl::Span<const float> values, int side) {
  for (size_t i = 0; i < values.size(); ++i) {
    // Written so that NaN fails.
    if (!(values[i] >= 0 && values[i] <= static_cast<float>(side - 1))) {
      return OutOfRangeError(absl::StrCat(field, "[", i, "]"), values[i], 0, side - 1);
    }
  }
  return absl::OkStatus();
}

}  // namespace

TrackSession::TrackSession(const TrackingOptions& options) : options_(options) {
  for (Camera& camera : cameras_) camera.tracks.has_templates = options.template_frames > 0;
  // A frame holds the tracks that end in it as well as those that begin.
  for (size_t c = 0; c < static_cast<size_t>(options.cameras); ++c) {
    Reserve(2 * static_cast<size_t>(options.target), &cameras_[c].tracks);
  }
}

size_t TrackSession::live() const {
  size_t live = 0;
  for (const Camera& camera : cameras_) live += camera.tracks.count();
  return live;
}

// ---- Frames.

absl::Status TrackSession::Begin(int64_t time_ns, bool detect, absl::Span<const TrackPrediction> predictions,
                                 TrackScratch* scratch) {
  const bool has_step = time_ns != 0 && last_time_ns_ != 0;
  if (has_step && time_ns <= last_time_ns_) {
    return ContradictionError("time_ns",
                              absl::StrCat(time_ns, " is not above ", last_time_ns_, ", that of the last good frame"));
  }
  GLINT_RETURN_IF_ERROR(ValidatePredictions(predictions, options_.cameras, &scratch->order));
  scratch->detecting = -1;
  next_ = Next();
  next_.time_ns = time_ns;
  next_.detect = detect;
  next_.predictions = predictions;
  next_.next_id = next_id_;
  next_.live = live();
  if (has_step && time_before_ns_ != 0) {
    // Unsigned difference: valid for any two times.
    const uint64_t step = static_cast<uint64_t>(time_ns) - static_cast<uint64_t>(last_time_ns_);
    const uint64_t before = static_cast<uint64_t>(last_time_ns_) - static_cast<uint64_t>(time_before_ns_);
    next_.ratio = std::min(static_cast<double>(step) / static_cast<double>(before), kMaxPredictionRatio);
  }
  return absl::OkStatus();
}

// A kept frame that is free: templates use at most template_frames frames, and the last frame is one more.
int TrackSession::FreeFrame(const Camera& camera) const {
  std::array<bool, kMaxKeptFrames> taken = {};
  taken[static_cast<size_t>(camera.frame)] = true;
  if (options_.template_frames > 0) {
    for (const TrackOrigin& origin : camera.tracks.origin) taken[static_cast<size_t>(origin.frame)] = true;
  }
  return static_cast<int>(std::find(taken.begin(), taken.end(), false) - taken.begin());
}

absl::Status TrackSession::Start(int camera, const Pixels& image, TrackBackend* backend, TrackScratch* scratch,
                                 CameraTracks* tracks, const ImageView& mask) {
  const auto at = static_cast<size_t>(camera);
  const Camera& now = cameras_[at];
  TrackScratch::Camera& of = scratch->cameras[at];
  const Shape shape = image.shape();
  of.lost = TrackState::kTracked;
  if (now.shape.pixels() > 0 && now.shape != shape) {
    of.lost = TrackState::kImageResized;
  } else if (!backend->HasFrames(camera)) {
    of.lost = TrackState::kLastFrameLost;
  }
  next_.frames[at] = FreeFrame(now);
  next_.shapes[at] = shape;
  const auto pixels = backend->SetFrame(camera, next_.frames[at], image);
  if (!pixels.ok()) return pixels.status();
  of.image = *pixels;
  of.mask = mask;
  *tracks = now.tracks;
  tracks->detected = false;
  tracks->has_templates = options_.template_frames > 0;
  const size_t live = of.lost == TrackState::kTracked ? tracks->count() : 0;
  if (live > 0) {
    GLINT_RETURN_IF_ERROR(StartFollow(camera, backend, scratch, *tracks));
  }
  return StartDetectEarly(camera, live, backend, scratch);
}

// Tracking only reduces the number of tracks. If it is certain by now that more are needed and that a cell is free, and
// keypoints in other cells need only be ignored, detection runs while points are tracked and the next camera's pixels
// are copied.
absl::Status TrackSession::StartDetectEarly(int camera, size_t live, TrackBackend* backend,
                                            TrackScratch* scratch) const {
  const auto at = static_cast<size_t>(camera);
  TrackScratch::Camera& of = scratch->cameras[at];
  const TrackCells cells(options_.detector, of.image.shape());
  const bool begins = cameras_[at].begins || of.lost != TrackState::kTracked;
  of.detects = WantsMore(begins, live) && live < cells.count() && (live == 0 || !cells.MaskMatters(options_.detector));
  return of.detects ? StartDetect(cells, camera, live, backend, scratch) : absl::OkStatus();
}

void TrackSession::Expect(int camera, const CameraTracks& tracks, TrackScratch* scratch) const {
  const Shape shape = cameras_[static_cast<size_t>(camera)].shape;
  scratch->expected_x = tracks.x;
  scratch->expected_y = tracks.y;
  if (options_.predict) {
    for (size_t i = 0; i < tracks.count(); ++i) {
      scratch->expected_x[i] = Predict(tracks.x[i], tracks.last_x[i], next_.ratio, shape.width);
      scratch->expected_y[i] = Predict(tracks.y[i], tracks.last_y[i], next_.ratio, shape.height);
    }
  }
  for (const TrackPrediction& prediction : next_.predictions) {
    if (prediction.camera != static_cast<uint32_t>(camera)) continue;
    ApplyPrediction(prediction, shape, tracks.id, tracks.x, tracks.y, &scratch->order,
                    absl::MakeSpan(scratch->expected_x), absl::MakeSpan(scratch->expected_y));
  }
}

absl::Status TrackSession::StartFollow(int camera, TrackBackend* backend, TrackScratch* scratch,
                                       const CameraTracks& tracks) const {
  const auto at = static_cast<size_t>(camera);
  Expect(camera, tracks, scratch);
  TrackScratch::Camera& of = scratch->cameras[at];
  const size_t count = tracks.count();
  of.order.resize(count);
  for (auto* v : {&scratch->x, &scratch->y, &scratch->to_x, &scratch->to_y}) v->resize(count);
  std::array<TrackSegment, kMaxKeptFrames> segments;
  size_t used = 0, filled = 0;
  const auto add = [&](size_t i, float x, float y) {
    of.order[filled] = static_cast<uint32_t>(i);
    scratch->x[filled] = x;
    scratch->y[filled] = y;
    scratch->to_x[filled] = scratch->expected_x[i];
    scratch->to_y[filled] = scratch->expected_y[i];
    ++filled;
  };
  if (tracks.has_templates) {
    for (int frame = 0; frame < options_.kept_frames(); ++frame) {
      const size_t begin = filled;
      for (size_t i = 0; i < count; ++i) {
        if (tracks.origin[i].frame == frame) add(i, tracks.origin[i].x, tracks.origin[i].y);
      }
      if (filled > begin) segments[used++] = {frame, static_cast<int>(filled - begin)};
    }
  } else {
    for (size_t i = 0; i < count; ++i) add(i, tracks.x[i], tracks.y[i]);
    segments[used++] = {cameras_[at].frame, static_cast<int>(count)};
  }
  TrackInput points;
  points.count = static_cast<int>(count);
  points.x = scratch->x.data();
  points.y = scratch->y.data();
  points.to_x = scratch->to_x.data();
  points.to_y = scratch->to_y.data();
  return backend->StartFollow(camera, next_.frames[at], points, {segments.data(), used}, options_.track, &of.followed);
}

absl::Status TrackSession::FinishFollow(int camera, TrackBackend* backend, TrackScratch* scratch,
                                        CameraTracks* tracks) const {
  TrackScratch::Camera& of = scratch->cameras[static_cast<size_t>(camera)];
  TrackResult& result = of.followed;
  GLINT_RETURN_IF_ERROR(backend->FinishFollow(camera, &result));
  for (size_t k = 0; k < of.order.size(); ++k) {
    const size_t i = of.order[k];
    tracks->last_x[i] = tracks->x[i];
    tracks->last_y[i] = tracks->y[i];
    tracks->x[i] = result.x[k];
    tracks->y[i] = result.y[k];
    tracks->state[i] = StateOf(result.status[k]);
    tracks->residual[i] = result.residual[k];
    tracks->gain[i] = result.gain[k];
    tracks->offset[i] = result.offset[k];
    ++tracks->origin[i].age;
    if (tracks->lives(i) && !IsAllowed(of.mask, tracks->x[i], tracks->y[i])) {
      tracks->state[i] = TrackState::kMasked;
      tracks->x[i] = tracks->last_x[i];
      tracks->y[i] = tracks->last_y[i];
    }
    if (tracks->lives(i)) ++tracks->age[i];
  }
  return absl::OkStatus();
}

absl::Status TrackSession::Finish(int camera, TrackBackend* backend, TrackScratch* scratch, CameraTracks* tracks) {
  const auto at = static_cast<size_t>(camera);
  const TrackScratch::Camera& of = scratch->cameras[at];
  const TrackCells cells(options_.detector, of.image.shape());
  const bool begins = cameras_[at].begins || of.lost != TrackState::kTracked;
  if (of.lost != TrackState::kTracked) {
    std::fill(tracks->state.begin(), tracks->state.end(), of.lost);
  } else if (tracks->count() > 0) {
    GLINT_RETURN_IF_ERROR(FinishFollow(camera, backend, scratch, tracks));
  }
  const auto live = static_cast<size_t>(std::count(tracks->state.begin(), tracks->state.end(), TrackState::kTracked));
  next_.live += live - tracks->count();  // unsigned numbers wrap back
  const bool begins_tracks = WantsMore(begins, live) && FindFreeCells(cells, *tracks, &scratch->occupied);
  if (begins_tracks && !of.detects) {
    GLINT_RETURN_IF_ERROR(StartDetect(cells, camera, live, backend, scratch));
  }
  if (scratch->detecting == camera) {
    GLINT_RETURN_IF_ERROR(FinishDetect(backend, scratch));
  }
  if (begins_tracks) BeginTracks(cells, camera, live, scratch, tracks);
  LimitTemplates(next_.frames[at], tracks);
  return absl::OkStatus();
}

void TrackSession::LimitTemplates(int last, CameraTracks* tracks) const {
  if (options_.template_frames == 0) return;
  struct Use {
    int tracks = 0;
    uint32_t age = 0;
  };
  std::array<Use, kMaxKeptFrames> uses = {};
  for (size_t i = 0; i < tracks->count(); ++i) {
    if (!tracks->lives(i)) continue;
    Use& use = uses[static_cast<size_t>(tracks->origin[i].frame)];
    ++use.tracks;
    use.age = tracks->origin[i].age;
  }
  const auto used = std::count_if(uses.begin(), uses.end(), [](const Use& use) { return use.tracks > 0; });
  if (used <= options_.template_frames) return;
  int fewest = -1;
  for (int frame = 0; frame < kMaxKeptFrames; ++frame) {
    const Use& use = uses[static_cast<size_t>(frame)];
    if (use.tracks == 0 || frame == last) continue;
    const Use* const so_far = fewest < 0 ? nullptr : &uses[static_cast<size_t>(fewest)];
    if (so_far == nullptr || use.tracks < so_far->tracks || (use.tracks == so_far->tracks && use.age > so_far->age)) {
      fewest = frame;
    }
  }
  for (size_t i = 0; i < tracks->count(); ++i) {
    TrackOrigin& origin = tracks->origin[i];
    if (tracks->lives(i) && origin.frame == fewest) origin = {tracks->x[i], tracks->y[i], 0, last};
  }
}

bool TrackSession::WantsMore(bool begins, size_t live) const {
  const size_t target = static_cast<size_t>(options_.target);
  if (live >= target || next_.live >= static_cast<size_t>(options_.max_tracks)) return false;
  if (next_.detect) return true;
  if (options_.on_request) return false;
  return begins || static_cast<float>(live) < options_.min_share * static_cast<float>(options_.target);
}

bool TrackSession::FindFreeCells(const TrackCells& cells, const CameraTracks& tracks, std::vector<uint8_t>* occupied) {
  occupied->assign(cells.count(), 0);
  for (size_t i = 0; i < tracks.count(); ++i) {
    if (tracks.lives(i)) (*occupied)[cells.IndexOf(tracks.x[i], tracks.y[i])] = 1;
  }
  return std::find(occupied->begin(), occupied->end(), 0) != occupied->end();
}

absl::Status TrackSession::StartDetect(const TrackCells& cells, int camera, size_t live, TrackBackend* backend,
                                       TrackScratch* scratch) const {
  GLINT_RETURN_IF_ERROR(FinishDetect(backend, scratch));
  TrackScratch::Camera& of = scratch->cameras[static_cast<size_t>(camera)];
  ImageView mask = of.mask;
  if (live > 0 && cells.MaskMatters(options_.detector)) {
    cells.DrawMask(scratch->occupied, &scratch->mask);
    MaskBy(of.mask, &scratch->mask);
    mask = scratch->mask;
  }
  absl::Status status = backend->StartDetect(options_.detector, of.image, mask, &of.found);
  if (status.ok()) scratch->detecting = camera;
  return status;
}

absl::Status TrackSession::FinishDetect(TrackBackend* backend, TrackScratch* scratch) {
  if (scratch->detecting < 0) return absl::OkStatus();
  scratch->detecting = -1;
  return backend->FinishDetect();
}

void TrackSession::BeginTracks(const TrackCells& cells, int camera, size_t live, TrackScratch* scratch,
                               CameraTracks* tracks) {
  tracks->detected = true;
  const TrackScratch::Camera& of = scratch->cameras[static_cast<size_t>(camera)];
  const Features& found = of.found;
  // A detector's keypoints are in a total order.
  const auto is_better = [&found](uint32_t a, uint32_t b) {
    return found.response[a] != found.response[b] ? found.response[a] > found.response[b] : a < b;
  };
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t>& best = scratch->best;
  best.assign(cells.count(), kNone);
  for (uint32_t i = 0; i < found.count(); ++i) {
    // Keypoints of coarser levels are where the mask of their level allows them.
    if (!IsAllowed(of.mask, found.x[i], found.y[i])) continue;
    const size_t cell = cells.IndexOf(found.x[i], found.y[i]);
    if (scratch->occupied[cell] == 0 && (best[cell] == kNone || is_better(i, best[cell]))) best[cell] = i;
  }
  best.erase(std::remove(best.begin(), best.end(), kNone), best.end());
  const size_t room =
      std::min(static_cast<size_t>(options_.target) - live, static_cast<size_t>(options_.max_tracks) - next_.live);
  if (best.size() > room) {
    std::nth_element(best.begin(), best.begin() + static_cast<ptrdiff_t>(room), best.end(), is_better);
    best.resize(room);
  }
  std::sort(best.begin(), best.end(), is_better);
  scratch->x.clear();
  scratch->y.clear();
  for (const uint32_t i : best) {
    scratch->x.push_back(found.x[i]);
    scratch->y.push_back(found.y[i]);
  }
  tracks->Begin(next_.next_id, scratch->x, scratch->y, next_.frames[static_cast<size_t>(camera)]);
  next_.next_id += best.size();
  next_.live += best.size();
}

void TrackSession::Commit(const CameraTracks* tracks) {
  // Allocates everything first: on failure nothing has changed.
  for (size_t c = 0; c < static_cast<size_t>(options_.cameras); ++c) Reserve(tracks[c].count(), &cameras_[c].tracks);
  for (size_t c = 0; c < static_cast<size_t>(options_.cameras); ++c) {
    Camera& camera = cameras_[c];
    camera.shape = next_.shapes[c];
    camera.frame = next_.frames[c];
    camera.begins = false;
    camera.tracks.TakeLiving(tracks[c]);
  }
  next_id_ = next_.next_id;
  time_before_ns_ = last_time_ns_;
  last_time_ns_ = next_.time_ns;
}

// ---- Edits.

absl::Status TrackSession::CheckCamera(uint32_t camera) const {
  if (camera < static_cast<uint32_t>(options_.cameras)) return absl::OkStatus();
  return OutOfRangeError("camera", camera, 0, options_.cameras - 1);
}

absl::Status TrackSession::Add(uint32_t camera, absl::Span<const float> x, absl::Span<const float> y,
                               CameraTracks* changed) {
  GLINT_RETURN_IF_ERROR(CheckCamera(camera));
  Camera& to = cameras_[camera];
  if (x.size() != y.size()) {
    return ContradictionError("y", absl::StrCat(y.size(), " elements, but x has ", x.size()));
  }
  if (to.shape.pixels() == 0) {
    return FailedPreconditionError("camera", absl::StrCat(camera),
                                   absl::StrCat(camera, " has had no frame; points are positions in its last one"));
  }
  if (const size_t all = live() + x.size(); all > static_cast<size_t>(options_.max_tracks)) {
    return LimitError("x", static_cast<int64_t>(all), "tracks", options_.max_tracks, "--max-tracks");
  }
  GLINT_RETURN_IF_ERROR(CheckInside("x", x, to.shape.width));
  GLINT_RETURN_IF_ERROR(CheckInside("y", y, to.shape.height));
  changed->Clear();
  Reserve(x.size(), changed);
  Reserve(to.tracks.count() + x.size(), &to.tracks);
  changed->Begin(next_id_, x, y, to.frame);
  to.tracks.Begin(next_id_, x, y, to.frame);
  next_id_ += x.size();
  changed->has_templates = options_.template_frames > 0;
  LimitTemplates(to.frame, &to.tracks);
  return absl::OkStatus();
}

absl::Status TrackSession::Forget(absl::Span<const uint64_t> ids, CameraTracks* changed) {
  std::array<std::vector<uint8_t>, kMaxTrackCameras> forgotten;
  for (size_t c = 0; c < cameras_.size(); ++c) forgotten[c].resize(cameras_[c].tracks.count());
  for (size_t i = 0; i < ids.size(); ++i) {
    uint8_t* mark = nullptr;
    for (size_t c = 0; c < cameras_.size() && mark == nullptr; ++c) {
      const std::vector<uint64_t>& live = cameras_[c].tracks.id;
      const auto found = std::lower_bound(live.begin(), live.end(), ids[i]);
      if (found != live.end() && *found == ids[i]) mark = &forgotten[c][static_cast<size_t>(found - live.begin())];
    }
    const std::string field = absl::StrCat("ids[", i, "]");
    if (mark == nullptr) {
      return NotFoundError(field, absl::StrCat(ids[i]), absl::StrCat("no live track has the id ", ids[i]));
    }
    if (*mark != 0) return ContradictionError(field, absl::StrCat(ids[i], " is there twice"));
    *mark = 1;
  }
  std::array<CameraTracks, kMaxTrackCameras> kept;
  for (size_t c = 0; c < static_cast<size_t>(options_.cameras); ++c) {
    changed[c].Clear();
    changed[c].has_templates = kept[c].has_templates = options_.template_frames > 0;
    const CameraTracks& live = cameras_[c].tracks;
    for (size_t i = 0; i < live.count(); ++i) (forgotten[c][i] != 0 ? changed[c] : kept[c]).Append(live, i);
    std::fill(changed[c].state.begin(), changed[c].state.end(), TrackState::kForgotten);
  }
  for (size_t c = 0; c < kept.size(); ++c) std::swap(cameras_[c].tracks, kept[c]);
  return absl::OkStatus();
}

absl::Status TrackSession::Reset(uint32_t camera, CameraTracks* changed) {
  GLINT_RETURN_IF_ERROR(CheckCamera(camera));
  EndAll(TrackState::kReset, &cameras_[camera].tracks, changed);
  cameras_[camera].begins = true;
  return absl::OkStatus();
}

void TrackSession::ResetAll(CameraTracks* changed) {
  for (size_t c = 0; c < static_cast<size_t>(options_.cameras); ++c) {
    EndAll(TrackState::kReset, &cameras_[c].tracks, &changed[c]);
    cameras_[c].begins = true;
  }
  last_time_ns_ = time_before_ns_ = 0;
}

}  // namespace glint
