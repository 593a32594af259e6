#include "server/lane/cpu_stereo.h"

#include <chrono>
#include <cstring>

namespace glint {
namespace {

using Clock = std::chrono::steady_clock;

int64_t NanosecondsSince(Clock::time_point start) { return std::chrono::nanoseconds(Clock::now() - start).count(); }

// Keeps the memory that `to` has.
void Copy(const ImageView& from, Image* to) {
  to->Resize(from.shape());
  for (int y = 0; y < from.height; ++y) std::memcpy(to->row(y), from.row(y), static_cast<size_t>(from.width));
}

}  // namespace

absl::Status CpuStereo::Run(const DetectorOptions& options, const StereoOptions& stereo, const Pixels& left,
                            const Pixels& right, StereoFound* found, StageTimes* times) {
  Clock::time_point start = Clock::now();
  const ImageView left_view = ViewOf(left, &left_);
  const ImageView right_view = ViewOf(right, &right_);
  const int64_t copied_ns = NanosecondsSince(start);

  StageTimes of_left, of_right;
  if (auto s = pipeline_->Detect(options, left_view, {}, &found->left, &of_left); !s.ok()) return s;
  start = Clock::now();
  std::array<ImageView, kMaxLevels> left_levels, right_levels;
  left_levels[0] = left_view;
  for (int l = 1; l < options.levels && stereo.refine; ++l) {
    const ImageView level = pipeline_->LevelImage(l);
    if (level.empty()) break;
    Image& kept = above_[static_cast<size_t>(l)];
    Copy(level, &kept);
    left_levels[static_cast<size_t>(l)] = kept;
  }
  int64_t match_ns = NanosecondsSince(start);
  if (auto s = pipeline_->Detect(options, right_view, {}, &found->right, &of_right); !s.ok()) return s;
  for (int l = 0; l < options.levels; ++l) right_levels[static_cast<size_t>(l)] = pipeline_->LevelImage(l);

  start = Clock::now();
  const StereoInput input{{&found->left, left_levels.data()},
                          {&found->right, right_levels.data()},
                          PlanPyramid(options, left_view.shape())};
  if (auto s = ValidateStereoInput(input, stereo); !s.ok()) return s;
  matcher_.Match(input, stereo, &found->matches);
  match_ns += NanosecondsSince(start);
  found->match_ns = match_ns;

  *times = of_left;
  AddTimes(of_right, times);
  times->upload_ns += copied_ns;
  return absl::OkStatus();
}

}  // namespace glint
