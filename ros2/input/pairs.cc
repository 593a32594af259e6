#include "ros2/input/pairs.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <utility>

namespace glint::ros2 {
namespace {

bool IsBefore(const Picture& picture, int64_t stamp_ns) { return picture.stamp_ns < stamp_ns; }

}  // namespace

Pairs::Pairs(int sides, int64_t max_difference_ns, std::function<void(Picture*)> drop)
    : sides_count_(static_cast<size_t>(sides)), max_difference_ns_(max_difference_ns), drop_(std::move(drop)) {}

bool Pairs::Note(Side* side, int64_t stamp_ns) {
  if (stamp_ns < side->newest - kFarBack) {
    ++restarts_;
    Drop(side, side->waiting.end());
    side->newest = 0;
    side->gaps_seen = 0;
    if (stamp_ns < side->last - kFarBack) side->last = 0;  // else it was one stamp that was far ahead
  }
  const auto at = std::lower_bound(side->waiting.begin(), side->waiting.end(), stamp_ns, IsBefore);
  const bool is_there = at != side->waiting.end() && at->stamp_ns == stamp_ns;
  if (is_there || stamp_ns == side->last) {
    ++repeated_;
    return false;
  }
  if (stamp_ns < side->last) {
    ++late_;
    return false;
  }
  if (stamp_ns > side->newest) {
    if (side->newest != 0) side->gaps[side->gaps_seen++ % side->gaps.size()] = stamp_ns - side->newest;
    side->newest = stamp_ns;
  }
  return true;
}

void Pairs::Drop(Side* side, std::vector<Picture>::iterator end) {
  for (auto at = side->waiting.begin(); at != end; ++at) drop_(&*at);
  side->alone += std::distance(side->waiting.begin(), end);
  side->waiting.erase(side->waiting.begin(), end);
}

void Pairs::Wait(Side* side, Picture picture) {
  std::vector<Picture>& waiting = side->waiting;
  waiting.insert(std::lower_bound(waiting.begin(), waiting.end(), picture.stamp_ns, IsBefore), std::move(picture));
  size_t bytes = 0, keep = 0;  // of the newest ones
  while (keep < std::min(waiting.size(), kMostWaiting)) {
    bytes += waiting[waiting.size() - 1 - keep].bytes.capacity();
    if (keep > 0 && bytes > kMostWaitingBytes) break;
    ++keep;
  }
  Drop(side, waiting.end() - static_cast<ptrdiff_t>(keep));
}

int64_t Pairs::Tolerance() const {
  int64_t period = std::numeric_limits<int64_t>::max();
  for (const Side& side : sides_) {
    const size_t count = std::min(side.gaps_seen, side.gaps.size());
    if (count == 0) continue;
    std::array<int64_t, std::tuple_size<decltype(side.gaps)>::value> gaps = side.gaps;
    const auto middle = gaps.begin() + static_cast<ptrdiff_t>(count / 2);
    std::nth_element(gaps.begin(), middle, gaps.begin() + static_cast<ptrdiff_t>(count));
    period = std::min(period, *middle);
  }
  if (period == std::numeric_limits<int64_t>::max()) period = kUnknownPeriod + 1;
  return std::min(max_difference_ns_, (period - 1) / 2);
}

bool Pairs::Add(size_t side, Picture picture, std::array<Picture, 2>* pair) {
  Side& own = sides_[side];
  const int64_t stamp = picture.stamp_ns;
  if (!Note(&own, stamp)) {
    drop_(&picture);
    return false;
  }
  if (sides_count_ == 1) {
    own.last = stamp;
    ++pairs_;
    (*pair)[0] = std::move(picture);
    return true;
  }
  Side& other = sides_[1 - side];
  const auto is_nearer = [stamp](const Picture& a, const Picture& b) {
    return std::abs(a.stamp_ns - stamp) < std::abs(b.stamp_ns - stamp);
  };
  const auto partner = std::min_element(other.waiting.begin(), other.waiting.end(), is_nearer);
  if (partner == other.waiting.end() || std::abs(partner->stamp_ns - stamp) > Tolerance()) {
    if (partner != other.waiting.end()) apart_ns_ = std::abs(partner->stamp_ns - stamp);
    Wait(&own, std::move(picture));
    return false;
  }
  apart_ns_ = 0;
  own.last = stamp;
  other.last = partner->stamp_ns;
  (*pair)[side] = std::move(picture);
  (*pair)[1 - side] = std::move(*partner);
  const auto next = other.waiting.erase(partner);
  Drop(&other, next);
  Drop(&own, std::lower_bound(own.waiting.begin(), own.waiting.end(), stamp, IsBefore));
  ++pairs_;
  return true;
}

PairCounts Pairs::counts() const {
  return {pairs_, {sides_[0].alone, sides_[1].alone}, late_, repeated_, restarts_, apart_ns_};
}

}  // namespace glint::ros2
