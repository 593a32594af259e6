#include "cuda/stereo/stereo_memory.h"

#include <algorithm>
#include <utility>

#include "cuda/match/match_stages.h"
#include "cuda/runtime/error.h"
#include "cuda/stereo/stereo_stages.h"

namespace glint::cuda {
namespace {

constexpr size_t kAlignment = 256;  // of arrays: whole cache lines
constexpr int kResultArrays = 5;

// Adds up arrays that lie behind each other.
class Layout {
 public:
  template <typename T>
  size_t Add(size_t count) {
    const size_t offset = bytes_;
    bytes_ = (bytes_ + count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

// Room that need not grow with every few keypoints more.
int Rounded(int count) {
  int rounded = 1024;
  while (rounded < count) rounded *= 2;
  return rounded;
}

MatchOptions OptionsOfChecks(const StereoOptions& stereo) {
  MatchOptions options;
  options.cross_check = true;
  options.max_distance = stereo.max_distance;
  return options;
}

}  // namespace

absl::Status StereoMemory::Reserve(StreamView stream, const Room& wanted) {
  if (wanted.lefts <= room_.lefts && wanted.rights <= room_.rights && wanted.bytes <= room_.bytes &&
      wanted.rows <= room_.rows) {
    return absl::OkStatus();
  }
  const Room room = {std::max(room_.lefts, Rounded(wanted.lefts)), std::max(room_.rights, Rounded(wanted.rights)),
                     std::max(room_.bytes, wanted.bytes), std::max(room_.rows, wanted.rows)};
  room_ = {};
  memory_ = DeviceBuffer();
  result_ = MappedBuffer();
  const auto lefts = static_cast<size_t>(room.lefts);
  const auto rights = static_cast<size_t>(room.rights);
  const auto rows = static_cast<size_t>(room.rows);
  Layout device;
  for (const bool right : {false, true}) {
    const size_t count = right ? rights : lefts;
    keypoints_[right] = {device.Add<float>(count), device.Add<float>(count), device.Add<int32_t>(count),
                         device.Add<uint8_t>(count * static_cast<size_t>(room.bytes))};
  }
  row_counts_ = device.Add<uint32_t>(rows);
  row_first_ = device.Add<uint32_t>(rows + 1);
  row_slot_ = device.Add<uint32_t>(rights);
  candidates_ = device.Add<StereoCandidate>(rights);
  nearest_right_ = device.Add<uint32_t>(lefts);
  nearest_left_ = device.Add<uint32_t>(rights);
  found_ = device.Add<FoundMatch>(lefts);
  partials_ = device.Add<uint8_t>(PartialBytes(room.lefts));
  best_queries_ = device.Add<uint32_t>(2 * rights);
  match_state_ = device.Add<MatchState>(1);
  matches_ = device.Add<int32_t>(2 * lefts);
  Layout host;
  host.Add<StereoHeader>(1);
  host.Add<int32_t>(kResultArrays * lefts);
  for (const bool right : {false, true}) {
    gathered_[right] = host.Add<uint8_t>((right ? rights : lefts) * static_cast<size_t>(room.bytes));
  }

  GLINT_ASSIGN_OR_RETURN(memory_, DeviceBuffer::Create(stream, device.bytes()));
  GLINT_ASSIGN_OR_RETURN(result_, MappedBuffer::Create(stream.api, host.bytes()));
  room_ = room;
  dirty_ = true;
  return absl::OkStatus();
}

void StereoMemory::Place(int lefts, int rights, StereoParams* params) const {
  const auto keypoints = [&](bool right) {
    const Offsets& offsets = keypoints_[right];
    return StereoKeypoints{reinterpret_cast<float*>(at(offsets.x)), reinterpret_cast<float*>(at(offsets.y)),
                           reinterpret_cast<int32_t*>(at(offsets.octave)), at(offsets.descriptors),
                           right ? rights : lefts};
  };
  params->left = keypoints(false);
  params->right = keypoints(true);
  params->row_counts = reinterpret_cast<uint32_t*>(at(row_counts_));
  params->row_first = reinterpret_cast<uint32_t*>(at(row_first_));
  params->row_slot = reinterpret_cast<uint32_t*>(at(row_slot_));
  params->candidates = reinterpret_cast<StereoCandidate*>(at(candidates_));
  params->nearest_right = reinterpret_cast<uint32_t*>(at(nearest_right_));
  params->nearest_left = reinterpret_cast<uint32_t*>(at(nearest_left_));
  params->found = reinterpret_cast<FoundMatch*>(at(found_));
  params->checked_index = params->options.check_pair ? reinterpret_cast<const int32_t*>(at(matches_)) : nullptr;
  params->checked_distance = params->checked_index == nullptr ? nullptr : params->checked_index + lefts;
  params->header = reinterpret_cast<StereoHeader*>(result_.device_data());
  auto* arrays = reinterpret_cast<int32_t*>(result_.device_data() + kAlignment);
  params->right_index = arrays;
  params->distance = arrays + lefts;
  params->right_x = reinterpret_cast<float*>(arrays + 2 * lefts);
  params->disparity = reinterpret_cast<float*>(arrays + 3 * lefts);
  params->depth = reinterpret_cast<float*>(arrays + 4 * lefts);
}

absl::Status StereoMemory::ClearState(StreamView stream) {
  const auto set = [&](size_t offset, int value, size_t bytes) {
    return ToStatus(stream.api->MemsetAsync(at(offset), value, bytes, stream.stream), "clearing the matcher's state");
  };
  GLINT_RETURN_IF_ERROR(set(row_counts_, 0, static_cast<size_t>(room_.rows) * sizeof(uint32_t)));
  GLINT_RETURN_IF_ERROR(set(match_state_, 0, sizeof(MatchState)));
  return set(best_queries_, 0xff, 2 * static_cast<size_t>(room_.rights) * sizeof(uint32_t));
}

absl::Status StereoMemory::EnqueueChecks(StreamView stream, const StereoParams& params) {
  MatchParams match{};
  match.query = params.left.descriptors;
  match.train = params.right.descriptors;
  match.queries = params.left.count;
  match.trains = params.right.count;
  match.bytes = params.bytes;
  match.options = OptionsOfChecks(params.options);
  match.plan = PlanMatch(device_, match.queries, match.trains, match.bytes, match.options, /*has_conditions=*/false);
  match.partials = reinterpret_cast<uint32_t*>(at(partials_));
  match.best_queries = reinterpret_cast<uint32_t*>(at(best_queries_));
  match.best_queries_stride = room_.rights;
  match.state = reinterpret_cast<MatchState*>(at(match_state_));
  match.index = reinterpret_cast<int32_t*>(at(matches_));
  match.distance = match.index + match.queries;
  return EnqueueMatch(stream, match);
}

absl::Status StereoMemory::Enqueue(StreamView stream, const StereoParams& params, const StereoSources* sources) {
  if (dirty_) GLINT_RETURN_IF_ERROR(ClearState(stream));
  dirty_ = true;
  if (sources != nullptr) {
    GLINT_RETURN_IF_ERROR(GatherKeypoints(stream, params, *sources));
    if (params.left.count == 0 || params.right.count == 0) {
      // What the right eye's keypoints were counted into.
      return ClearState(stream);
    }
  } else {
    GLINT_RETURN_IF_ERROR(CountRows(stream, params));
  }
  GLINT_RETURN_IF_ERROR(SortByRows(stream, params));
  GLINT_RETURN_IF_ERROR(FindNearest(stream, params));
  GLINT_RETURN_IF_ERROR(RefineMatches(stream, params));
  if (params.checked_index != nullptr) GLINT_RETURN_IF_ERROR(EnqueueChecks(stream, params));
  return FinishStereo(stream, params);
}

absl::Status StereoMemory::EnqueueGather(StreamView stream, const StereoParams& params,
                                         const StereoSources& sources) const {
  StereoParams gathered = params;
  gathered.row_counts = nullptr;
  return GatherKeypoints(stream, gathered, sources);
}

void StereoMemory::Read(const StereoParams& params, StereoResult* result) const {
  const auto count = static_cast<size_t>(params.left.count);
  const auto* header = reinterpret_cast<const StereoHeader*>(result_.data());
  const auto* arrays = reinterpret_cast<const int32_t*>(result_.data() + kAlignment);
  const auto* floats = reinterpret_cast<const float*>(arrays);
  result->right_index.assign(arrays, arrays + count);
  result->distance.assign(arrays + count, arrays + 2 * count);
  result->right_x.assign(floats + 2 * count, floats + 3 * count);
  result->disparity.assign(floats + 3 * count, floats + 4 * count);
  result->depth.assign(floats + 4 * count, floats + 5 * count);
  result->matches = header->matches;
  result->checks = {};
  if (!params.options.check_pair) return;
  result->checks.matches = header->checked_matches;
  result->checks.sure = header->sure_matches;
  result->checks.median_dy = header->median_dy;
  result->checks.negative_disparities = header->negative_disparities;
}

}  // namespace glint::cuda
