#include "tests/scene/scene.h"

#include <algorithm>
#include <cmath>

namespace glint::scene {
namespace {

// Metres. A wall at this distance is drawn with one texel per pixel.
constexpr double kWallDistance = 4;
// The horizontal field of view is 2 * atan(0.5 / 0.9), 58 degrees.
constexpr double kFocalPerWidth = 0.9;

// Repeats only beyond twice the picture.
int TextureSide(Shape shape) {
  int side = 1024;
  while (side < 2 * std::max(shape.width, shape.height)) side *= 2;
  return side;
}

uint8_t ToByte(double grey) { return static_cast<uint8_t>(std::clamp(grey, 0.0, 255.0) + 0.5); }

}  // namespace

Scene::Scene(const SceneOptions& options)
    : options_(options),
      camera_{options.shape.width, options.shape.height, kFocalPerWidth * options.shape.width,
              0.5 * (options.shape.width - 1), 0.5 * (options.shape.height - 1)},
      texels_per_metre_(camera_.focal / kWallDistance),
      texture_(options.density, TextureSide(options.shape), options.seed) {
  const Vec3 x = {1, 0, 0}, y = {0, 1, 0}, z = {0, 0, 1};
  if (options.layout == Layout::kPlane) {
    boards_.push_back({{0, 0, kWallDistance}, x, y, 1e4, 1e4, 0, {255, 255, 255}});
    return;
  }
  const double half_width = 2, half_height = 1.4, front = -3, back = 5;
  const double half_length = 0.5 * (back - front), middle = 0.5 * (back + front);
  boards_ = {
      {{0, 0, back}, x, y, half_width, half_height, 0, {255, 240, 225}},
      {{0, 0, front}, x, y, half_width, half_height, 131, {240, 255, 225}},
      {{-half_width, 0, middle}, z, y, half_length, half_height, 257, {225, 240, 255}},
      {{half_width, 0, middle}, z, y, half_length, half_height, 389, {255, 225, 240}},
      {{0, -half_height, middle}, x, z, half_width, half_length, 521, {235, 235, 255}},
      {{0, half_height, middle}, x, z, half_width, half_length, 643, {255, 230, 200}},
      {{-0.9, 0.6, 3}, Rotation(25, 0, 0).column(0), y, 0.5, 0.6, 773, {255, 210, 180}},
      {{1.0, -0.2, 3.6}, Rotation(-20, 0, 0).column(0), y, 0.45, 0.45, 907, {190, 225, 255}},
  };
}

Pose Scene::PoseAt(int frame) const {
  const double i = frame;
  switch (options_.motion) {
    case Motion::kStill:
      break;
    case Motion::kPan:
      return {Mat3{}, {0.7 * SinDegrees(3 * i), 0, 0}};
    case Motion::kRoll:
      return {Rotation(0, 0, 3 * i), {}};
    case Motion::kZoom:
      return {Mat3{}, {0, 0, 1.2 * SinDegrees(3 * i)}};
    case Motion::kWalk:
      return {Rotation(9 * SinDegrees(2.5 * i), 4 * SinDegrees(3.7 * i), 5 * SinDegrees(1.9 * i)),
              {0.5 * SinDegrees(2.1 * i), 0.15 * SinDegrees(4.3 * i), 0.8 * SinDegrees(1.3 * i)}};
  }
  return {};
}

Pose Scene::RightOf(const Pose& left) const { return {left.rotation, left.ToWorld({options_.stereo_baseline, 0, 0})}; }

Scene::Hit Scene::Look(const Pose& pose, Pixel pixel) const {
  // A ray of depth 1: the parameter along it is the depth of the point reached.
  const Vec3 ray = pose.rotation * camera_.Ray(pixel);
  Hit hit;
  double s_hit = 0, t_hit = 0, slant_hit = 1;
  for (const Board& board : boards_) {
    const Plane plane = board.plane();
    const double slant = Dot(plane.normal, ray);
    if (slant == 0) continue;
    const double depth = (plane.offset - Dot(plane.normal, pose.position)) / slant;
    if (depth <= 0 || (hit.board != nullptr && depth >= hit.depth)) continue;
    const Vec3 from_centre = pose.position + depth * ray - board.centre;
    const double s = Dot(from_centre, board.u), t = Dot(from_centre, board.v);
    if (std::fabs(s) > board.half_width || std::fabs(t) > board.half_height) continue;
    hit.board = &board;
    hit.depth = depth;
    s_hit = s;
    t_hit = t;
    slant_hit = std::fabs(slant);
  }
  if (hit.board == nullptr) return hit;
  // The width of a pixel on the board, texels: geometric mean of its two directions.
  const double stretch = std::sqrt(Dot(ray, ray)) / slant_hit;
  const double footprint = hit.depth / kWallDistance * std::sqrt(std::max(1.0, stretch));
  hit.grey = texture_.Sample(s_hit * texels_per_metre_ + hit.board->offset_u, t_hit * texels_per_metre_, footprint);
  return hit;
}

Image Scene::Render(const Pose& pose) const {
  Image image(camera_.width, camera_.height);
  for (int y = 0; y < camera_.height; ++y) {
    uint8_t* row = image.row(y);
    for (int x = 0; x < camera_.width; ++x) {
      row[x] = ToByte(Look(pose, {static_cast<double>(x), static_cast<double>(y)}).grey);
    }
  }
  return image;
}

Image Scene::RenderRgb(const Pose& pose) const {
  Image image(3 * camera_.width, camera_.height);
  for (int y = 0; y < camera_.height; ++y) {
    uint8_t* out = image.row(y);
    for (int x = 0; x < camera_.width; ++x) {
      const Hit hit = Look(pose, {static_cast<double>(x), static_cast<double>(y)});
      for (int c = 0; c < 3; ++c) *out++ = hit.board == nullptr ? 0 : ToByte(hit.grey * hit.board->colour[c] / 255);
    }
  }
  return image;
}

std::vector<float> Scene::Depth(const Pose& pose) const {
  std::vector<float> depth;
  depth.reserve(static_cast<size_t>(camera_.width) * camera_.height);
  for (int y = 0; y < camera_.height; ++y) {
    for (int x = 0; x < camera_.width; ++x) {
      depth.push_back(static_cast<float>(Look(pose, {static_cast<double>(x), static_cast<double>(y)}).depth));
    }
  }
  return depth;
}

std::vector<float> Scene::Disparity(const Pose& left) const {
  std::vector<float> disparity = Depth(left);
  const double scale = camera_.focal * options_.stereo_baseline;
  for (float& d : disparity) d = d > 0 ? static_cast<float>(scale / d) : 0.0f;
  return disparity;
}

Mat3 Scene::HomographyBetween(int a, int b) const {
  return PlaneHomography(camera_, boards_.front().plane(), PoseAt(a), PoseAt(b));
}

}  // namespace glint::scene
