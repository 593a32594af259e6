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

std::vector<Board> Room() {
  const Vec3 x = {1, 0, 0}, y = {0, 1, 0}, z = {0, 0, 1};
  const double half_width = 2, half_height = 1.4, front = -3, back = 5;
  const double half_length = 0.5 * (back - front), middle = 0.5 * (back + front);
  return {
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

}  // namespace

Scene::Scene(const SceneOptions& options)
    : options_(options),
      camera_{options.shape.width, options.shape.height, kFocalPerWidth * options.shape.width,
              0.5 * (options.shape.width - 1), 0.5 * (options.shape.height - 1)},
      texture_(options.density == Density::kDense ? Surface::kCity : Surface::kSky, TextureSide(options.shape),
               options.seed) {
  const Vec3 x = {1, 0, 0}, y = {0, 1, 0};
  if (options.layout == Layout::kPlane) {
    boards_ = {{{0, 0, kWallDistance}, x, y, 1e4, 1e4}};
  } else {
    boards_ = Room();
  }
  for (Board& board : boards_) {
    board.texels_per_metre = camera_.focal / kWallDistance;
    board.footprint = 1 / kWallDistance;
    board.texture = &texture_;
    visible_.push_back(&board);
  }
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

Image Scene::Render(const Pose& pose) const { return RenderGrey(visible_, camera_, pose, 0); }

Image Scene::RenderRgb(const Pose& pose) const { return scene::RenderRgb(visible_, camera_, pose, 0); }

std::vector<float> Scene::Depth(const Pose& pose) const { return RenderDepth(visible_, camera_, pose); }

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
