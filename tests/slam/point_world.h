// A front end without pictures: it sees the points of a made-up world from a pose that the test sets, with noise.
#ifndef GLINT_TESTS_SLAM_POINT_WORLD_H_
#define GLINT_TESTS_SLAM_POINT_WORLD_H_

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "cpu/match/matcher.h"
#include "slam/front_end/front_end.h"
#include "slam/geometry/pose.h"
#include "slam/geometry/stereo_camera.h"

namespace glint::slam {

// The camera that most tests look with.
inline StereoCamera CameraOfTest() { return {{800, 400}, 450, 402, 196, 0.5, Eigen::Vector3d::Zero()}; }

class PointWorld : public FrontEnd {
 public:
  // Points on both sides of a road along z, from z = -10 to `length` + 60. Each has a descriptor of its own. `camera`
  // is the true one.
  PointWorld(const StereoCamera& camera, double length, uint32_t seed);

  // These points. Each has a descriptor of its own.
  PointWorld(const StereoCamera& camera, std::vector<Eigen::Vector3d> points, uint32_t seed);

  // What the next Find() sees.
  void Look(const Pose& world_from_camera) { world_from_camera_ = world_from_camera; }
  void Close(bool closed) { closed_ = closed; }           // sees nothing
  void CloseLeft(bool closed) { left_closed_ = closed; }  // the left camera sees nothing; FindOne() is the right one's
  // Where the points of a thing that moves are now, in world coordinates; as many at each call. It hides all that is in
  // the rectangle of the picture around it.
  void PutThing(const std::vector<Eigen::Vector3d>& points);
  // A picture has at most so many keypoints, the strongest. Masks are looked at before.
  void SetMost(size_t keypoints) { most_ = keypoints; }
  void SeeUpTo(double metres) { farthest_ = metres; }
  void SetNoise(double pixels) { noise_ = pixels; }
  // Each descriptor is that of `points` points, near each other or not.
  void Repeat(size_t points);
  // The second point looks like the first.
  void MakeAlike(size_t first, size_t second);
  void SetFlips(int bits) { flips_ = bits; }  // at random in each descriptor that is seen, of its 256

  const FeatureKind& kind() const override { return kind_; }
  absl::Status Find(const PixelPair& pair, StereoFrame* frame) override;
  absl::Status FindOne(const Pixels& image, const ImageView& mask, StereoFrame* frame) override;
  void SetReferenceFrame() override { reference_ = now_; }
  void Follow(const std::vector<float>& x, const std::vector<float>& y, std::vector<float>* to_x,
              std::vector<float>* to_y, std::vector<uint8_t>* is_followed) override;
  void Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) override;

 private:
  // The place of a point in pixels of a frame, or not there.
  struct Seen {
    std::vector<uint8_t> is_there;
    std::vector<Eigen::Vector2d> at;
    std::multimap<std::pair<float, float>, size_t> by_keypoint;  // as reported
  };
  void MakeDescriptors();  // of points that have none
  void See(const Pose& camera_from_world, bool closed, const ImageView& mask, StereoFrame* frame);
  // The points that make keypoints, in their order.
  std::vector<size_t> Chosen(const Pose& camera_from_world, const ImageView& mask);
  // The rectangle of the picture that the thing hides.
  Eigen::AlignedBox2d ThingFrom(const Pose& camera_from_world) const;
  double Noise() { return noise_ * normal_(random_); }

  const StereoCamera camera_;
  const FeatureKind kind_{32, "descriptor=random"};
  std::mt19937 random_;
  std::normal_distribution<double> normal_{0, 1};
  std::vector<Eigen::Vector3d> points_;  // the thing's last
  size_t of_thing_ = 0;
  std::vector<uint8_t> descriptors_;
  Pose world_from_camera_;
  bool closed_ = false, left_closed_ = false;
  size_t most_ = std::numeric_limits<size_t>::max();
  double farthest_ = 60;  // metres
  double noise_ = 0.2;
  int flips_ = 0;
  Seen now_, reference_;
  cpu::Matcher matcher_;
};

}  // namespace glint::slam

#endif  // GLINT_TESTS_SLAM_POINT_WORLD_H_
