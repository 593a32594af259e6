#include "client/cli/output/compare_metrics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace glint::cli {
namespace {

constexpr size_t kNone = std::numeric_limits<size_t>::max();

bool Inside(Place p, Shape shape) { return p.x >= 0 && p.y >= 0 && p.x <= shape.width - 1 && p.y <= shape.height - 1; }

// Points of one image, searched by distance: a grid whose cells are as wide as the tolerance.
class PlaceGrid {
 public:
  PlaceGrid(const std::vector<Place>& places, Shape shape, double tolerance)
      : places_(places),
        cell_(std::max(tolerance, 1.0)),
        across_(static_cast<int>(shape.width / cell_) + 3),
        down_(static_cast<int>(shape.height / cell_) + 3),
        cells_(static_cast<size_t>(across_) * static_cast<size_t>(down_)) {
    for (size_t i = 0; i < places.size(); ++i) cells_[CellOf(Column(places[i].x), Row(places[i].y))].push_back(i);
  }

  // Calls visit(index, square of the distance) for every point within the tolerance.
  template <typename Visit>
  void ForEachNear(Place p, double tolerance, Visit visit) const {
    for (int row = Row(p.y) - 1; row <= Row(p.y) + 1; ++row) {
      for (int column = Column(p.x) - 1; column <= Column(p.x) + 1; ++column) {
        if (row < 0 || column < 0 || row >= down_ || column >= across_) continue;
        for (const size_t i : cells_[CellOf(column, row)]) {
          const double dx = places_[i].x - p.x;
          const double dy = places_[i].y - p.y;
          const double distance = dx * dx + dy * dy;
          if (distance <= tolerance * tolerance) visit(i, distance);
        }
      }
    }
  }

 private:
  int Column(double x) const { return static_cast<int>(std::floor(x / cell_)) + 1; }
  int Row(double y) const { return static_cast<int>(std::floor(y / cell_)) + 1; }
  size_t CellOf(int column, int row) const {
    return static_cast<size_t>(std::clamp(row, 0, down_ - 1)) * static_cast<size_t>(across_) +
           static_cast<size_t>(std::clamp(column, 0, across_ - 1));
  }

  const std::vector<Place>& places_;
  const double cell_;
  const int across_;
  const int down_;
  std::vector<std::vector<size_t>> cells_;
};

// The number of pairs within the tolerance, matched nearest first, each point in one pair at most.
size_t CountPairs(const std::vector<Place>& first, const std::vector<Place>& second, Shape shape, double tolerance) {
  struct Pair {
    double distance;
    size_t first;
    size_t second;
  };
  std::vector<Pair> pairs;
  const PlaceGrid of_second(second, shape, tolerance);
  for (size_t i = 0; i < first.size(); ++i) {
    of_second.ForEachNear(first[i], tolerance, [&](size_t j, double distance) { pairs.push_back({distance, i, j}); });
  }
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return std::tie(a.distance, a.first, a.second) < std::tie(b.distance, b.first, b.second);
  });
  std::vector<bool> first_taken(first.size());
  std::vector<bool> second_taken(second.size());
  size_t count = 0;
  for (const Pair& pair : pairs) {
    if (first_taken[pair.first] || second_taken[pair.second]) continue;
    first_taken[pair.first] = second_taken[pair.second] = true;
    ++count;
  }
  return count;
}

int Hamming(const uint8_t* a, const uint8_t* b, int bytes) {
  int distance = 0;
  for (int i = 0; i < bytes; i += 8) {
    uint64_t x = 0;
    uint64_t y = 0;
    const size_t n = static_cast<size_t>(std::min(8, bytes - i));
    std::memcpy(&x, a + i, n);
    std::memcpy(&y, b + i, n);
    distance += __builtin_popcountll(x ^ y);
  }
  return distance;
}

// The keypoints that the other image shows, which is where `to_other` puts them.
std::vector<size_t> Seen(const Features& features, const Homography& to_other, Shape other) {
  std::vector<size_t> seen;
  for (size_t i = 0; i < features.count(); ++i) {
    if (Inside(Apply(to_other, features.x[i], features.y[i]), other)) seen.push_back(i);
  }
  return seen;
}

