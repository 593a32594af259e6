// The quadtree of one level (features/reference/quadtree.h has the rules), by a block of threads, from its corners
// sorted by bin (plan/quadtree_params.h).
//
// A node is a range of the corners. Splitting one takes the beginnings of its quadrants: bins know them; below the bins
// a warp sorts the node's corners by quadrant. Where nodes are split one after another, all are tried, in that order:
// those stay split before which there were not enough nodes, a number that only grows.
//
// `Block` is what a block of threads has, so that a test can run this as one thread on a host:
//   kThreads, kLanes, kGroup  of the block, of a warp, of a part of it that looks for a maximum
//   thread(), warp(), lane(), group(), group_lane()
//   Sync(), SyncWarp()        waits for the other threads of the block, of the warp
//   Ballot(b), LanesBelow(m)  the warp's lanes with b; how many of those lanes are below this one
//   GroupMax(v)               over the group
//   SumBefore(v, &total)      of the threads before this one, and of all; Sync() included
#ifndef GLINT_CUDA_SELECT_QUADTREE_ROUNDS_H_
#define GLINT_CUDA_SELECT_QUADTREE_ROUNDS_H_

#include <cstdint>

#include "cuda/plan/quadtree_params.h"

// Device code, but for a compiler that has none: that of the test.
#ifdef __CUDACC__
#define GLINT_BLOCK_FUNCTION __device__ __forceinline__
#define GLINT_UNROLL _Pragma("unroll")
#else
#define GLINT_BLOCK_FUNCTION inline
#define GLINT_UNROLL
#endif

namespace glint::cuda {

// What splits have made so far, written by one thread.
struct QuadtreeProgress {
  uint32_t split;    // nodes that were split
  uint32_t several;  // children with several corners
  uint32_t single;   // children with one
};

// The bin of a position, from the corner of the divided rectangle.
GLINT_HD inline uint32_t QuadtreeBinOf(const QuadtreeLevel& tree, int x, int y) {
  const int root = tree.roots.Of(x);
  int left = tree.roots.Edge(root), right = tree.roots.Edge(root + 1), top = 0, bottom = tree.down.size;
  auto bin = static_cast<uint32_t>(root);
  for (int d = 0; d < tree.depth; ++d) {
    const int middle_x = left + QuadtreeHalf(right - left);
    const int middle_y = top + QuadtreeHalf(bottom - top);
    const bool is_right = x >= middle_x;
    const bool is_lower = y >= middle_y;
    bin = 4 * bin + (is_lower ? 2 : 0) + (is_right ? 1 : 0);
    left = is_right ? middle_x : left;
    right = is_right ? right : middle_x;
    top = is_lower ? middle_y : top;
    bottom = is_lower ? bottom : middle_y;
  }
  return bin;
}

// All methods are called by all threads of the block together.
template <typename Block>
class QuadtreeRounds {
 public:
  // `begin`: of each bin, and after the last. `spare`: room for as many as `corners`. `progress`: shared.
  GLINT_BLOCK_FUNCTION QuadtreeRounds(const Block& block, const QuadtreeLevel& tree, const uint32_t* begin,
                                      QuadtreeCorner* corners, QuadtreeCorner* spare, const QuadtreeNodes& nodes,
                                      QuadtreeProgress* progress)
      : block_(block),
        tree_(tree),
        begin_(begin),
        corners_(corners),
        spare_(spare),
        nodes_(nodes),
        progress_(progress),
        open_nodes_(nodes.open[0]),
        tried_nodes_(nodes.open[1]) {}

  // Calls keep(i, corner) for the i-th corner that is kept, by one thread each. Returns how many are.
  template <typename Keep>
  GLINT_BLOCK_FUNCTION uint32_t Run(const Keep& keep) {
    const auto share = static_cast<uint32_t>(tree_.share);
    MakeRoots(keep);
    bool one_by_one = false;
    while (true) {
      const uint32_t before = kept_ + open_;
      FindQuadrants();
      if (one_by_one) Sort();
      const uint32_t first_left = Split(one_by_one, before, keep);
      const uint32_t count = kept_ + open_ + (tried_ - first_left);
      if (count >= share || count == before) {
        KeepBest(one_by_one, first_left, keep);
        return count;
      }
      one_by_one = one_by_one || count + 3 * open_ > share;
    }
  }

