#include "cpu/select/quadtree.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "cpu/common/stages.h"
#include "features/limits.h"

namespace glint::cpu {
namespace {

constexpr int kScoreShift = 32;
int KeyX(uint64_t key) { return static_cast<int>(key & 0xffff); }
int KeyY(uint64_t key) { return static_cast<int>(key >> 16 & 0xffff); }

constexpr uint32_t kQuadrants = 4;
constexpr int kMaxRoots = kMaxImageSide / kQuadtreeCell + 1;

}  // namespace

void QuadtreeSelection::Prepare(size_t count, int share) {
  corners_.Reserve(count);
  sorted_.Reserve(count);
  // The first pass splits every root; later ones begin only if they cannot exceed the share, or end when they reach it
  // with a split, which adds 3 nodes at most.
  const size_t most = std::max(size_t{kQuadrants} * kMaxRoots, static_cast<size_t>(share) + 3);
  kept_.Reserve(most);
  open_.Reserve(most);
  made_.Reserve(most);
}

// Of equal scores, the corner comes first that is in an earlier cell, or earlier within the cell; both row by row.
bool QuadtreeSelection::IsBetter(Key a, Key b) const {
  if (a >> kScoreShift != b >> kScoreShift) return a > b;
  const auto place = [this](Key key) {
    const int x = KeyX(key) - kFastRadius;
    const int y = KeyY(key) - kFastRadius;
    return std::make_tuple(y / down_.cell, x / across_.cell, y, x);
  };
  return place(a) < place(b);
}

QuadtreeSelection::Key QuadtreeSelection::BestOf(const Node& node) const {
  Key best = corners_[node.first];
  for (uint32_t i = 1; i < node.count; ++i) {
    const Key key = corners_[node.first + i];
    if (IsBetter(key, best)) best = key;
  }
  return best;
}

void QuadtreeSelection::Add(const Node& node) {
  if (node.count == 0) return;
  if (node.count == 1) {
    kept_[kept_count_++] = corners_[node.first];
  } else {
    made_[made_count_] = node;
    made_[made_count_++].number = numbers_++;
  }
}

void QuadtreeSelection::Split(const Node& node) {
  const int x = node.left + QuadtreeHalf(node.right - node.left);
  const int y = node.top + QuadtreeHalf(node.bottom - node.top);
  Key* const corners = corners_.data() + node.first;
  const auto quadrant = [=](Key key) { return (KeyY(key) < y ? 0 : 2) + (KeyX(key) < x ? 0 : 1); };
  uint32_t counts[kQuadrants] = {};
  for (uint32_t i = 0; i < node.count; ++i) ++counts[quadrant(corners[i])];
  uint32_t starts[kQuadrants];
  for (uint32_t q = 0, sum = 0; q < kQuadrants; sum += counts[q++]) starts[q] = sum;
  uint32_t at[kQuadrants];
  std::copy(starts, starts + kQuadrants, at);
  for (uint32_t i = 0; i < node.count; ++i) sorted_[at[quadrant(corners[i])]++] = corners[i];
  std::memcpy(corners, sorted_.data(), node.count * sizeof(Key));
  const auto add = [&](uint32_t q, int left, int top, int right, int bottom) {
    Add({left, top, right, bottom, node.first + starts[q], counts[q], 0});
  };
  add(0, node.left, node.top, x, y);
  add(1, x, node.top, node.right, y);
  add(2, node.left, y, x, node.bottom);
  add(3, x, y, node.right, node.bottom);
}

void QuadtreeSelection::MakeRoots(Shape level) {
  kept_count_ = 0;
  open_count_ = 0;
  made_count_ = 0;
  numbers_ = 0;
  across_ = DivideQuadtreeAxis(level.width);
  down_ = DivideQuadtreeAxis(level.height);
  const QuadtreeRoots roots = MakeQuadtreeRoots(across_.size, down_.size);
  uint32_t ends[kMaxRoots] = {};
  for (size_t i = 0; i < count_; ++i) ++ends[roots.Of(KeyX(corners_[i]))];
  uint32_t first = 0;
  for (int i = 0; i < roots.count; ++i) first = std::exchange(ends[i], first) + first;
  for (size_t i = 0; i < count_; ++i) sorted_[ends[roots.Of(KeyX(corners_[i]))]++] = corners_[i];
  std::swap(corners_, sorted_);
  first = 0;
  for (int i = 0; i < roots.count; ++i) {
    Add({roots.Edge(i), 0, roots.Edge(i + 1), down_.size, first, ends[i] - first, 0});
    first = ends[i];
  }
}

void QuadtreeSelection::SplitAll() {
  for (size_t i = 0; i < open_count_; ++i) Split(open_[i]);
  open_count_ = 0;
}

void QuadtreeSelection::SplitInOrder(size_t share) {
  std::sort(open_.data(), open_.data() + open_count_, [](const Node& a, const Node& b) {
    return std::tie(a.count, a.left, a.top, a.number) < std::tie(b.count, b.left, b.top, b.number);
  });
  do {
    Split(open_[--open_count_]);
  } while (open_count_ > 0 && nodes() < share);
}

size_t QuadtreeSelection::Keep(Shape level, int share_of_level, uint32_t* where, const uint8_t* score, size_t count,
                               float* response) {
  if (count == 0) return 0;
  const size_t share = static_cast<size_t>(share_of_level);
  Prepare(count, share_of_level);
  count_ = count;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t from_corner = where[i] - PackPoint(kQuadtreeBorder, kQuadtreeBorder);
    corners_[i] = static_cast<Key>(score[i]) << kScoreShift | from_corner;
  }
  MakeRoots(level);
  bool in_order = false;
  while (true) {
    const size_t before = nodes();
    std::swap(open_, made_);
    open_count_ = std::exchange(made_count_, 0);
    if (open_count_ > 0) {
      if (in_order) {
        SplitInOrder(share);
      } else {
        SplitAll();
      }
    }
    if (nodes() >= share || nodes() == before) break;
    in_order = in_order || nodes() + 3 * made_count_ > share;
  }
  for (size_t i = 0; i < open_count_; ++i) kept_[kept_count_++] = BestOf(open_[i]);
  for (size_t i = 0; i < made_count_; ++i) kept_[kept_count_++] = BestOf(made_[i]);
  std::sort(kept_.data(), kept_.data() + kept_count_,
            [](Key a, Key b) { return static_cast<uint32_t>(a) < static_cast<uint32_t>(b); });
  for (size_t i = 0; i < kept_count_; ++i) {
    where[i] = static_cast<uint32_t>(kept_[i]) + PackPoint(kQuadtreeBorder, kQuadtreeBorder);
    response[i] = static_cast<float>(kept_[i] >> kScoreShift);
  }
  return kept_count_;
}

}  // namespace glint::cpu
