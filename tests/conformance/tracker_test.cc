// Tracking beside cv::calcOpticalFlowPyrLK with the same patch, levels and criteria: on rendered scenes, where the
// truth is known, with and without changes of intensity; and on real sequences (GLINT_TEST_DATA), by tracking back.
#include "cpu/track/tracker.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "opencv2/imgproc.hpp"
#include "opencv2/video/tracking.hpp"
#include "tests/conformance/oracle.h"
#include "tests/scene/scene.h"

namespace glint {
namespace {

using Points = std::vector<cv::Point2f>;

constexpr int kPatch = 21;
constexpr int kLevels = 3;

// Where points were found, and which were tracked.
struct Flow {
  Points to;
  std::vector<bool> ok;
};

class Trackers {
 public:
  Flow Glint(const Image& from, const Image& to, const Points& points, const TrackOptions& options) {
    from_.Build(from, options.levels);
    to_.Build(to, options.levels);
    std::vector<float> x, y;
    for (const cv::Point2f& p : points) {
      x.push_back(p.x);
      y.push_back(p.y);
    }
    TrackInput input;
    input.from = from_.view();
    input.to = to_.view();
    input.count = static_cast<int>(points.size());
    input.x = x.data();
    input.y = y.data();
    EXPECT_TRUE(ValidateTrackInput(input, options).ok());
    tracker_.Track(input, options, &result_);
    Flow flow;
    for (size_t i = 0; i < points.size(); ++i) {
      flow.to.emplace_back(result_.x[i], result_.y[i]);
      flow.ok.push_back(result_.status[i] == TrackStatus::kTracked);
    }
    return flow;
  }

  // Points that end outside of the image count as lost, as Glint's.
  static Flow OpenCv(const Image& from, const Image& to, const Points& points) {
    Flow flow;
    if (points.empty()) return flow;
    std::vector<uint8_t> status;
    std::vector<float> error;
    cv::calcOpticalFlowPyrLK(testing::MatOf(from), testing::MatOf(to), points, flow.to, status, error, {kPatch, kPatch},
                             kLevels - 1, {cv::TermCriteria::COUNT + cv::TermCriteria::EPS, 30, 0.01}, 0, 1e-4);
    for (size_t i = 0; i < points.size(); ++i) {
      const cv::Point2f p = flow.to[i];
      const bool is_inside = p.x >= 0 && p.y >= 0 && p.x <= static_cast<float>(to.width() - 1) &&
                             p.y <= static_cast<float>(to.height() - 1);
      flow.ok.push_back(status[i] != 0 && is_inside);
    }
    return flow;
  }

 private:
  cpu::TrackLevels from_;
  cpu::TrackLevels to_;
  cpu::Tracker tracker_;
  TrackResult result_;
};

TrackOptions SameAsOpenCv() {
  TrackOptions options;
  options.levels = kLevels;
  options.patch_size = kPatch;
  options.coarse_patch_size = kPatch;
  return options;
}

Points Corners(const Image& image, int count) {
  Points points;
  cv::goodFeaturesToTrack(testing::MatOf(image), points, count, 0.005, 7);
  return points;
}

// Errors of one tracker over many points with known truth.
struct Score {
  int points = 0;
  int survived = 0;  // tracked, and within a pixel of the truth
  int wrong = 0;     // tracked, and not
  double error = 0;  // sum over the survivors
  double mean() const { return survived == 0 ? 0 : error / survived; }