 private:
  // Adds a node to those with several corners, or keeps its only corner.
  template <typename Keep>
  GLINT_BLOCK_FUNCTION void Add(const QuadtreeNode& node, uint32_t* several, uint32_t* single, const Keep& keep) const {
    if (node.count > 1) open_nodes_[(*several)++] = node;
    if (node.count == 1) keep(kept_ + (*single)++, corners_[node.first]);
  }

  GLINT_BLOCK_FUNCTION static uint32_t Counted(uint32_t count) { return count > 1 ? 1 : count == 1 ? 1 << 16 : 0; }

  template <typename Keep>
  GLINT_BLOCK_FUNCTION void MakeRoots(const Keep& keep) {
    uint32_t several = 0, single = 0;
    const auto roots = static_cast<uint32_t>(tree_.roots.count);
    for (uint32_t first = 0; first < roots; first += Block::kThreads) {
      const uint32_t i = first + block_.thread();
      QuadtreeNode node{};
      if (i < roots) {
        node.first = begin_[i << 2 * tree_.depth];
        node.count = begin_[(i + 1) << 2 * tree_.depth] - node.first;
        node.left = static_cast<uint16_t>(tree_.roots.Edge(static_cast<int>(i)));
        node.right = static_cast<uint16_t>(tree_.roots.Edge(static_cast<int>(i) + 1));
        node.bottom = static_cast<uint16_t>(tree_.down.size);
        node.bin = static_cast<uint16_t>(i << 2 * tree_.depth);
        node.below = static_cast<uint16_t>(tree_.depth);
      }
      uint32_t total;
      const uint32_t sums = block_.SumBefore(Counted(node.count), &total);
      uint32_t to = several + (sums & 0xffff), kept = single + (sums >> 16);
      Add(node, &to, &kept, keep);
      several += total & 0xffff;
      single += total >> 16;
    }
    open_ = several;
    kept_ = single;
    block_.Sync();
  }

  // Of all open nodes.
  GLINT_BLOCK_FUNCTION void FindQuadrants() {
    for (uint32_t i = block_.thread(); i < open_; i += Block::kThreads) {
      const QuadtreeNode& node = open_nodes_[i];
      if (node.below == 0) continue;
      const uint32_t bins = 1u << 2 * (node.below - 1);
      for (uint32_t q = 0; q < 3; ++q) nodes_.quadrants[i].begin[q] = begin_[node.bin + (q + 1) * bins];
    }
    constexpr uint32_t kWarps = Block::kThreads / Block::kLanes;
    for (uint32_t i = block_.warp(); i < open_; i += kWarps) {
      if (open_nodes_[i].below == 0) SortByQuadrant(open_nodes_[i], &nodes_.quadrants[i]);
    }
    block_.Sync();
  }

  // By a warp.
  GLINT_BLOCK_FUNCTION void SortByQuadrant(const QuadtreeNode& node, QuadtreeQuadrants* quadrants) {
    const int middle_x = node.left + QuadtreeHalf(node.right - node.left);
    const int middle_y = node.top + QuadtreeHalf(node.bottom - node.top);
    QuadtreeCorner* const corners = corners_ + node.first;
    QuadtreeCorner* const spare = spare_ + node.first;
    // Calls use(q, exists, i) for every corner; `q`: its quadrant.
    const auto for_each = [&](const auto& use) {
      for (uint32_t first = 0; first < node.count; first += Block::kLanes) {
        const uint32_t i = first + block_.lane();
        const bool exists = i < node.count;
        const uint32_t place = corners[exists ? i : 0].place;
        const uint32_t right = PlaceX(place, tree_.across.cell) >= middle_x ? 1 : 0;
        const uint32_t lower = PlaceY(place, tree_.down.cell) >= middle_y ? 2 : 0;
        use(right + lower, exists, i);
      }
    };
    uint32_t count[4] = {};
    for_each([&](uint32_t q, bool exists, uint32_t) {
      GLINT_UNROLL
      for (uint32_t k = 0; k < 4; ++k) count[k] += Ones(block_.Ballot(exists && q == k));
    });
    uint32_t to[4] = {0, count[0], count[0] + count[1], count[0] + count[1] + count[2]};
    if (block_.lane() == 0) *quadrants = {{node.first + to[1], node.first + to[2], node.first + to[3]}};
    for_each([&](uint32_t q, bool exists, uint32_t i) {
      GLINT_UNROLL
      for (uint32_t k = 0; k < 4; ++k) {
        const uint32_t lanes = block_.Ballot(exists && q == k);
        if (exists && q == k) spare[to[k] + block_.LanesBelow(lanes)] = corners[i];
        to[k] += Ones(lanes);
      }
    });
    block_.SyncWarp();
    for (uint32_t i = block_.lane(); i < node.count; i += Block::kLanes) corners[i] = spare[i];
    block_.SyncWarp();
  }

