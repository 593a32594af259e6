// map -> odom -> base over steps that are measured and steps that are not.
#include "ros2/convert/pose_chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "slam/geometry/pose.h"
#include "slam/inertial/initializer.h"
#include "tests/ros2/chain_path.h"

namespace glint::ros2 {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector3d;

constexpr auto kTracking = LocationStatus::kTracking;

double Apart(const Isometry3d& a, const Isometry3d& b) { return (a.matrix() - b.matrix()).norm(); }

// A base with a camera, which goes on a curve.
struct Robot {
  const Isometry3d base_from_camera = SomeMounting();
  const Vector3d turn = {0.02, -0.05, 0.6}, pace = {1.5, 0.1, -0.05};

  // By `index` periods after the first pair; the world is the first camera.
  Isometry3d Base(int index) const { return OnCurve(turn, pace, 1e-9 * static_cast<double>(index * kPeriodNs)); }
  Isometry3d WorldFromCamera(int index) const { return base_from_camera.inverse() * Base(index) * base_from_camera; }
};

TEST(PoseChain, HasTheAxesOfRos) {
  struct Motion {
    Isometry3d camera, base;
  };
  const double angle = 0.3;
  for (const Motion& motion :
       {Motion{Transform({0, 0, 0}, {0, 0, 1}), Transform({0, 0, 0}, {1, 0, 0})},              // ahead
        Motion{Transform({0, 0, 0}, {1, 0, 0}), Transform({0, 0, 0}, {0, -1, 0})},             // to the right
        Motion{Transform({0, 0, 0}, {0, 1, 0}), Transform({0, 0, 0}, {0, 0, -1})},             // down
        Motion{Transform({0, angle, 0}, {0, 0, 0}), Transform({0, 0, -angle}, {0, 0, 0})},     // turned to the right
        Motion{Transform({angle, 0, 0}, {0, 0, 0}), Transform({0, -angle, 0}, {0, 0, 0})}}) {  // looks up
    PoseChain chain(BaseAtCamera());
    chain.Take(LocationAt(Isometry3d::Identity(), kTracking), 0);
    const std::optional<ChainPose> pose = chain.Take(LocationAt(motion.camera, kTracking), kPeriodNs);
    ASSERT_TRUE(pose.has_value());
    EXPECT_LT(Apart(pose->map_from_base, motion.base), 1e-12) << pose->map_from_base.matrix();
    EXPECT_LT(Apart(pose->odom_from_base, motion.base), 1e-12);
  }
}

TEST(PoseChain, BeginsWithTheBaseAtTheOriginOfTheMap) {
  const Robot robot;
  PoseChain chain(robot.base_from_camera);
  for (int i = 0; i < 5; ++i) {
    const std::optional<ChainPose> pose = chain.Take(LocationAt(robot.WorldFromCamera(i), kTracking), i * kPeriodNs);
    ASSERT_TRUE(pose.has_value());
    EXPECT_EQ(pose->stamp_ns, i * kPeriodNs);
    EXPECT_LT(Apart(pose->map_from_base, robot.Base(i)), 1e-9);
    EXPECT_LT(Apart(pose->odom_from_base, robot.Base(i)), 1e-9);
    EXPECT_EQ(pose->map_from_odom.matrix(), Isometry3d::Identity().matrix());
    EXPECT_FALSE(pose->jumped);
    EXPECT_EQ(pose->new_world, i == 0);
  }
  // A point of the world, which a camera ahead of the origin's sees there.
  const Vector3d of_camera(0.3, -0.2, 4);
  EXPECT_LT((chain.map_from_world() * of_camera - robot.base_from_camera * of_camera).norm(), 1e-12);
}

// What happens to the world at the sixth pair, and what the answers then say of it.
struct Event {
  std::string name;
  std::function<void(Location*)> mark;  // of that pair
  bool is_new_world = false;
  int map_id = 0;             // from then on
  bool level = false;         // likewise
  bool is_stream = false;     // BeginStream() before it
  bool is_between = false;    // the world is corrected with a pair before it that is not located
  bool is_corrected = false;  // the world is corrected with it
};

class PoseChainEvent : public testing::TestWithParam<Event> {};

TEST_P(PoseChainEvent, MovesTheMapAlone) {
  const Event& event = GetParam();
  const Robot robot;
  const Isometry3d other_from_world = Transform({0.1, 0.4, -0.2}, {3, -7, 1});
  PoseChain chain(robot.base_from_camera);
  std::optional<ChainPose> last;
  for (int i = 0; i < 12; ++i) {
    const bool is_other = i >= 6;
    Isometry3d pose = robot.WorldFromCamera(i);
    if (is_other) pose = other_from_world * pose;
    Location location = LocationAt(pose, kTracking, is_other ? event.map_id : 0);
    location.level = is_other && event.level;
    if (i == 6) event.mark(&location);
    if ((i == 6 && event.is_corrected) || (i == 5 && event.is_between)) {
      location.world_correction = LocationAt(other_from_world, kTracking).pose;
    }
    if (i == 6 && event.is_stream) chain.BeginStream();
    if (i == 5 && event.is_between) {
      location.status = LocationStatus::kCoasting;
      EXPECT_FALSE(chain.Take(location, i * kPeriodNs).has_value());
      continue;
    }
    const std::optional<ChainPose> now = chain.Take(location, i * kPeriodNs);
    ASSERT_TRUE(now.has_value()) << i;
    // The pace is even, so that going on with it is right, too.
    EXPECT_LT(Apart(now->odom_from_base, robot.Base(i)), 1e-9) << i;
    EXPECT_LT(Apart(now->map_from_odom * now->odom_from_base, now->map_from_base), 1e-12) << i;
    EXPECT_LT(Apart(now->map_from_base, chain.map_from_world() * pose * robot.base_from_camera.inverse()), 1e-12);
    EXPECT_EQ(now->jumped, i == 6) << i;
    EXPECT_EQ(now->new_world, i == 0 || (i == 6 && event.is_new_world)) << i;
    EXPECT_EQ(now->map_id, location.map_id);
    if (i == 6) {
      EXPECT_GT(Apart(now->map_from_odom, last->map_from_odom), 0.1);
    } else if (last.has_value()) {
      EXPECT_EQ(now->map_from_odom.matrix(), last->map_from_odom.matrix()) << i;
    }
    last = now;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, PoseChainEvent,
    testing::Values(Event{"Loop", [](Location* l) { l->loop_closed = true; }, false, 0, false, false, false, true},
                    Event{"LoopBetween", [](Location*) {}, false, 0, false, false, true},
                    Event{"Relocalized", [](Location* l) { l->status = LocationStatus::kRelocalized; }},
                    Event{"NewMap", [](Location* l) { l->status = LocationStatus::kNewMap; }, true, 1},
                    Event{"MapsBecomeOne", [](Location*) {}, true, 3, false, false, false, true},
                    Event{"OtherMap", [](Location*) {}, true, 2},
                    Event{"Level", [](Location*) {}, true, 0, true, false, false, true},
                    Event{"Stream", [](Location*) {}, true, 0, false, true}),
    [](const auto& info) { return info.param.name; });

// A camera that does not go on as before while the world is moved: nothing of either is taken for the other.
TEST(PoseChain, MeasuresOverCorrections) {
  const Robot robot;
  const std::vector<int> at = {0, 1, 2, 9, 4, 4, 3};  // it is there with each pair
  Isometry3d world_from_first = Isometry3d::Identity();
  PoseChain chain(robot.base_from_camera);
  for (size_t i = 0; i < at.size(); ++i) {
    const Isometry3d correction = Transform({0.01, -0.2, 0.3}, {0.4, 2.0 * static_cast<double>(i), -0.1});
    world_from_first = correction * world_from_first;
    Location location = LocationAt(world_from_first * robot.WorldFromCamera(at[i]), kTracking);
    location.world_correction = LocationAt(correction, kTracking).pose;
    if (i == 3) location.status = LocationStatus::kLost;
    const std::optional<ChainPose> pose = chain.Take(location, static_cast<int64_t>(i) * kPeriodNs);
    ASSERT_EQ(pose.has_value(), i != 3);
    if (!pose.has_value()) continue;
    EXPECT_LT(Apart(chain.map_from_world() * world_from_first * robot.base_from_camera.inverse() * robot.Base(at[i]),
                    pose->map_from_base),
              1e-9);
    const Isometry3d odom_at_start = pose->odom_from_base * robot.Base(at[i]).inverse();
    EXPECT_LT(Apart(odom_at_start, chain.map_from_world() * Transform({0.01, -0.2, 0.3}, {0.4, 0, -0.1}) *
                                       robot.base_from_camera.inverse()),
              1e-9)
        << i;
    EXPECT_EQ(pose->jumped, i > 0);
  }
}

TEST(PoseChain, MeasuresOverCoastingInTheSameMap) {
  const Robot robot;
  PoseChain chain(robot.base_from_camera);
  chain.Take(LocationAt(robot.WorldFromCamera(0), kTracking), 0);
  chain.Take(LocationAt(robot.WorldFromCamera(1), kTracking), kPeriodNs);
  for (int i = 2; i < 40; ++i) {
    // Somewhere: it is not located.
    const Location coasting = LocationAt(Transform({0, 0, 0}, {i * 1.0, 0, 0}), LocationStatus::kCoasting);
    EXPECT_FALSE(chain.Take(coasting, i * kPeriodNs).has_value());
  }
  // It has turned and stopped meanwhile, which no motion from before would tell.
  const std::optional<ChainPose> pose = chain.Take(LocationAt(robot.WorldFromCamera(3), kTracking), 40 * kPeriodNs);
  ASSERT_TRUE(pose.has_value());
  EXPECT_FALSE(pose->jumped);
  EXPECT_LT(Apart(pose->odom_from_base, robot.Base(3)), 1e-9);
  EXPECT_FALSE(pose->linear.has_value());  // of two seconds: not what it is now
}

TEST(PoseChain, StandsStillOverALongStepThatIsNotMeasured) {
  const Robot robot;
  PoseChain chain(robot.base_from_camera);
  chain.Take(LocationAt(robot.WorldFromCamera(0), kTracking), 0);
  chain.Take(LocationAt(robot.WorldFromCamera(1), kTracking), kPeriodNs);
  EXPECT_FALSE(chain.Take(LocationAt(robot.WorldFromCamera(1), LocationStatus::kLost), 2 * kPeriodNs).has_value());
  const std::optional<ChainPose> pose =
      chain.Take(LocationAt(robot.WorldFromCamera(20), LocationStatus::kRelocalized), 20 * kPeriodNs);
  ASSERT_TRUE(pose.has_value());
  EXPECT_TRUE(pose->jumped);
  EXPECT_FALSE(pose->new_world);
  EXPECT_LT(Apart(pose->odom_from_base, robot.Base(1)), 1e-12);
  EXPECT_LT(Apart(pose->map_from_base, robot.Base(20)), 1e-9);
  EXPECT_LT(Apart(pose->map_from_odom * pose->odom_from_base, pose->map_from_base), 1e-12);
}

TEST(PoseChain, TakesStampsThatGoBack) {
  const Robot robot;
  PoseChain chain(robot.base_from_camera);
  chain.Take(LocationAt(robot.WorldFromCamera(0), kTracking), (int64_t{1} << 62) - 1);
  for (const int64_t stamp : {1 - (int64_t{1} << 62), 1 - (int64_t{1} << 62)}) {  // before, and the same again
    const std::optional<ChainPose> pose = chain.Take(LocationAt(robot.WorldFromCamera(2), kTracking), stamp);
    ASSERT_TRUE(pose.has_value());
    EXPECT_LT(Apart(pose->odom_from_base, robot.Base(2)), 1e-9);
    EXPECT_FALSE(pose->linear.has_value());
  }
}

TEST(PoseChain, PassesOverWhatIsNoPose) {
  PoseChain chain(BaseAtCamera());
  EXPECT_FALSE(chain.Take(Location(), 0).has_value());  // initializing
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Location location = LocationAt(Isometry3d::Identity(), kTracking);
    location.pose.position[1] = bad;
    EXPECT_FALSE(chain.Take(location, 0).has_value());
    location = LocationAt(Isometry3d::Identity(), kTracking);
    location.pose.rotation[3] = bad;
    EXPECT_FALSE(chain.Take(location, 0).has_value());
  }
  Location location = LocationAt(Isometry3d::Identity(), kTracking);
  location.pose.rotation = {0, 0, 0, 0};
  EXPECT_FALSE(chain.Take(location, 0).has_value());
}

// Against what makes worlds level: a base that stands level when the map begins is at the map's origin, whatever way
// its camera looks.
TEST(PoseChain, LevelMapBeginsAtTheBase) {
  Isometry3d optical = Isometry3d::Identity();
  optical.linear() << 0, 0, 1, -1, 0, 0, 0, -1, 0;
  Isometry3d down = Isometry3d::Identity();  // the upper edge of images is ahead
  down.linear() << 0, -1, 0, -1, 0, 0, 0, 0, -1;
  Isometry3d up = Isometry3d::Identity();
  up.linear() << 1, 0, 0, 0, 1, 0, 0, 0, 1;
  for (const Isometry3d& mounting :
       {SomeMounting(), optical, Transform({0, 0, 1.3}, {0.1, 0.2, 0.3}) * optical,
        Transform({0, 0.8, 0}, {0, 0, 1}) * optical, down, Transform({0, 0, -0.7}, {0, 1, 0.2}) * down,
        Transform({0.02, 0.03, 2}, {0, 1, 0.2}) * down, up, Transform({0, 0, 1.1}, {0.3, 0, 0}) * up}) {
    const Vector3d gravity = mounting.linear().transpose() * Vector3d(0, 0, -9.81);
    const slam::Pose level = slam::LevelWorld(gravity, slam::Pose());
    Location location = LocationAt(Isometry3d(Eigen::Translation3d(level.translation) * level.rotation), kTracking);
    location.level = true;
    PoseChain chain(mounting);
    const std::optional<ChainPose> pose = chain.Take(location, 0);
    ASSERT_TRUE(pose.has_value());
    EXPECT_LT(Apart(pose->map_from_base, Isometry3d::Identity()), 1e-9) << pose->map_from_base.matrix();
    EXPECT_LT((chain.map_from_world().linear() * Vector3d::UnitZ() - Vector3d::UnitZ()).norm(), 1e-12);
  }
}

TEST(PoseChain, HasTheMapOfAWorldAlsoWhileNotLocated) {
  const Robot robot;
  PoseChain chain(robot.base_from_camera);
  chain.Take(LocationAt(robot.WorldFromCamera(0), kTracking), 0);
  Location lost = LocationAt(Isometry3d::Identity(), LocationStatus::kLost, 1);
  lost.level = true;
  EXPECT_FALSE(chain.Take(lost, kPeriodNs).has_value());
  EXPECT_LT(
      (chain.map_from_world() * Vector3d::UnitZ() - robot.base_from_camera.translation() - Vector3d::UnitZ()).norm(),
      1e-12);
}

TEST(PoseChain, TakesRawCamerasToRectifiedOnes) {
  client::RectifiedPair pair;
  pair.rectified_from_left = Eigen::AngleAxisd(0.2, Vector3d::UnitX()).toRotationMatrix();
  const Isometry3d base_from_left = SomeMounting();
  const Vector3d of_left(0.1, 0.4, 2);
  const Isometry3d posed = BaseFromPosed(base_from_left, pair);
  EXPECT_LT((posed * (pair.rectified_from_left * of_left) - base_from_left * of_left).norm(), 1e-12);
  EXPECT_EQ(BaseFromPosed(base_from_left, std::nullopt).matrix(), base_from_left.matrix());
}

}  // namespace
}  // namespace glint::ros2
