#include "features/reference/quadtree.h"

#include <algorithm>
#include <list>
#include <tuple>
#include <utility>

#include "features/quadtree.h"
#include "features/reference/fast.h"

namespace glint::reference {
namespace {

constexpr int kArc = 9;

// A rectangle with the corners in it, positions from the corner of the divided rectangle.
struct Node {
  int left = 0;
  int top = 0;
  int right = 0;
  int bottom = 0;
  int number = 0;  // nodes made later have greater ones
  std::vector<Corner> corners;
};

class Quadtree {
 public:
  Quadtree(const std::vector<Corner>& corners, Shape level, int share) : share_(static_cast<size_t>(share)) {
    const int width = DivideQuadtreeAxis(level.width).size;
    const int height = DivideQuadtreeAxis(level.height).size;
    const QuadtreeRoots roots = MakeQuadtreeRoots(width, height);
    std::vector<Node> nodes(static_cast<size_t>(roots.count));
    for (int i = 0; i < roots.count; ++i) nodes[i] = {roots.Edge(i), 0, roots.Edge(i + 1), height, 0, {}};
    for (const Corner& c : corners) nodes[roots.Of(c.x - kQuadtreeBorder)].corners.push_back(c);
    for (Node& node : nodes) Add(std::move(node));
  }

  void Grow() {
    bool one_by_one = false;
    while (true) {
      const size_t before = nodes_.size();
      std::vector<NodeAt> several = std::exchange(several_, {});
      if (one_by_one) std::sort(several.begin(), several.end(), Precedes);
      for (const NodeAt node : several) {
        Split(node);
        if (one_by_one && nodes_.size() >= share_) break;
      }
      if (nodes_.size() >= share_ || nodes_.size() == before) return;
      one_by_one = one_by_one || nodes_.size() + 3 * several_.size() > share_;
    }
  }

  // The best of each node.
  std::vector<Corner> Best() const {
    std::vector<Corner> best;
    for (const Node& node : nodes_) {
      best.push_back(*std::max_element(node.corners.begin(), node.corners.end(),
                                       [](const Corner& a, const Corner& b) { return a.response < b.response; }));
    }
    return best;
  }

 private:
  using NodeAt = std::list<Node>::iterator;

  static bool Precedes(NodeAt a, NodeAt b) {
    const auto rank = [](const Node& n) { return std::make_tuple(n.corners.size(), n.left, n.top, n.number); };
    return rank(*a) > rank(*b);
  }

  void Add(Node node) {
    if (node.corners.empty()) return;
    node.number = ++made_;
    nodes_.push_front(std::move(node));
    if (nodes_.front().corners.size() > 1) several_.push_back(nodes_.begin());
  }

  void Split(NodeAt at) {
    const Node node = std::move(*at);
    nodes_.erase(at);
    const int x = node.left + QuadtreeHalf(node.right - node.left);
    const int y = node.top + QuadtreeHalf(node.bottom - node.top);
    Node upper_left = {node.left, node.top, x, y, 0, {}};
    Node upper_right = {x, node.top, node.right, y, 0, {}};
    Node lower_left = {node.left, y, x, node.bottom, 0, {}};
    Node lower_right = {x, y, node.right, node.bottom, 0, {}};
    for (const Corner& c : node.corners) {
      const bool is_left = c.x - kQuadtreeBorder < x;
      const bool is_upper = c.y - kQuadtreeBorder < y;
      Node& child = is_upper ? (is_left ? upper_left : upper_right) : (is_left ? lower_left : lower_right);
      child.corners.push_back(c);
    }
    for (Node* child : {&upper_left, &upper_right, &lower_left, &lower_right}) Add(std::move(*child));
  }

  const size_t share_;
  int made_ = 0;
  std::list<Node> nodes_;
  std::vector<NodeAt> several_;  // nodes with several corners that are still to be split
};

}  // namespace

std::vector<Corner> DetectInCells(const ImageView& level, int ini_threshold, int min_threshold) {
  const QuadtreeAxis across = DivideQuadtreeAxis(level.width);
  const QuadtreeAxis down = DivideQuadtreeAxis(level.height);
  std::vector<Corner> all;
  if (across.cells == 0 || down.cells == 0) return all;
  for (int top = kQuadtreeEdge; top < level.height - kQuadtreeEdge; top += down.cell) {
    for (int left = kQuadtreeEdge; left < level.width - kQuadtreeEdge; left += across.cell) {
      const int width = std::min(across.cell, level.width - kQuadtreeEdge - left);
      const int height = std::min(down.cell, level.height - kQuadtreeEdge - top);
      const ImageView cell = {level.row(top - kFastRadius) + left - kFastRadius, width + 2 * kFastRadius,
                              height + 2 * kFastRadius, level.stride};
      std::vector<Corner> found;
      for (const int threshold : {ini_threshold, min_threshold}) {
        if (found.empty()) found = SuppressNonMaxima(DetectFast(cell, threshold, kArc), cell.shape());
      }
      for (const Corner& c : found) {
        all.push_back({c.x + left - kFastRadius, c.y + top - kFastRadius, c.response});
      }
    }
  }
  return all;
}

std::vector<Corner> Distribute(const std::vector<Corner>& corners, Shape level, int share) {
  if (corners.empty()) return {};
  Quadtree tree(corners, level, share);
  tree.Grow();
  return tree.Best();
}

}  // namespace glint::reference
