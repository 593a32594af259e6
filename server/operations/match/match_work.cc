#include "server/operations/match/match_work.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "features/error.h"

namespace glint {
namespace {

// To the nearest octave that there can be: those of sets are the client's, unchecked.
int32_t Saturate(int64_t octave) {
  return static_cast<int32_t>(
      std::clamp<int64_t>(octave, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

// The arrays that there are: those of a set, or of features.
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

class MatchRun {
 public:
  MatchRun(Lane* lane, int64_t max_pixels, FrameQueue* queue, decode::Decoder* decoder, PixelScratch* first,
           PairScratch* scratch, FrameJob* job, Features* features)
      : lane_(lane),
        max_pixels_(max_pixels),
        queue_(queue),
        decoder_(decoder),
        first_(first),
        scratch_(scratch),
        job_(job),
        features_(features) {}

  absl::Status Run() {
    const int64_t start = MonotonicNs();
    DescriptorSet* const sets = scratch_->sides;
    if (auto s = job_->match.packed->Unpack(&sets[0], &sets[1], &scratch_->conditions); !s.ok()) return s;
    job_->times.decode_ns = MonotonicNs() - start;
    Side query, train;
    scratch_->train.Clear();
    const auto& request = job_->match;
    const bool both = request.query.is_image && request.train.is_image;
    if (both) {
      if (auto s = FindBoth(&query, &train); !s.ok()) return s;
    } else {
      if (auto s = Find("query", request.query, job_->image, sets[0], first_, features_, &query); !s.ok()) return s;
      if (auto s = Find("train", request.train, job_->second, sets[1], &scratch_->second, &scratch_->train, &train);
          !s.ok()) {
        return s;
      }
    }
    if (was_encoded_) queue_->CorrectPixels(*job_, pixels_ + request.pixels);
    const int64_t match_at = MonotonicNs();
    if (auto s = Match(query, train, both); !s.ok()) return s;
    job_->times.match_ns = MonotonicNs() - match_at;
    job_->found.queries = query.descriptors.count;
    job_->found.trains = train.descriptors.count;
    job_->found.matches = &scratch_->matches;
    if (request.train.is_image) job_->found.second = &scratch_->train;
    return absl::OkStatus();
  }

 private:
  absl::Status Find(absl::string_view field, const MatchRequest::Side& side, const ImageSource& image,
                    const DescriptorSet& unpacked, PixelScratch* pixels, Features* features, Side* found) {
    if (!side.is_image) {
      *found = Of(side.kept != nullptr ? *side.kept : unpacked);
      return absl::OkStatus();
    }
    const auto decoded = Decode(field, image, pixels);
    if (!decoded.ok()) return decoded.status();
    const int64_t run_at = MonotonicNs();
    StageTimes times;
    if (auto s = lane_->Run(job_->options, *decoded, {}, features, &times); !s.ok()) return s;
    TakeTimes(times, run_at);
    job_->copied_bytes += pixels->rows.copied_bytes();
    *found = Of(*features, job_->options, decoded->shape());
    return absl::OkStatus();
  }

  // Of two images, whose descriptors stay on the lane's device.
  absl::Status FindBoth(Side* query, Side* train) {
    const auto first = Decode("query", job_->image, first_);
    if (!first.ok()) return first.status();
    const auto second = Decode("train", job_->second, &scratch_->second);
    if (!second.ok()) return second.status();
    const int64_t run_at = MonotonicNs();
    StageTimes times;
    if (auto s = lane_->RunBoth(job_->options, *first, *second, features_, &scratch_->train, &times); !s.ok()) return s;
    TakeTimes(times, run_at);
    job_->copied_bytes += first_->rows.copied_bytes() + scratch_->second.rows.copied_bytes();
    *query = Of(*features_, job_->options, first->shape());
    *train = Of(scratch_->train, job_->options, second->shape());
    return absl::OkStatus();
  }

  absl::StatusOr<Pixels> Decode(absl::string_view field, const ImageSource& image, PixelScratch* pixels) {
    if (absl::Status s = CheckWanted(job_); !s.ok()) return s;
    const int64_t start = MonotonicNs();
    auto decoded = PixelsOf(image, decoder_, max_pixels_, pixels);
    if (!decoded.ok()) return AboutImage(absl::StrCat(field, ".image"), decoded.status());
    if (absl::Status s = ValidatePixels(*decoded, {}, max_pixels_); !s.ok()) {
      return AboutImage(absl::StrCat(field, ".image"), s);
    }
    pixels_ += decoded->shape().pixels();
    if (absl::Status s = CheckPixels(pixels_, max_pixels_); !s.ok()) return s;
    was_encoded_ = was_encoded_ || image.kind == ImageSource::Kind::kEncoded;
    job_->times.decode_ns += MonotonicNs() - start;
    return decoded;
  }

  // Of what the lane did since `run_at`.
  void TakeTimes(StageTimes times, int64_t run_at) {
    times.download_ns = std::max(times.download_ns, MonotonicNs() - run_at - times.upload_ns - times.detect_ns);
    AddTimes(times, &job_->times.stages);
  }

  // Windows and octave ranges as the message has them, or around the queries themselves.
  absl::Status MakeConditions(const Side& query, const Side& train, QueryConditions* c) {
    ConditionArrays& arrays = scratch_->conditions;
    const size_t count = static_cast<size_t>(query.descriptors.count);
    const MatchRequest& request = job_->match;
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
      if (query.x == nullptr || query.y == nullptr) return ContradictionError("window_radius", "query has no x and y");
      arrays.x.assign(query.x, query.x + count);
      arrays.y.assign(query.y, query.y + count);
      arrays.radius.assign(count, request.window_radius);
    }
    if (!has_octaves && request.max_octave_difference >= 0 && count > 0) {
      if (query.octave == nullptr) return ContradictionError("max_octave_difference", "query has no octaves");
      for (size_t q = 0; q < count; ++q) {
        arrays.min_octave.push_back(Saturate(int64_t{query.octave[q]} - request.max_octave_difference));
        arrays.max_octave.push_back(Saturate(int64_t{query.octave[q]} + request.max_octave_difference));
      }
    }
    *c = {OrNull(arrays.x),          OrNull(arrays.y),          OrNull(arrays.radius),
          OrNull(arrays.min_octave), OrNull(arrays.max_octave), query.angle};
    return has_windows && train.image.pixels() > 0 ? CheckWindows(train.image) : absl::OkStatus();
  }

  // Each window has a part in the train image.
  absl::Status CheckWindows(Shape image) const {
    const ConditionArrays& arrays = scratch_->conditions;
    if (arrays.y.size() != arrays.x.size() || arrays.radius.size() != arrays.x.size()) return absl::OkStatus();
    for (size_t q = 0; q < arrays.x.size(); ++q) {
      const float x = arrays.x[q], y = arrays.y[q], radius = arrays.radius[q];
      // Written so that NaN passes: ValidateMatchInput() names it.
      const bool outside = x + radius <= 0 || y + radius <= 0 || x - radius >= static_cast<float>(image.width) ||
                           y - radius >= static_cast<float>(image.height);
      if (!outside) continue;
      return ContradictionError(absl::StrCat("conditions.x, y[", q, "]"),
                                absl::StrCat("the window of ", radius, " pixels around ", x, ", ", y,
                                             " is outside the train image of ", image.width, "x", image.height));
    }
    return absl::OkStatus();
  }

  // `both`: the sides are what the lane's RunBoth() found.
  absl::Status Match(const Side& query, const Side& train, bool both) {
    MatchInput input;
    input.query = query.descriptors;
    input.train = train.descriptors;
    if (auto s = MakeConditions(query, train, &input.conditions); !s.ok()) return s;
    input.keypoints = {train.x, train.y, train.octave, train.angle};
    if (auto s = ValidateMatchInput(input, job_->match.options); !s.ok()) return s;
    if (auto s = CheckWanted(job_); !s.ok()) return s;
    const MatchOptions& options = job_->match.options;
    return both ? lane_->MatchBoth(input, options, &scratch_->matches)
                : lane_->Match(input, options, &scratch_->matches);
  }

  Lane* const lane_;
  const int64_t max_pixels_;
  FrameQueue* const queue_;
  decode::Decoder* const decoder_;
  PixelScratch* const first_;
  PairScratch* const scratch_;
  FrameJob* const job_;
  Features* const features_;
  int64_t pixels_ = 0;        // of the images so far
  bool was_encoded_ = false;  // one of them
};

// The halves of one picture.
absl::Status Split(const ImageSource& source, Pixels* left, Pixels* right, PixelScratch* first, PixelScratch* second) {
  const Shape whole = left->shape();
  if (whole.width % 2 != 0) {
    return ContradictionError(
        "left.width",
        absl::StrCat(whole.width, " is odd: eyes side by side have half of it each, and `right` is absent"));
  }
  const Shape half = {whole.width / 2, whole.height};
  *right = *left;
  if (left->rows == &first->rows) {
    second->rows.Use(source);
    right->rows = &second->rows;
  }
  CropTo({0, 0, half}, first, left);
  CropTo({half.width, 0, half}, second, right);
  return absl::OkStatus();
}

absl::Status RunStereo(Lane* lane, int64_t max_pixels, FrameQueue* queue, decode::Decoder* decoder, PixelScratch* first,
                       PairScratch* scratch, FrameJob* job, Features* features) {
  const int64_t start = MonotonicNs();
  const auto eyes = EyesOf(*job, job->stereo.side_by_side, max_pixels, decoder, first, &scratch->second);
  if (!eyes.ok()) return eyes.status();
  queue->CorrectPixels(*job, eyes->pixels + MatchPixels(job->options.max_features, job->options.max_features));
  if (absl::Status s = CheckWanted(job); !s.ok()) return s;
  const int64_t run_at = MonotonicNs();
  job->times.decode_ns = run_at - start;
  StageTimes& stages = job->times.stages;
  StereoFound& found = scratch->stereo;
  if (auto s = lane->RunStereo(job->options, job->stereo.options, eyes->left, eyes->right, &found, &stages); !s.ok())
    return s;
  job->times.match_ns = found.match_ns;
  stages.download_ns =
      std::max(stages.download_ns, MonotonicNs() - run_at - stages.upload_ns - stages.detect_ns - found.match_ns);
  job->copied_bytes = first->rows.copied_bytes() + scratch->second.rows.copied_bytes();
  std::swap(*features, found.left);
  job->found.queries = static_cast<int>(features->count());
  job->found.trains = static_cast<int>(found.right.count());
  job->found.second = &found.right;
  job->found.stereo = &found.matches;
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPixels(int64_t pixels, int64_t max_pixels) {
  if (pixels <= max_pixels) return absl::OkStatus();
  return LimitError("pixels of both images", pixels, max_pixels, "--max-image-pixels");
}

absl::StatusOr<Pixels> EyeOf(absl::string_view field, const ImageSource& source, int64_t max_pixels,
                             decode::Decoder* decoder, PixelScratch* scratch) {
  auto decoded = PixelsOf(source, decoder, max_pixels, scratch);
  if (!decoded.ok()) return AboutImage(field, decoded.status());
  if (absl::Status s = ValidatePixels(*decoded, {}, max_pixels); !s.ok()) return AboutImage(field, s);
  return decoded;
}

absl::StatusOr<EyePixels> EyesOf(const FrameJob& job, bool side_by_side, int64_t max_pixels, decode::Decoder* decoder,
                                 PixelScratch* first, PixelScratch* second) {
  EyePixels eyes;
  const auto left_eye = EyeOf("left", job.image, max_pixels, decoder, first);
  if (!left_eye.ok()) return left_eye.status();
  eyes.left = *left_eye;
  eyes.pixels = eyes.left.shape().pixels();
  if (side_by_side) {
    if (auto s = Split(job.image, &eyes.left, &eyes.right, first, second); !s.ok()) return s;
  } else {
    const auto right_eye = EyeOf("right", job.second, max_pixels, decoder, second);
    if (!right_eye.ok()) return right_eye.status();
    eyes.right = *right_eye;
    eyes.pixels += eyes.right.shape().pixels();
  }
  const Shape left = eyes.left.shape(), right = eyes.right.shape();
  if (left != right) {
    return ContradictionError("right", absl::StrCat(right.width, "x", right.height, " pixels, but the left eye has ",
                                                    left.width, "x", left.height));
  }
  if (absl::Status s = CheckPixels(eyes.pixels, max_pixels); !s.ok()) return s;
  return eyes;
}

absl::Status CheckWanted(FrameJob* job) {
  if (job->cancelled.load(std::memory_order_relaxed)) return absl::CancelledError("the client has gone");
  if (job->expires_at_ns == 0) return absl::OkStatus();
  const int64_t now = MonotonicNs();
  if (!job->Expired(now)) return absl::OkStatus();
  job->drop = DropReason::kExpired;
  return absl::DeadlineExceededError(
      absl::StrCat("max_age_ns: expired after waiting for ", (now - job->times.received_at) / 1000, " us"));
}

absl::Status RunPair(Lane* lane, int64_t max_pixels, FrameQueue* queue, decode::Decoder* decoder, PixelScratch* first,
                     PairScratch* scratch, FrameJob* job, Features* features) {
  if (job->work == Work::kStereo) {
    return RunStereo(lane, max_pixels, queue, decoder, first, scratch, job, features);
  }
  return MatchRun(lane, max_pixels, queue, decoder, first, scratch, job, features).Run();
}

}  // namespace glint
