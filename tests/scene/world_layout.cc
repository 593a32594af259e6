#include "tests/scene/world_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>

#include "tests/scene/random.h"

namespace glint::scene {
namespace {

constexpr Vec3 kDown = {0, 1, 0};

// Positions of the path, no two neighbours closer than `spacing`.
std::vector<Vec3> Resample(const Path& path, double spacing) {
  std::vector<Vec3> points = {path.front().pose.position};
  for (const TimedPose& p : path) {
    const Vec3 step = p.pose.position - points.back();
    if (Dot(step, step) >= spacing * spacing) points.push_back(p.pose.position);
  }
  return points;
}

// A box that stands upright: its middle, its horizontal axes and half sizes along them, what is above and below.
struct Box {
  Vec3 middle;  // y is 0
  Vec3 along;
  double half_along, half_across;
  double top, bottom;  // y, top < bottom

  Vec3 across() const { return {-along.z, 0, along.x}; }
  double radius() const { return std::sqrt(half_along * half_along + half_across * half_across); }
  Vec3 Corner(int i) const {
    return middle + (i % 2 == 0 ? half_along : -half_along) * along +
           (i / 2 == 0 ? half_across : -half_across) * across();
  }
};

// Whether a line along `axis` separates the two, seen from above.
bool Separates(Vec3 axis, const Box& a, const Box& b) {
  const double distance = std::fabs(Dot(axis, b.middle - a.middle));
  double reach = 0;
  for (const Box* box : {&a, &b}) {
    reach +=
        box->half_along * std::fabs(Dot(axis, box->along)) + box->half_across * std::fabs(Dot(axis, box->across()));
  }
  return distance > reach;
}

bool Overlap(const Box& a, const Box& b) {
  return !Separates(a.along, a, b) && !Separates(a.across(), a, b) && !Separates(b.along, a, b) &&
         !Separates(b.across(), a, b);
}

class Builder {
 public:
  explicit Builder(uint32_t seed) : random_(seed), next_seed_(Hash(seed)) {}

  Random& random() { return random_; }

  bool IsFree(const Box& box) const {
    return std::none_of(boxes_.begin(), boxes_.end(), [&](const Box& other) { return Overlap(box, other); });
  }

  void AddBoard(Vec3 centre, Vec3 u, Vec3 v, double half_width, double half_height, Surface surface, int side,
                double texels_per_metre) {
    SurfacedBoard added{{centre, u, v, half_width, half_height}, surface, side, ++next_seed_};
    const int palest = surface == Surface::kGround ? 245 : 190;
    for (uint8_t& channel : added.board.colour) channel = static_cast<uint8_t>(random_.Between(palest, 255));
    added.board.texels_per_metre = texels_per_metre;
    boards_.push_back(added);
  }

  // Four walls and what covers it.
  void AddBox(const Box& box, Surface surface, int side, double texels_per_metre) {
    boxes_.push_back(box);
    const double half_height = (box.bottom - box.top) / 2;
    Vec3 centre = box.middle;
    centre.y = box.top + half_height;
    const Vec3 across = box.across();
    for (const double sign : {-1.0, 1.0}) {
      AddBoard(centre + sign * box.half_across * across, box.along, kDown, box.half_along, half_height, surface, side,
               texels_per_metre);
      AddBoard(centre + sign * box.half_along * box.along, across, kDown, box.half_across, half_height, surface, side,
               texels_per_metre);
      AddBoard(centre + sign * half_height * kDown, box.along, across, box.half_along, box.half_across, surface, side,
               texels_per_metre);
    }
  }

  std::vector<SurfacedBoard> Take() { return std::move(boards_); }

 private:
  Random random_;
  uint32_t next_seed_;
  std::vector<Box> boxes_;
  std::vector<SurfacedBoard> boards_;
};

// The points of a drive and of the street on from its end, found by where they are on the map.
class Drive {
 public:
  explicit Drive(const Path& path) : points_(Resample(path, kSpacing)) {
    // A street does not end where a recording does.
    const Vec3 end = points_.back(), ahead = Direction(points_.size() - 1);
    for (double beyond = kSpacing; beyond < kBeyond; beyond += kSpacing) points_.push_back(end + beyond * ahead);
    for (size_t i = 0; i < points_.size(); ++i) cells_[CellOf(points_[i].x, points_[i].z)].push_back(i);
  }

  const std::vector<Vec3>& points() const { return points_; }

  // Where the drive leads at point i, level; of length 1.
  Vec3 Direction(size_t i) const {
    const size_t reach = 6;
    const Vec3 from = points_[i < reach ? 0 : i - reach], to = points_[std::min(points_.size() - 1, i + reach)];
    const Vec3 step = {to.x - from.x, 0, to.z - from.z};
    const double length = std::sqrt(Dot(step, step));
    return length > 0 ? 1 / length * step : Vec3{0, 0, 1};
  }