Features Subset(const Features& features, const std::vector<size_t>& indices) {
  Features out;
  out.Resize(indices.size(), features.descriptor_bytes);
  const size_t bytes = static_cast<size_t>(features.descriptor_bytes);
  for (size_t i = 0; i < indices.size(); ++i) {
    const size_t from = indices[i];
    out.x[i] = features.x[from];
    out.y[i] = features.y[from];
    out.size[i] = features.size[from];
    out.angle[i] = features.angle[from];
    out.response[i] = features.response[from];
    out.octave[i] = features.octave[from];
    std::copy_n(features.descriptors.begin() + static_cast<ptrdiff_t>(from * bytes), bytes,
                out.descriptors.begin() + static_cast<ptrdiff_t>(i * bytes));
  }
  return out;
}

}  // namespace

Place Apply(const Homography& h, double x, double y) {
  const double w = h[6] * x + h[7] * y + h[8];
  // Points of the horizon lie nowhere.
  if (w == 0) return {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  return {(h[0] * x + h[1] * y + h[2]) / w, (h[3] * x + h[4] * y + h[5]) / w};
}

Homography Inverse(const Homography& h) {
  const Homography adjugate = {h[4] * h[8] - h[5] * h[7], h[2] * h[7] - h[1] * h[8], h[1] * h[5] - h[2] * h[4],
                               h[5] * h[6] - h[3] * h[8], h[0] * h[8] - h[2] * h[6], h[2] * h[3] - h[0] * h[5],
                               h[3] * h[7] - h[4] * h[6], h[1] * h[6] - h[0] * h[7], h[0] * h[4] - h[1] * h[3]};
  const double determinant = h[0] * adjugate[0] + h[1] * adjugate[3] + h[2] * adjugate[6];
  if (determinant == 0) return {};
  Homography inverse;
  std::transform(adjugate.begin(), adjugate.end(), inverse.begin(), [&](double v) { return v / determinant; });
  return inverse;
}

std::vector<std::pair<size_t, size_t>> MutualMatches(const Features& first, const Features& second) {
  std::vector<std::pair<size_t, size_t>> matches;
  if (first.descriptor_bytes == 0 || first.descriptor_bytes != second.descriptor_bytes) return matches;
  const int bytes = first.descriptor_bytes;
  const auto row = [bytes](const Features& f, size_t i) {
    return f.descriptors.data() + i * static_cast<size_t>(bytes);
  };
  std::vector<size_t> best_of_first(first.count(), kNone);
  std::vector<size_t> best_of_second(second.count(), kNone);
  std::vector<int> least_of_second(second.count(), std::numeric_limits<int>::max());
  for (size_t i = 0; i < first.count(); ++i) {
    int least = std::numeric_limits<int>::max();
    for (size_t j = 0; j < second.count(); ++j) {
      const int distance = Hamming(row(first, i), row(second, j), bytes);
      if (distance < least) {
        least = distance;
        best_of_first[i] = j;
      }
      if (distance < least_of_second[j]) {
        least_of_second[j] = distance;
        best_of_second[j] = i;
      }
    }
  }
  for (size_t i = 0; i < first.count(); ++i) {
    if (best_of_first[i] != kNone && best_of_second[best_of_first[i]] == i) matches.emplace_back(i, best_of_first[i]);
  }
  return matches;
}

Agreement Compare(const Features& all_first, Shape first_shape, const Features& all_second, Shape second_shape,
                  const Homography& homography, double tolerance) {
  const Features first = Subset(all_first, Seen(all_first, homography, second_shape));
  const Features second = Subset(all_second, Seen(all_second, Inverse(homography), first_shape));
  Agreement agreement;
  agreement.first = first.count();
  agreement.second = second.count();

  std::vector<Place> projected;
  std::vector<Place> found;
  for (size_t i = 0; i < first.count(); ++i) projected.push_back(Apply(homography, first.x[i], first.y[i]));
  for (size_t i = 0; i < second.count(); ++i) found.push_back({second.x[i], second.y[i]});
  agreement.repeated = CountPairs(projected, found, second_shape, tolerance);
  for (const auto& [i, j] : MutualMatches(first, second)) {
    ++agreement.matched;
    if (std::hypot(projected[i].x - found[j].x, projected[i].y - found[j].y) <= tolerance) ++agreement.correct;
  }
  return agreement;
}

Features Strongest(const Features& features, size_t n) {
  std::vector<size_t> order(features.count());
  std::iota(order.begin(), order.end(), size_t{0});
  if (n < order.size()) {
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return features.response[a] > features.response[b]; });
    order.resize(n);
    std::sort(order.begin(), order.end());
  }
  return Subset(features, order);
}

}  // namespace glint::cli