  GLINT_BLOCK_FUNCTION static uint32_t Ones(uint32_t bits) {
#ifdef __CUDA_ARCH__
    return static_cast<uint32_t>(__popc(bits));
#else
    uint32_t n = 0;
    for (; bits != 0; bits &= bits - 1) ++n;
    return n;
#endif
  }

  GLINT_BLOCK_FUNCTION static bool Precedes(const QuadtreeOrder& a, const QuadtreeOrder& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.index > b.index;
  }

  // Of open nodes: bitonic.
  GLINT_BLOCK_FUNCTION void Sort() {
    const auto size = static_cast<uint32_t>(PowerOfTwoFrom(static_cast<int>(open_)));
    QuadtreeOrder* const order = nodes_.order;
    for (uint32_t i = block_.thread(); i < size; i += Block::kThreads) {
      uint64_t rank = 0;  // padding comes last
      if (i < open_) {
        const QuadtreeNode& node = open_nodes_[i];
        rank = static_cast<uint64_t>(node.count) << 28 | static_cast<uint64_t>(node.left) << 14 | node.top;
      }
      order[i] = {rank, i};
    }
    block_.Sync();
    for (uint32_t k = 2; k <= size; k *= 2) {
      for (uint32_t j = k / 2; j > 0; j /= 2) {
        for (uint32_t t = block_.thread(); t < size / 2; t += Block::kThreads) {
          const uint32_t i = 2 * t - (t & (j - 1));
          const QuadtreeOrder a = order[i];
          const QuadtreeOrder b = order[i + j];
          if (Precedes(b, a) != ((i & k) == 0)) continue;
          order[i] = b;
          order[i + j] = a;
        }
        // A warp has the same elements as before where pairs are so close.
        const uint32_t next = j > 1 ? j / 2 : k;
        if (j <= Block::kLanes && next <= Block::kLanes) {
          block_.SyncWarp();
        } else {
          block_.Sync();
        }
      }
    }
    block_.Sync();
  }

  // Splits open nodes, with `before` nodes in all; returns how many. Then the open ones are those made, and tried_
  // those that were open.
  template <typename Keep>
  GLINT_BLOCK_FUNCTION uint32_t Split(bool one_by_one, uint32_t before, const Keep& keep) {
    const auto share = static_cast<uint32_t>(tree_.share);
    QuadtreeNode* const from = open_nodes_;
    open_nodes_ = tried_nodes_;
    tried_nodes_ = from;
    tried_ = open_;
    if (block_.thread() == 0) *progress_ = {};
    block_.Sync();
    uint32_t several = 0, single = 0;
    for (uint32_t first = 0; first < tried_; first += Block::kThreads) {
      const uint32_t i = first + block_.thread();
      const bool exists = i < tried_;
      const uint32_t index = one_by_one && exists ? nodes_.order[i].index : i;
      QuadtreeNode child[4] = {};
      uint32_t own = 0;
      if (exists) {
        Divide(from[index], nodes_.quadrants[index], child);
        GLINT_UNROLL
        for (int q = 0; q < 4; ++q) own += Counted(child[q].count);
      }
      uint32_t total;
      const uint32_t sums = block_.SumBefore(own, &total);
      uint32_t to = several + (sums & 0xffff), kept = single + (sums >> 16);
      several += total & 0xffff;
      single += total >> 16;
      const uint32_t count = before + to + kept - i;  // when it is this node's turn
      if (!exists || (one_by_one && count >= share)) continue;
      GLINT_UNROLL
      for (int q = 0; q < 4; ++q) Add(child[q], &to, &kept, keep);
      if (i + 1 == tried_ || (one_by_one && before + to + kept - (i + 1) >= share)) *progress_ = {i + 1, to, kept};
    }
    block_.Sync();
    const QuadtreeProgress made = *progress_;
    open_ = made.several;
    kept_ += made.single;
    return made.split;
  }

