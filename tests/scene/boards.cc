#include "tests/scene/boards.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace glint::scene {
namespace {

constexpr double kNear = 0.01;  // metres: nothing is nearer to a camera

uint8_t ToByte(double grey) { return static_cast<uint8_t>(std::clamp(grey, 0.0, 255.0) + 0.5); }

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

// A board with what does not change from pixel to pixel: its plane, and its outline in the picture.
class Outline {
 public:
  Outline(const Board& board, const Camera& camera, const Pose& pose) : board_(&board), plane_(board.plane()) {
    distance_ = plane_.offset - Dot(plane_.normal, pose.position);
    std::vector<Vec3> corners;
    for (const auto& [s, t] : {std::pair(-1, -1), {1, -1}, {1, 1}, {-1, 1}}) {
      corners.push_back(pose.ToCamera(board.centre + s * board.half_width * board.u + t * board.half_height * board.v));
    }
    for (size_t i = 0; i < corners.size(); ++i) {
      const Vec3 a = corners[i], b = corners[(i + 1) % corners.size()];
      if (a.z > kNear) corners_.push_back(camera.Project(a));
      if ((a.z > kNear) == (b.z > kNear)) continue;
      corners_.push_back(camera.Project(a + (kNear - a.z) / (b.z - a.z) * (b - a)));
    }
    for (const Pixel& p : corners_) rows_.Add(p.y);
  }

  const Board& board() const { return *board_; }
  const Plane& plane() const { return plane_; }
  double distance() const { return distance_; }  // of the camera from the plane, with the normal's sign
  bool CrossesRows(int first, int last) const { return rows_.low <= last + 1 && rows_.high >= first - 1; }

  // Columns of a row that the board may cover, first..last, within 0..width-1; none if last < first.
  std::pair<int, int> ColumnsOf(int y, int width) const {
    Range columns;
    const double top = y - 1, bottom = y + 1;
    for (size_t i = 0; i < corners_.size(); ++i) {
      const Pixel a = corners_[i], b = corners_[(i + 1) % corners_.size()];
      if (a.y >= top && a.y <= bottom) columns.Add(a.x);
      for (const double edge : {top, bottom}) {
        if ((a.y < edge) != (b.y < edge)) columns.Add(a.x + (edge - a.y) / (b.y - a.y) * (b.x - a.x));
      }
    }
    const double first = std::max(0.0, columns.low - 1), last = std::min(width - 1.0, columns.high + 1);
    if (!(first <= last)) return {0, -1};
    return {static_cast<int>(first), static_cast<int>(last)};
  }

 private:
  const Board* board_;
  Plane plane_;
  double distance_;
  std::vector<Pixel> corners_;  // of what lies before the camera, in order
  Range rows_;
};

}  // namespace

double Hit::Grey() const {
  const double texels = depth * board->footprint * std::sqrt(std::max(1.0, stretch));
  return board->texture->Sample(s * board->texels_per_metre + board->offset_u, t * board->texels_per_metre, texels);
}

void LookAt(const std::vector<const Board*>& boards, const Camera& camera, const Pose& pose,
            const std::function<void(int y, const std::vector<Hit>& hits)>& row) {
  std::vector<Outline> outlines;
  for (const Board* board : boards) {
    Outline outline(*board, camera, pose);
    if (outline.CrossesRows(0, camera.height - 1)) outlines.push_back(std::move(outline));
  }
  std::vector<Vec3> rays(static_cast<size_t>(camera.width));
  std::vector<Hit> hits(rays.size());
  for (int y = 0; y < camera.height; ++y) {
    for (int x = 0; x < camera.width; ++x) {
      // Of depth 1: the parameter along it is the depth of the point reached.
      rays[static_cast<size_t>(x)] = pose.rotation * camera.Ray({static_cast<double>(x), static_cast<double>(y)});
    }
    std::fill(hits.begin(), hits.end(), Hit());
    for (const Outline& outline : outlines) {
      if (!outline.CrossesRows(y, y)) continue;
      const Board& board = outline.board();
      const auto [first, last] = outline.ColumnsOf(y, camera.width);
      for (int x = first; x <= last; ++x) {
        const Vec3 ray = rays[static_cast<size_t>(x)];
        Hit& hit = hits[static_cast<size_t>(x)];
        const double slant = Dot(outline.plane().normal, ray);
        if (slant == 0) continue;
        const double depth = outline.distance() / slant;
        if (depth <= 0 || (hit.board != nullptr && depth >= hit.depth)) continue;
        const Vec3 from_centre = pose.position + depth * ray - board.centre;
        const double s = Dot(from_centre, board.u), t = Dot(from_centre, board.v);
        if (std::fabs(s) > board.half_width || std::fabs(t) > board.half_height) continue;
        hit = {&board, depth, s, t, std::sqrt(Dot(ray, ray)) / std::fabs(slant)};
      }
    }
    row(y, hits);
  }
}

Image RenderGrey(const std::vector<const Board*>& boards, const Camera& camera, const Pose& pose, uint8_t background) {
  Image image(camera.width, camera.height);
  LookAt(boards, camera, pose, [&](int y, const std::vector<Hit>& hits) {
    uint8_t* out = image.row(y);
    for (const Hit& hit : hits) *out++ = hit.board == nullptr ? background : ToByte(hit.Grey());
  });
  return image;
}

Image RenderRgb(const std::vector<const Board*>& boards, const Camera& camera, const Pose& pose, uint8_t background) {
  Image image(3 * camera.width, camera.height);
  LookAt(boards, camera, pose, [&](int y, const std::vector<Hit>& hits) {
    uint8_t* out = image.row(y);
    for (const Hit& hit : hits) {
      const double grey = hit.board == nullptr ? 0 : hit.Grey();
      for (int c = 0; c < 3; ++c)
        *out++ = hit.board == nullptr ? background : ToByte(grey * hit.board->colour[c] / 255);
    }
  });
  return image;
}

std::vector<float> RenderDepth(const std::vector<const Board*>& boards, const Camera& camera, const Pose& pose) {
  std::vector<float> depth;
  depth.reserve(static_cast<size_t>(camera.width) * camera.height);
  LookAt(boards, camera, pose, [&](int, const std::vector<Hit>& hits) {
    for (const Hit& hit : hits) depth.push_back(static_cast<float>(hit.depth));
  });
  return depth;
}

}  // namespace glint::scene
