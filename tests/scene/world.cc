#include "tests/scene/world.h"

#include <algorithm>
#include <cmath>

namespace glint::scene {
namespace {

constexpr double kLargestRoom = 40;  // metres
constexpr double kCell = 20;         // metres
constexpr double kView = 120;        // metres: nothing beyond is drawn
constexpr double kViewOfSmall = 50;  // of boards with half sides below kSmall
constexpr double kSmall = 2.2;       // metres
constexpr uint8_t kSky = 205, kNoWall = 0;

bool IsDrive(const Path& path) {
  double largest = 0;
  for (const TimedPose& p : path) {
    const Vec3 from_start = p.pose.position - path.front().pose.position;
    largest = std::max(largest, Dot(from_start, from_start));
  }
  return largest > kLargestRoom * kLargestRoom;
}

std::pair<int, int> CellOf(Vec3 p) {
  return {static_cast<int>(std::floor(p.x / kCell)), static_cast<int>(std::floor(p.z / kCell))};
}

// Whether a ball may be in the picture.
bool MayBeSeen(const Camera& camera, Vec3 centre, double radius) {
  if (centre.z < -radius) return false;
  const double x = std::max(camera.cx, camera.width - camera.cx) / camera.focal;
  const double y = std::max(camera.cy, camera.height - camera.cy) / camera.focal;
  return std::fabs(centre.x) - x * centre.z <= radius * std::sqrt(1 + x * x) &&
         std::fabs(centre.y) - y * centre.z <= radius * std::sqrt(1 + y * y);
}

size_t BytesOf(int side) { return static_cast<size_t>(side) * static_cast<size_t>(side) * 4 / 3; }

}  // namespace

World::World(const Path& path, uint32_t seed)
    : has_streets_(IsDrive(path)),
      background_(has_streets_ ? kSky : kNoWall),
      boards_(has_streets_ ? LayStreets(path, seed) : FurnishRoom(path, seed)) {
  for (size_t i = 0; i < boards_.size(); ++i) cells_[CellOf(boards_[i].board.centre)].push_back(i);
}

const Texture* World::TextureOf(size_t board) {
  const auto known = drawn_of_.find(board);
  if (known != drawn_of_.end()) {
    drawn_.splice(drawn_.begin(), drawn_, known->second);
  } else {
    const SurfacedBoard& b = boards_[board];
    drawn_.push_front({board, std::make_unique<Texture>(b.surface, b.side, b.seed)});
    drawn_of_[board] = drawn_.begin();
    drawn_bytes_ += BytesOf(b.side);
  }
  return drawn_.front().texture.get();
}

std::vector<const Board*> World::BoardsAround(const Camera& camera, const Pose& pose) {
  std::vector<const Board*> seen;
  const auto [column, row] = CellOf(pose.position);
  const int reach = static_cast<int>(std::ceil(kView / kCell));
  for (int i = column - reach; i <= column + reach; ++i) {
    for (int j = row - reach; j <= row + reach; ++j) {
      const auto cell = cells_.find({i, j});
      if (cell == cells_.end()) continue;
      for (const size_t b : cell->second) {
        Board& board = boards_[b].board;
        const Vec3 centre = pose.ToCamera(board.centre);
        const double w = board.half_width, h = board.half_height;
        const double view = std::max(w, h) < kSmall ? kViewOfSmall : kView;
        if (Dot(centre, centre) > view * view || !MayBeSeen(camera, centre, std::sqrt(w * w + h * h))) continue;
        board.texture = TextureOf(b);
        board.footprint = board.texels_per_metre / camera.focal;
        seen.push_back(&board);
      }
    }
  }
  while (drawn_bytes_ > kTextureBytes && drawn_.size() > seen.size()) {
    drawn_bytes_ -= BytesOf(boards_[drawn_.back().board].side);
    drawn_of_.erase(drawn_.back().board);
    drawn_.pop_back();
  }
  return seen;
}

Image World::Render(const Camera& camera, const Pose& pose) {
  return RenderGrey(BoardsAround(camera, pose), camera, pose, background_);
}

Image World::RenderRgb(const Camera& camera, const Pose& pose) {
  return scene::RenderRgb(BoardsAround(camera, pose), camera, pose, background_);
}

std::vector<float> World::Depth(const Camera& camera, const Pose& pose) {
  return RenderDepth(BoardsAround(camera, pose), camera, pose);
}

}  // namespace glint::scene
