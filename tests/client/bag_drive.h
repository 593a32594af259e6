// A recording of a drive, and commands that are run on it.
#ifndef GLINT_TESTS_CLIENT_BAG_DRIVE_H_
#define GLINT_TESTS_CLIENT_BAG_DRIVE_H_

#include <cstdint>
#include <fstream>
#include <iterator>
#include <opencv2/core.hpp>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "features/types.h"
#include "ros/messages.h"
#include "tests/client/bag_writer.h"
#include "tests/scene/sensor.h"

namespace glint::cli {

inline constexpr int kPairs = 16;
inline constexpr char kLeft[] = "/cam0/image_rect", kRight[] = "/cam1/image_rect";

inline scene::StereoHead Head() { return {{376, 240, 229, 187.5, 119.5}, 0.11, {}}; }

struct Pair {
  cv::Mat left, right;
};

inline cv::Mat MatOf(const Image& image) {
  const ImageView view = image.view();
  return cv::Mat(view.height, view.width, CV_8U, const_cast<uint8_t*>(view.data), static_cast<size_t>(view.stride))
      .clone();
}

// A drive along an arc, rendered once.
inline const std::vector<Pair>& Drive() {
  static const std::vector<Pair>* const pairs = [] {
    scene::Path path;
    for (int i = 0; i < kPairs; ++i) {
      const scene::Vec3 position = {1.5 * (1 - scene::CosDegrees(i)), 0, 1.5 * scene::SinDegrees(i)};
      path.push_back({i / 20.0, {scene::Rotation(0.8 * i, 0, 0), position}, ""});
    }
    scene::World world(path, 1);
    auto* const rendered = new std::vector<Pair>;
    for (int i = 0; i < kPairs; ++i) {
      Pair pair;
      for (const bool right : {false, true}) {
        (right ? pair.right : pair.left) =
            MatOf(scene::Expose({2, 0, 0}, Head(), right, path, i / 20.0, static_cast<uint32_t>(i), &world));
      }
      rendered->push_back(pair);
    }
    return rendered;
  }();
  return *pairs;
}

inline ros::CameraInfo InfoOf(bool right) {
  const scene::Camera c = Head().camera;
  ros::CameraInfo info;
  info.width = static_cast<uint32_t>(c.width);
  info.height = static_cast<uint32_t>(c.height);
  info.distortion_model = "plumb_bob";
  info.d = {0, 0, 0, 0, 0};
  info.k = {c.focal, 0, c.cx, 0, c.focal, c.cy, 0, 0, 1};
  info.r = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  info.p = {c.focal, 0, c.cx, right ? -c.focal * Head().baseline : 0, 0, c.focal, c.cy, 0, 0, 0, 1, 0};
  return info;
}

inline std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class BagCommand : public BagTest {
 protected:
  // The drive, as a recorder gets it: each camera's images some time after their capture, and what else robots say.
  void WriteDrive(const std::string& name) const {
    BagWriter bag(Path(name));
    for (int i = 0; i < kPairs; ++i) {
      const int64_t time = TimeOf(i);
      const Pair& pair = Drive()[static_cast<size_t>(i)];
      bag.Write("/cam0/camera_info", time + 1'000'000, InfoOf(false));
      bag.Write("/cam1/camera_info", time + 1'000'000, InfoOf(true));
      bag.Write(kLeft, time + 3'000'000, ImageOf(pair.left, "mono8", time));
      bag.WriteBytes("/tf", "tf2_msgs/msg/TFMessage", time + 4'000'000, {0, 1, 0, 0, 0, 0, 0, 0});
      bag.Write("/depth/compressedDepth", time + 5'000'000, ros::CompressedImage());
      for (int k = 0; k < 10; ++k) bag.Write("/imu0", time + 5'000'000 * (k + 1), ImuOf(10 * i + k));
      bag.Write(kRight, time + 55'000'000, ImageOf(pair.right, "mono8", time));  // after the next left one
    }
    bag.Close();
  }
  Outcome Localize(std::vector<std::string> arguments, const std::string& trajectory) const {
    arguments.insert(arguments.end(), {"--server", "inproc", "--backend", "cpu", "--format", "none", "--features",
                                       "500", "--trajectory", Path(trajectory)});
    return RunCommand(RunLocalize, arguments);
  }
};

}  // namespace glint::cli

#endif  // GLINT_TESTS_CLIENT_BAG_DRIVE_H_