  void Add(const Flow& flow, const Points& truth) {
    for (size_t i = 0; i < truth.size(); ++i) {
      ++points;
      if (!flow.ok[i]) continue;
      const double distance = std::hypot(flow.to[i].x - truth[i].x, flow.to[i].y - truth[i].y);
      if (distance > 1) {
        ++wrong;
        continue;
      }
      ++survived;
      error += distance;
    }
  }
};

void Print(const char* name, const Score& score) {
  std::printf("  %-24s %5d points, %5d within 1 px (%.1f %%), mean error %.4f px, %d wrong\n", name, score.points,
              score.survived, 100.0 * score.survived / score.points, score.mean(), score.wrong);
}

// A pair of frames of a scene, corners of the first, and where they are in the second, if they can be seen there.
struct TruePair {
  Image from;
  Image to;
  Points points;
  Points truth;
};

std::vector<TruePair> RenderPairs() {
  std::vector<TruePair> pairs;
  for (const scene::Layout layout : {scene::Layout::kPlane, scene::Layout::kRoom}) {
    for (const scene::Motion motion :
         {scene::Motion::kPan, scene::Motion::kRoll, scene::Motion::kZoom, scene::Motion::kWalk}) {
      scene::SceneOptions options;
      options.layout = layout;
      options.motion = motion;
      options.seed = 7;
      const scene::Scene scene(options);
      for (const int frame : {2, 9}) {
        TruePair pair;
        const scene::Pose a = scene.PoseAt(frame);
        const scene::Pose b = scene.PoseAt(frame + 1);
        pair.from = scene.Render(a);
        pair.to = scene.Render(b);
        const std::vector<float> depth_a = scene.Depth(a);
        const std::vector<float> depth_b = scene.Depth(b);
        const auto at = [&](const std::vector<float>& depth, double x, double y) {
          return depth[static_cast<size_t>(std::lround(y) * options.shape.width + std::lround(x))];
        };
        for (const cv::Point2f& p : Corners(pair.from, 400)) {
          const double depth = at(depth_a, p.x, p.y);
          const scene::Vec3 there = b.ToCamera(a.ToWorld(depth * scene.camera().Ray({p.x, p.y})));
          const scene::Pixel q = scene.camera().Project(there);
          if (q.x < 0 || q.y < 0 || q.x > options.shape.width - 1 || q.y > options.shape.height - 1) continue;
          if (std::fabs(at(depth_b, q.x, q.y) - there.z) > 0.02 * there.z) continue;  // hidden
          pair.points.push_back(p);
          pair.truth.emplace_back(static_cast<float>(q.x), static_cast<float>(q.y));
        }
        pairs.push_back(std::move(pair));
      }
    }
  }
  return pairs;
}

Image WithIntensity(const Image& image, float gain, float offset) {
  Image out = Image::CopyOf(image);
  for (int y = 0; y < out.height(); ++y) {
    for (int x = 0; x < out.width(); ++x) {
      const float value = gain * static_cast<float>(image.row(y)[x]) + offset;
      out.row(y)[x] = static_cast<uint8_t>(std::clamp(std::lround(value), 0L, 255L));
    }
  }
  return out;
}

TEST(TrackingWithTruth, IsAsGoodAsOpenCv) {
  Trackers trackers;
  const std::vector<TruePair> pairs = RenderPairs();
  Score ours, theirs;
  for (const TruePair& pair : pairs) {
    ours.Add(trackers.Glint(pair.from, pair.to, pair.points, SameAsOpenCv()), pair.truth);
    theirs.Add(Trackers::OpenCv(pair.from, pair.to, pair.points), pair.truth);
  }
  Print("glint", ours);
  Print("calcOpticalFlowPyrLK", theirs);
  EXPECT_GE(ours.survived, 0.999 * theirs.survived);
  EXPECT_LE(ours.mean(), theirs.mean());

  struct Change {
    const char* name;
    float gain;
    float offset;
  };
  for (const Change& change : {Change{"gain 0.7", 0.7f, 0}, Change{"gain 1.3", 1.3f, 0}, Change{"offset 40", 1, 40},
                               Change{"gain 0.7, offset 30", 0.7f, 30}}) {
    Score plain, both, peer;
    for (const TruePair& pair : pairs) {
      const Image changed = WithIntensity(pair.to, change.gain, change.offset);
      TrackOptions options = SameAsOpenCv();
      plain.Add(trackers.Glint(pair.from, changed, pair.points, options), pair.truth);
      options.intensity = IntensityModel::kGainAndOffset;
      both.Add(trackers.Glint(pair.from, changed, pair.points, options), pair.truth);
      peer.Add(Trackers::OpenCv(pair.from, changed, pair.points), pair.truth);
    }
    std::printf(" %s\n", change.name);
    Print("glint", plain);
    Print("glint, both estimated", both);
    Print("calcOpticalFlowPyrLK", peer);
    EXPECT_GT(both.survived, peer.survived) << change.name;
    EXPECT_LT(both.mean(), peer.mean()) << change.name;
  }
}

constexpr int kFeatures = 400;
constexpr double kMaxError = 0.5;  // pixels: of tracking back, of points that survive

class RealSequence : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Data, RealSequence, ::testing::Values("hut_long", "kitti_06/image_l", "kitti_mono"),
                         [](const auto& info) {
                           const std::string folder = info.param;
                           return folder.substr(0, folder.find('/'));
                         });

// Points of the first frame followed to the end, and points found anew in each frame and tracked to the next. A point
// survives if tracking back ends within half a pixel of where it began.
TEST_P(RealSequence, SurvivalAndBackwardError) {
  const char* data = std::getenv("GLINT_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "GLINT_TEST_DATA is not set";
  const std::filesystem::path folder = std::filesystem::path(data) / GetParam();
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << folder << " is not there";
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::vector<Image> frames;
  for (const std::string& file : files) frames.push_back(testing::LoadGray(file));

  Trackers trackers;
  struct Counts {
    int point_frames = 0;        // frames in which followed points lived, summed over the points
    int at_end = 0;              // followed points that lived to the last frame
    int tracked = 0;             // of the points found anew
    std::vector<double> errors;  // of tracking back, of the points found anew; kLost
  };
  constexpr double kLost = 1e9;
  const auto run = [&](const auto& track) {
    Counts c;
    Points living = Corners(frames[0], kFeatures);
    for (size_t f = 0; f + 1 < frames.size(); ++f) {
      const auto errors_of = [&](const Points& points, Flow* forward) {
        *forward = track(frames[f], frames[f + 1], points);
        const Flow back = track(frames[f + 1], frames[f], forward->to);
        std::vector<double> errors;
        for (size_t i = 0; i < points.size(); ++i) {
          const double error = std::hypot(back.to[i].x - points[i].x, back.to[i].y - points[i].y);
          errors.push_back(forward->ok[i] && back.ok[i] ? error : kLost);
        }
        return errors;
      };
      Flow forward;
      std::vector<double> errors = errors_of(living, &forward);
      living.clear();
      for (size_t i = 0; i < errors.size(); ++i) {
        if (errors[i] <= kMaxError) living.push_back(forward.to[i]);
      }
      c.point_frames += static_cast<int>(living.size());
      errors = errors_of(Corners(frames[f], kFeatures), &forward);
      c.errors.insert(c.errors.end(), errors.begin(), errors.end());
      c.tracked += static_cast<int>(std::count(forward.ok.begin(), forward.ok.end(), true));
    }
    c.at_end = static_cast<int>(living.size());
    return c;
  };
  const Counts ours = run([&](const Image& from, const Image& to, const Points& points) {
    return trackers.Glint(from, to, points, SameAsOpenCv());
  });
  const Counts theirs = run(Trackers::OpenCv);
  ASSERT_EQ(ours.errors.size(), theirs.errors.size());
  // The mean is over what both survive: who keeps difficult points must not look worse.
  double our_sum = 0;
  double their_sum = 0;
  int both = 0;
  for (size_t i = 0; i < ours.errors.size(); ++i) {
    if (ours.errors[i] > kMaxError || theirs.errors[i] > kMaxError) continue;
    ++both;
    our_sum += ours.errors[i];
    their_sum += theirs.errors[i];
  }
  const auto survivors = [](const Counts& c) {
    return std::count_if(c.errors.begin(), c.errors.end(), [](double e) { return e <= kMaxError; });
  };
  for (const auto& [name, c, sum] :
       {std::tuple{"glint", &ours, our_sum}, std::tuple{"calcOpticalFlowPyrLK", &theirs, their_sum}}) {
    std::printf(
        "  %-20s followed from frame 1: %d point-frames, %d to the end; anew: %zu points, %d tracked, %ld survive, "
        "backward error %.4f px\n",
        name, c->point_frames, c->at_end, c->errors.size(), c->tracked, static_cast<long>(survivors(*c)), sum / both);
  }
  EXPECT_GE(survivors(ours), survivors(theirs));
  EXPECT_GE(ours.point_frames, theirs.point_frames);
  EXPECT_LE(our_sum, 1.02 * their_sum);
}

}  // namespace
}  // namespace glint