  // The level distance from the drive; infinite beyond a cell.
  double Distance(double x, double z) const {
    double nearest = std::numeric_limits<double>::infinity();
    ForEachNear(x, z, [&](double squared, double) { nearest = std::min(nearest, squared); });
    return std::sqrt(nearest);
  }

  // The ground: what the camera's height is there, by the points around, less its height above it.
  double Ground(double x, double z) const {
    double sum = 0, weights = 0;
    ForEachNear(x, z, [&](double squared, double y) {
      const double weight = 1 / ((squared + 4) * (squared + 4));
      sum += weight * y;
      weights += weight;
    });
    return sum / weights + kCameraHeight;
  }

 private:
  static constexpr double kSpacing = 0.7;
  static constexpr double kBeyond = 40;
  static constexpr double kCell = 20;
  static constexpr double kCameraHeight = 1.65;

  static std::pair<int, int> CellOf(double x, double z) {
    return {static_cast<int>(std::floor(x / kCell)), static_cast<int>(std::floor(z / kCell))};
  }

  template <typename F>
  void ForEachNear(double x, double z, F f) const {
    const auto [column, row] = CellOf(x, z);
    for (int i = column - 1; i <= column + 1; ++i) {
      for (int j = row - 1; j <= row + 1; ++j) {
        const auto cell = cells_.find({i, j});
        if (cell == cells_.end()) continue;
        for (const size_t p : cell->second) {
          const double dx = points_[p].x - x, dz = points_[p].z - z;
          f(dx * dx + dz * dz, points_[p].y);
        }
      }
    }
  }