  GLINT_BLOCK_FUNCTION static void Divide(const QuadtreeNode& node, const QuadtreeQuadrants& quadrants,
                                          QuadtreeNode (&child)[4]) {
    const int x = node.left + QuadtreeHalf(node.right - node.left);
    const int y = node.top + QuadtreeHalf(node.bottom - node.top);
    const uint32_t below = node.below > 0 ? node.below - 1 : 0;
    const uint32_t bins = node.below > 0 ? 1u << 2 * below : 0;
    GLINT_UNROLL
    for (uint32_t q = 0; q < 4; ++q) {
      const uint32_t begin = q == 0 ? node.first : quadrants.begin[q - 1];
      const uint32_t end = q == 3 ? node.first + node.count : quadrants.begin[q];
      QuadtreeNode& c = child[q];
      c.first = begin;
      c.count = end - begin;
      c.left = static_cast<uint16_t>(q % 2 == 0 ? node.left : x);
      c.right = static_cast<uint16_t>(q % 2 == 0 ? x : node.right);
      c.top = static_cast<uint16_t>(q < 2 ? node.top : y);
      c.bottom = static_cast<uint16_t>(q < 2 ? y : node.bottom);
      c.bin = static_cast<uint16_t>(node.bin + q * bins);
      c.below = static_cast<uint16_t>(below);
    }
  }

  // The best corner of each node that is left: those made last, and those of the order from `first_left` on.
  template <typename Keep>
  GLINT_BLOCK_FUNCTION void KeepBest(bool one_by_one, uint32_t first_left, const Keep& keep) const {
    constexpr uint32_t kGroups = Block::kThreads / Block::kGroup;
    const uint32_t count = open_ + (tried_ - first_left);
    // All lanes of a warp go on until its last group is done.
    for (uint32_t first = 0; first < count; first += kGroups) {
      const uint32_t i = first + block_.group();
      uint64_t best = 0;
      if (i < count) {
        const uint32_t left = i - open_ + first_left;
        const QuadtreeNode& node =
            i < open_ ? open_nodes_[i] : tried_nodes_[one_by_one ? nodes_.order[left].index : left];
        for (uint32_t k = block_.group_lane(); k < node.count; k += Block::kGroup) {
          const QuadtreeCorner c = corners_[node.first + k];
          const uint64_t precedence = static_cast<uint64_t>(c.score_and_bin & 0xff) << 32 | (~c.place & 0xffffffffu);
          best = precedence > best ? precedence : best;
        }
      }
      best = block_.GroupMax(best);
      if (i < count && block_.group_lane() == 0) {
        keep(kept_ + i, QuadtreeCorner{~static_cast<uint32_t>(best), static_cast<uint32_t>(best >> 32)});
      }
    }
  }

  const Block& block_;
  const QuadtreeLevel& tree_;
  const uint32_t* const begin_;
  QuadtreeCorner* const corners_;
  QuadtreeCorner* const spare_;
  const QuadtreeNodes nodes_;
  QuadtreeProgress* const progress_;
  QuadtreeNode* open_nodes_;   // with several corners
  QuadtreeNode* tried_nodes_;  // those before the last splits
  uint32_t open_ = 0;
  uint32_t tried_ = 0;
  uint32_t kept_ = 0;  // corners
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_QUADTREE_ROUNDS_H_
