// What a page of glint, or Foxglove, shows of one frame: a picture with marks, trails, a path and times. Values.
#ifndef GLINT_CLIENT_VIEW_BASE_SCENE_H_
#define GLINT_CLIENT_VIEW_BASE_SCENE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace glint::view {

// How the page makes a colour of a number in 0..255.
enum class Palette {
  kOctaves,  // the number is an octave: from green over yellow and red to violet
  kRamp,     // from blue (0) to red (255)
};

// Pixels of the picture; sides up to 16383.
struct Point {
  float x = 0, y = 0;
};

struct Mark {
  Point at;
  float size = 0;    // diameter, pixels; 0: a dot
  float angle = -1;  // degrees, clockwise from the x axis; negative: none
  uint8_t color = 0;
};

struct Trail {
  uint8_t color = 0;
  std::vector<Point> points;  // oldest first; a page shows the last 255
};

// The map from the camera, whose x is to the right, y down, z ahead.
struct Pose {
  std::array<double, 4> rotation = {0, 0, 0, 1};  // quaternion x, y, z, w of length 1
  std::array<double, 3> position = {};            // metres
};

using MapPoints = std::vector<std::array<float, 3>>;  // in the map, metres

struct Step {
  float x = 0, z = 0;  // metres, from above: to the right, and ahead
  enum State : uint8_t { kLocated = 0, kUncertain = 1, kLost = 2 } state = kLocated;
  bool keyframe = false;
  Pose pose = {};
};

// A JPEG or PNG file. `width` and `height` are those of the coordinates, where the file is smaller; 0: the file's.
struct EncodedPicture {
  std::string file;
  int width = 0, height = 0;
  double scale = 1;  // pixels of the file for one of the coordinates
};

// A quantity over time, for a chart of its own; what is not finite is a gap.
struct Strip {
  std::string name;  // and unit
  std::array<double, 3> values = {};
};

struct Scene {
  std::string name;  // of the picture
  std::string text;  // figures, one line
  // Called on a thread of the view, at most once and only if a browser gets the frame. An empty file: no picture.
  std::function<EncodedPicture()> picture;
  Palette palette = Palette::kOctaves;
  std::vector<Mark> marks;
  std::vector<Trail> trails;
  std::vector<Step> path;
  std::vector<Strip> strips;
  std::vector<std::string> warnings;
  std::optional<Pose> pose;              // of this frame's camera; none: it is not known
  std::shared_ptr<const MapPoints> map;  // null: as it was
  // Of Palette::kRamp: what its ends mean, for example "2.0 px" and "31.5 px". Empty: no scale.
  std::string scale_low, scale_high;
  // Latency by stage, in the order of a frame; nanoseconds.
  std::vector<std::pair<std::string, int64_t>> stages;
};

}  // namespace glint::view

#endif  // GLINT_CLIENT_VIEW_BASE_SCENE_H_
