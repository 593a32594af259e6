#include "server/operations/match/match_work.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/server_error.h"
#include "features/status_macros.h"
#include "server/pixels/image_pair.h"
#include "server/wire/match_pairs.h"

namespace glint {
namespace {

// Clamps an octave to the valid range: octaves of sets are untrusted.
int32_t Saturate(int64_t octave) {
  return static_cast<int32_t>(
      std::clamp<int64_t>(octave, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

// Keypoint arrays of one side: of a set, or of features.
struct Side {
  DescriptorView descriptors;
  const float *x = nullptr, *y = nullptr, *angle = nullptr;
  const int32_t* octave = nullptr;
  Shape image;  // that they are of, if known
};

template <typename T>
const T* OrNull(const std::vector<T>& values) {
  return values.empty() ? nullptr : values.data();
}

Side Of(const DescriptorSet& set) {
  return {set.view(), OrNull(set.x), OrNull(set.y), OrNull(set.angle), OrNull(set.octave), {}};
}

Side Of(const Features& f, const DetectorOptions& options, Shape image) {
  const bool has_angle = options.orientation != Orientation::kNone;
  return {{f.descriptors.data(), static_cast<int>(f.count()), f.descriptor_bytes},
          OrNull(f.x),
          OrNull(f.y),
          has_angle ? OrNull(f.angle) : nullptr,
          OrNull(f.octave),
          image};
}

// Memory that a lane's thread reuses from match to match.
struct MatchScratch {
  Features train;
  DescriptorSet sides[2];
  ConditionArrays conditions;
  MatchResult matches;
  Rays query_rays, train_rays;
};

class MatchRun {
 public:
  MatchRun(const LaneContext& context, MatchTask* task, FrameJob* job)
      : context_(context),
        images_(context.scratch->Of<ImageScratch>()),
        scratch_(context.scratch->Of<MatchScratch>()),
        task_(task),
        job_(job) {}

  absl::Status Run() {
    const int64_t start = MonotonicNs();
    DescriptorSet* const sets = scratch_->sides;
    task_->unpack(task_->message, *task_->wire, &sets[0], &sets[1], &scratch_->conditions);
    job_->times.decode_ns = MonotonicNs() - start;
    Side query, train;
    images_->features.Clear();
    scratch_->train.Clear();
    const bool both = task_->query.is_image && task_->train.is_image;
    if (both) {
      GLINT_RETURN_IF_ERROR(FindBoth(&query, &train));
    } else {
      GLINT_RETURN_IF_ERROR(Find("query", task_->query, sets[0], &images_->first, &images_->features, &query));
      GLINT_RETURN_IF_ERROR(Find("train", task_->train, sets[1], &images_->second, &scratch_->train, &train));
    }
    const int64_t match_at = MonotonicNs();
    GLINT_RETURN_IF_ERROR(Match(query, train, both));
    job_->times.match_ns = MonotonicNs() - match_at;
    task_->queries = query.descriptors.count;
    task_->trains = train.descriptors.count;
    task_->matches = &scratch_->matches;
    if (task_->query.is_image) task_->query_features = &images_->features;
    if (task_->train.is_image) task_->train_features = &scratch_->train;
    job_->keypoints = images_->features.count() + scratch_->train.count();
    return absl::OkStatus();
  }

 private:
  absl::Status Find(absl::string_view field, const MatchTask::Side& side, const DescriptorSet& unpacked,
                    PixelScratch* pixels, Features* features, Side* found) {
    if (!side.is_image) {
      *found = Of(side.kept != nullptr ? *side.kept : unpacked);
      return absl::OkStatus();
    }
    GLINT_ASSIGN_OR_RETURN(const Pixels decoded, Decode(field, side, pixels));
    const int64_t run_at = MonotonicNs();
    StageTimes times;
    GLINT_RETURN_IF_ERROR(context_.lane->Run(task_->detector, decoded, {}, features, &times));
    AddRays(side, *features);
    TakeTimes(times, run_at);
    job_->copied_bytes += pixels->rows.copied_bytes();
    *found = Of(*features, task_->detector, decoded.shape());
    return absl::OkStatus();
  }

  // Matches two images, whose descriptors stay on the lane's device.
  absl::Status FindBoth(Side* query, Side* train) {
    GLINT_ASSIGN_OR_RETURN(const Pixels first, Decode("query", task_->query, &images_->first));
    GLINT_ASSIGN_OR_RETURN(const Pixels second, Decode("train", task_->train, &images_->second));
    const int64_t run_at = MonotonicNs();
    StageTimes times;
    GLINT_RETURN_IF_ERROR(
        context_.lane->RunBoth(task_->detector, first, second, &images_->features, &scratch_->train, &times));
    AddRays(task_->query, images_->features);
    AddRays(task_->train, scratch_->train);
    TakeTimes(times, run_at);
    job_->copied_bytes += images_->first.rows.copied_bytes() + images_->second.rows.copied_bytes();
    *query = Of(images_->features, task_->detector, first.shape());
    *train = Of(scratch_->train, task_->detector, second.shape());
    return absl::OkStatus();
  }

  void AddRays(const MatchTask::Side& side, const Features& features) {
    if (side.camera == nullptr) return;
    const bool is_query = &side == &task_->query;
    Rays* const rays = is_query ? &scratch_->query_rays : &scratch_->train_rays;
    RaysOf(*side.camera, features.x, features.y, rays);
    (is_query ? task_->query_rays : task_->train_rays) = rays;
  }

  absl::StatusOr<Pixels> Decode(absl::string_view field, const MatchTask::Side& side, PixelScratch* pixels) {
    GLINT_RETURN_IF_ERROR(CheckNotCancelled(job_));
    const int64_t start = MonotonicNs();
    const std::string image = absl::StrCat(field, ".image");
    GLINT_ASSIGN_OR_RETURN(const Pixels decoded, DecodeImage(context_, image, side.image, pixels, job_));
    if (side.camera != nullptr) GLINT_RETURN_IF_ERROR(CheckSize(image, decoded.shape(), *side.camera));
    pixels_ += decoded.shape().pixels();
    GLINT_RETURN_IF_ERROR(CheckPixels("query.image", pixels_, context_.max_pixels));
    job_->times.decode_ns += MonotonicNs() - start;
    return decoded;
  }

  // Attributes the lane's time since `run_at`.
  void TakeTimes(StageTimes times, int64_t run_at) {
    times.download_ns = std::max(times.download_ns, MonotonicNs() - run_at - times.upload_ns - times.detect_ns);
    AddTimes(times, &job_->times.stages);
  }

  // Windows and octave ranges: from the message, or around the queries.
  absl::Status MakeConditions(const Side& query, const Side& train, QueryConditions* c) {
    ConditionArrays& arrays = scratch_->conditions;
    const size_t count = static_cast<size_t>(query.descriptors.count);
    const MatchCriteria& request = task_->criteria;
    const auto check = [&](absl::string_view name, size_t size) {
      if (size == 0 || size == count) return absl::OkStatus();
      return ContradictionError(absl::StrCat("conditions.", name),
                                absl::StrCat(size, " elements, but there are ", count, " queries"));
    };
    for (const absl::Status& s :
         {check("x", arrays.x.size()), check("y", arrays.y.size()), check("radius", arrays.radius.size()),
          check("min_octave", arrays.min_octave.size()), check("max_octave", arrays.max_octave.size())}) {
      if (!s.ok()) return s;
    }
    const bool has_windows = !arrays.x.empty() || !arrays.y.empty() || !arrays.radius.empty();
    const bool has_octaves = !arrays.min_octave.empty() || !arrays.max_octave.empty();
    if (!has_windows && request.window_radius > 0 && count > 0) {
      if (query.x == nullptr || query.y == nullptr) {
        return ContradictionError("match.window_radius", "query has no x and y");
      }
      arrays.x.assign(query.x, query.x + count);
      arrays.y.assign(query.y, query.y + count);
      arrays.radius.assign(count, request.window_radius);
    }
    if (!has_octaves && request.max_octave_difference >= 0 && count > 0) {
      if (query.octave == nullptr) return ContradictionError("match.max_octave_difference", "query has no octaves");
      for (size_t q = 0; q < count; ++q) {
        arrays.min_octave.push_back(Saturate(int64_t{query.octave[q]} - request.max_octave_difference));
        arrays.max_octave.push_back(Saturate(int64_t{query.octave[q]} + request.max_octave_difference));
      }
    }
    *c = {OrNull(arrays.x),          OrNull(arrays.y),          OrNull(arrays.radius),
          OrNull(arrays.min_octave), OrNull(arrays.max_octave), query.angle};
    return has_windows && train.image.pixels() > 0 ? CheckWindows(train.image) : absl::OkStatus();
  }

  // Checks that each window overlaps the train image.
  absl::Status CheckWindows(Shape image) const {
    const ConditionArrays& arrays = scratch_->conditions;
    if (arrays.y.size() != arrays.x.size() || arrays.radius.size() != arrays.x.size()) return absl::OkStatus();
    for (size_t q = 0; q < arrays.x.size(); ++q) {
      const float x = arrays.x[q], y = arrays.y[q], radius = arrays.radius[q];
      // Written so that NaN passes: ValidateMatchInput() names it.
      const bool outside = x + radius <= 0 || y + radius <= 0 || x - radius >= static_cast<float>(image.width) ||
                           y - radius >= static_cast<float>(image.height);
      if (!outside) continue;
      return ContradictionError(absl::StrCat("conditions.x[", q, "]"),
                                absl::StrCat("the window of ", radius, " pixels around ", x, ", ", y,
                                             " is outside the train image of ", image.width, "x", image.height));
    }
    return absl::OkStatus();
  }

  // Maps an error of ValidateMatchInput() to paths in the message.
  absl::Status OfMessage(absl::Status status) const {
    const auto part_of = [](absl::string_view name, const MatchTask::Side& side) {
      return absl::StrCat(name, side.is_image ? ".image: " : side.kept != nullptr ? ".set: " : ".descriptors: ");
    };
    const std::pair<absl::string_view, std::string> paths[] = {
        {"train.", part_of("train", task_->train)},
        {"keypoints.", part_of("train", task_->train)},
        {"conditions.angle", part_of("query", task_->query) + "angle"},
        {"max_angle_difference", "match.max_angle_difference"},
        {"rotation_histogram", "match.rotation_histogram"},
    };
    for (const auto& [from, to] : paths) status = WithFieldRenamed(from, to, status);
    return status;
  }

  // `both`: the sides are the results of the lane's RunBoth().
  absl::Status Match(const Side& query, const Side& train, bool both) {
    MatchInput input;
    input.query = query.descriptors;
    input.train = train.descriptors;
    GLINT_RETURN_IF_ERROR(
        CheckMatchPairs("query", input.query.count, input.train.count, input.query.bytes, task_->max_pairs));
    GLINT_RETURN_IF_ERROR(MakeConditions(query, train, &input.conditions));
    input.keypoints = {train.x, train.y, train.octave, train.angle};
    const MatchOptions& options = task_->criteria.options;
    if (const absl::Status s = ValidateMatchInput(input, options); !s.ok()) return OfMessage(s);
    GLINT_RETURN_IF_ERROR(CheckNotCancelled(job_));
    return both ? context_.lane->MatchBoth(input, options, &scratch_->matches)
                : context_.lane->Match(input, options, &scratch_->matches);
  }

  const LaneContext& context_;
  ImageScratch* const images_;
  MatchScratch* const scratch_;
  MatchTask* const task_;
  FrameJob* const job_;
  int64_t pixels_ = 0;  // of the images so far
};

}  // namespace

absl::Status RunMatch(const LaneContext& context, MatchTask* task, FrameJob* job) {
  return MatchRun(context, task, job).Run();
}

}  // namespace glint
