#include "lane/cuda_matching.h"

#include <algorithm>
#include <new>
#include <utility>

#include "features/limits.h"
#include "features/status_macros.h"

namespace glint {

CudaMatching::CudaMatching(int ordinal, int sm_limit) {
  options_.device = ordinal;
  options_.sm_limit = sm_limit;
  options_.max_queries = options_.max_trains = 0;
  options_.max_descriptor_bytes = kRbriefBytes;
}

template <typename Work>
absl::Status CudaMatching::InRoom(const MatchInput& input, Work work) {
  try {
    GLINT_RETURN_IF_ERROR(MakeRoom(input));
    return work();
  } catch (const std::bad_alloc&) {
    matcher_ = nullptr;  // it is prepared in part: the next match makes another
    throw;
  }
}

absl::Status CudaMatching::Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) {
  return InRoom(input, [&] { return matcher_->Match(input, options, result); });
}

absl::Status CudaMatching::MatchOnDevice(const MatchInput& input, const MatchOptions& options, MatchResult* result) {
  return InRoom(input, [&] { return matcher_->MatchOnDevice(input, options, result); });
}

absl::Status CudaMatching::MakeRoom(const MatchInput& input) {
  const auto grow = [](int needed, int least, int most, int* value) {
    if (needed <= *value) return false;
    for (*value = std::max(*value, least); *value < needed;) *value = std::min(2 * *value, most);
    return true;
  };
  constexpr int kFewest = 4096;
  bool larger = grow(input.query.count, kFewest, kMaxMatchDescriptors, &options_.max_queries);
  larger = grow(input.train.count, kFewest, kMaxMatchDescriptors, &options_.max_trains) || larger;
  larger = grow(std::max(input.query.bytes, input.train.bytes), kRbriefBytes, kMaxDescriptorBytes,
                &options_.max_descriptor_bytes) ||
           larger;
  if (matcher_ != nullptr && !larger) return absl::OkStatus();
  options_.max_queries = std::max(options_.max_queries, 1);
  options_.max_trains = std::max(options_.max_trains, 1);
  matcher_ = nullptr;  // its memory first
  auto made = cuda::Matcher::Create(options_);
  if (!made.ok()) {
    options_.max_queries = options_.max_trains = 0;  // smaller sets may find room
    options_.max_descriptor_bytes = kRbriefBytes;
    return made.status();
  }
  matcher_ = *std::move(made);
  return absl::OkStatus();
}

}  // namespace glint