  std::vector<Vec3> points_;
  std::map<std::pair<int, int>, std::vector<size_t>> cells_;
};

// Whether the box, seen from above, stays that far from the drive.
bool IsOffTheDrive(const Box& box, const Drive& drive, double clearance) {
  for (int i = -4; i <= 4; ++i) {
    for (int j = -4; j <= 4; ++j) {
      const Vec3 p = box.middle + i / 4.0 * box.half_along * box.along + j / 4.0 * box.half_across * box.across();
      if (drive.Distance(p.x, p.z) < clearance) return false;
    }
  }
  return true;
}

// Tiles of 4 m that follow the height of the drive; they overlap a little.
void LayGround(const Drive& drive, Builder* builder) {
  constexpr double kTile = 4, kReach = 16;
  std::map<std::pair<int, int>, bool> tiles;
  for (const Vec3& p : drive.points()) {
    const int reach = static_cast<int>(kReach / kTile);
    const int column = static_cast<int>(std::floor(p.x / kTile)), row = static_cast<int>(std::floor(p.z / kTile));
    for (int i = column - reach; i <= column + reach; ++i) {
      for (int j = row - reach; j <= row + reach; ++j) tiles[{i, j}] = true;
    }
  }
  for (const auto& [tile, unused] : tiles) {
    const double x = (tile.first + 0.5) * kTile, z = (tile.second + 0.5) * kTile;
    const double y = drive.Ground(x, z);
    Vec3 u = {kTile, drive.Ground(x + kTile / 2, z) - drive.Ground(x - kTile / 2, z), 0};
    u = 1 / std::sqrt(Dot(u, u)) * u;
    Vec3 v = {0, drive.Ground(x, z + kTile / 2) - drive.Ground(x, z - kTile / 2), kTile};
    v = v - Dot(u, v) * u;
    v = 1 / std::sqrt(Dot(v, v)) * v;
    builder->AddBoard({x, y, z}, u, v, 0.54 * kTile, 0.54 * kTile, Surface::kGround, 256, 58);
  }
}

// What may stand beside a drive, metres.
struct Kind {
  double near, far;  // from the drive to its front
  double least_width, most_width;
  double least_height, most_height;
  double least_depth, most_depth;
  double least_gap, most_gap;
  double clearance;  // from any part of the drive
  Surface surface;
  int side;
  double texels_per_metre;
};

constexpr Kind kHouses = {6.5, 9.5, 5, 7.8, 4.5, 7.8, 5, 8, 0.5, 4, 4.5, Surface::kFacade, 512, 64};
constexpr Kind kThings = {3.2, 5, 0.5, 2.2, 0.6, 2.2, 0.5, 1.6, 3, 14, 2.6, Surface::kPanel, 256, 110};
constexpr Kind kPosts = {3.2, 4.5, 0.25, 0.4, 3, 6, 0.25, 0.4, 8, 25, 2.6, Surface::kPanel, 256, 40};

void LineTheDrive(const Drive& drive, const Kind& kind, Builder* builder) {
  Random& random = builder->random();
  for (const double side : {-1.0, 1.0}) {
    double due = 0, driven = 0;
    for (size_t i = 1; i < drive.points().size(); ++i) {
      const Vec3 p = drive.points()[i], step = p - drive.points()[i - 1];
      driven += std::sqrt(Dot(step, step));
      if (driven < due) continue;
      Box box;
      box.along = drive.Direction(i);
      box.half_along = random.Real(kind.least_width, kind.most_width) / 2;
      box.half_across = random.Real(kind.least_depth, kind.most_depth) / 2;
      const double height = random.Real(kind.least_height, kind.most_height);
      box.middle = p + side * (random.Real(kind.near, kind.far) + box.half_across) * box.across();
      const double gap = random.Real(kind.least_gap, kind.most_gap);
      box.middle.y = 0;
      if (!IsOffTheDrive(box, drive, kind.clearance) || !builder->IsFree(box)) {
        due = driven + 1.5;
        continue;
      }
      const double ground = drive.Ground(p.x, p.z);
      box.bottom = ground + 0.8;  // sunk, where the ground falls
      box.top = ground - height;
      builder->AddBox(box, kind.surface, kind.side, kind.texels_per_metre);
      due = driven + 2 * box.half_along + gap;
    }
  }
}

// A face of the room, in panels of 2 m at most.
void Panel(Vec3 centre, Vec3 u, Vec3 v, double half_width, double half_height, Builder* builder) {
  const int columns = static_cast<int>(std::ceil(half_width)), rows = static_cast<int>(std::ceil(half_height));
  for (int i = 0; i < columns; ++i) {
    for (int j = 0; j < rows; ++j) {
      const Vec3 at =
          centre + ((2 * i + 1.0) / columns - 1) * half_width * u + ((2 * j + 1.0) / rows - 1) * half_height * v;
      builder->AddBoard(at, u, v, half_width / columns, half_height / rows, Surface::kPanel, 512, 230);
    }
  }
}

double DistanceFrom(const Box& box, Vec3 p) {
  const Vec3 offset = {p.x - box.middle.x, 0, p.z - box.middle.z};
  const double a = std::max(0.0, std::fabs(Dot(offset, box.along)) - box.half_along);
  const double b = std::max(0.0, std::fabs(Dot(offset, box.across())) - box.half_across);
  const double c = std::max({0.0, box.top - p.y, p.y - box.bottom});
  return std::sqrt(a * a + b * b + c * c);
}

}  // namespace

std::vector<SurfacedBoard> LayStreets(const Path& path, uint32_t seed) {
  const Drive drive(path);
  Builder builder(seed);
  LayGround(drive, &builder);
  LineTheDrive(drive, kHouses, &builder);
  LineTheDrive(drive, kThings, &builder);
  LineTheDrive(drive, kPosts, &builder);
  return builder.Take();
}

std::vector<SurfacedBoard> FurnishRoom(const Path& path, uint32_t seed) {
  constexpr double kMargin = 2.2, kAbove = 1.2, kClearance = 0.7;
  Vec3 low = path.front().pose.position, high = low;
  for (const TimedPose& p : path) {
    const Vec3 at = p.pose.position;
    low = {std::min(low.x, at.x), std::min(low.y, at.y), std::min(low.z, at.z)};
    high = {std::max(high.x, at.x), std::max(high.y, at.y), std::max(high.z, at.z)};
  }
  low = low - Vec3{kMargin, kAbove, kMargin};
  high = high + Vec3{kMargin, kAbove, kMargin};
  const Vec3 middle = 0.5 * (low + high), half = 0.5 * (high - low);
  const Vec3 x = {1, 0, 0}, z = {0, 0, 1};
  Builder builder(seed);
  for (const double sign : {-1.0, 1.0}) {
    Panel(middle + sign * half.z * z, x, kDown, half.x, half.y, &builder);
    Panel(middle + sign * half.x * x, z, kDown, half.z, half.y, &builder);
    Panel(middle + sign * half.y * kDown, x, z, half.x, half.z, &builder);
  }
  const std::vector<Vec3> points = Resample(path, 0.05);
  Random& random = builder.random();
  const int tries = static_cast<int>(12 * half.x * half.z);
  for (int i = 0; i < tries; ++i) {
    Box box;
    box.along = Rotation(random.Real(0, 90), 0, 0).column(2);
    box.half_along = random.Real(0.15, 0.6);
    box.half_across = random.Real(0.15, 0.6);
    box.middle = {random.Real(low.x, high.x), 0, random.Real(low.z, high.z)};
    const double height = random.Real(0.4, 1.2 * half.y);
    const bool hangs = random.Between(0, 2) == 0;
    box.top = hangs ? low.y - 0.01 : high.y - height;
    box.bottom = hangs ? low.y + height : high.y + 0.01;
    const bool is_clear =
        std::all_of(points.begin(), points.end(), [&](Vec3 p) { return DistanceFrom(box, p) >= kClearance; });
    if (is_clear && builder.IsFree(box)) builder.AddBox(box, Surface::kPanel, 512, 230);
  }
  return builder.Take();
}

}  // namespace glint::scene
