// Cameras, tables and remapped images beside OpenCV's, which are equal.
#include <Eigen/Geometry>
#include <cmath>
#include <opencv2/calib3d.hpp>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <random>

#include "features/camera/rectification.h"
#include "features/reference/remap.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/camera/test_cameras.h"

namespace glint {
namespace {

cv::Mat MatOf(const Eigen::Matrix3d& matrix) {
  cv::Mat out(3, 3, CV_64F);
  for (int i = 0; i < 9; ++i) out.at<double>(i / 3, i % 3) = matrix(i / 3, i % 3);
  return out;
}

Eigen::Matrix3d MatrixOf(const cv::Mat& mat) {
  Eigen::Matrix3d out;
  for (int i = 0; i < 9; ++i) out(i / 3, i % 3) = mat.at<double>(i / 3, i % 3);
  return out;
}

cv::Mat VectorOf(const Eigen::Vector3d& v) { return (cv::Mat_<double>(3, 1) << v.x(), v.y(), v.z()); }

cv::Mat Intrinsics(const Camera& c) { return (cv::Mat_<double>(3, 3) << c.fx, 0, c.cx, 0, c.fy, c.cy, 0, 0, 1); }

cv::Mat Coefficients(const Camera& c) {
  int count = c.model == CameraModel::kPinhole ? 4 : static_cast<int>(LensCoefficientsOf(c.model).size());
  if (c.model == CameraModel::kThinPrism && c.lens[12] == 0 && c.lens[13] == 0) count = 12;
  return cv::Mat(1, count, CV_64F, const_cast<double*>(c.lens.data())).clone();
}

bool IsFisheye(const Camera& camera) { return camera.model == CameraModel::kKannalaBrandt; }

class Random {
 public:
  explicit Random(uint32_t seed) : bits_(seed) {}
  double Real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(bits_); }
  int Integer(int low, int high) { return std::uniform_int_distribution<int>(low, high)(bits_); }

  Shape AnyShape() { return {Integer(1, 200), Integer(1, 150)}; }
  Eigen::Matrix3d SmallTurn() {
    const Eigen::Vector3d axis(Real(-1, 1), Real(-1, 1), Real(-1, 1));
    return Eigen::AngleAxisd(Real(0, 0.2), axis.normalized()).toRotationMatrix();
  }
  Camera Lens(CameraModel model) {
    Camera camera;
    camera.model = model;
    camera.image = AnyShape();
    camera.fx = Real(0.4, 2) * camera.image.width;
    camera.fy = camera.fx * Real(0.95, 1.05);
    camera.cx = camera.image.width * Real(0.3, 0.7);
    camera.cy = camera.image.height * Real(0.3, 0.7);
    const double spread[] = {0.3, 0.1, 2e-3, 2e-3, 0.03, 0.2, 0.1, 0.02, 0.02, 5e-3, 0.02, 5e-3, 0.1, 0.1};
    for (size_t i = 0; i < LensCoefficientsOf(model).size(); ++i) {
      camera.lens[i] = IsFisheye(camera) ? Real(-0.02, 0.02) : Real(-spread[i], spread[i]);
    }
    if (model == CameraModel::kThinPrism && Integer(0, 1) == 0) camera.lens[12] = camera.lens[13] = 0;  // the twelve
    return camera;
  }
  Camera View() {
    const Shape image = AnyShape();
    const double f = Real(0.5, 2) * image.width;
    return {CameraModel::kPinhole, image, f, f, image.width * Real(0.3, 0.7), image.height * Real(0.3, 0.7), {}};
  }

 private:
  std::mt19937 bits_;
};

// cv::remap's two maps for what `from` sees.
void OpenCvMaps(const Camera& from, const Eigen::Matrix3d& turn, const Camera& to, cv::Mat* at, cv::Mat* fraction) {
  const cv::Size size(to.image.width, to.image.height);
  if (IsFisheye(from)) {
    cv::fisheye::initUndistortRectifyMap(Intrinsics(from), Coefficients(from), MatOf(turn), Intrinsics(to), size,
                                         CV_16SC2, *at, *fraction);
  } else {
    cv::initUndistortRectifyMap(Intrinsics(from), Coefficients(from), MatOf(turn), Intrinsics(to), size, CV_16SC2, *at,
                                *fraction);
  }
}

constexpr CameraModel kModelsOfOpenCv[] = {CameraModel::kPinhole, CameraModel::kRadialTangential,
                                           CameraModel::kRational, CameraModel::kKannalaBrandt,
                                           CameraModel::kThinPrism};

TEST(OpenCv, ProjectsPointsAlike) {
  for (const TestCamera& test : TestCameras()) {
    const Camera camera = test.camera();
    if (std::find(std::begin(kModelsOfOpenCv), std::end(kModelsOfOpenCv), camera.model) == std::end(kModelsOfOpenCv)) {
      continue;
    }
    Random random(1);
    std::vector<cv::Point3d> points;
    for (int i = 0; i < 500; ++i) points.emplace_back(random.Real(-1, 1), random.Real(-0.8, 0.8), random.Real(1.5, 3));
    std::vector<cv::Point2d> pixels;
    const cv::Mat zero = cv::Mat::zeros(3, 1, CV_64F);
    if (IsFisheye(camera)) {
      cv::fisheye::projectPoints(points, pixels, zero, zero, Intrinsics(camera), Coefficients(camera));
    } else {
      cv::projectPoints(points, zero, zero, Intrinsics(camera), Coefficients(camera), pixels);
    }
    for (size_t i = 0; i < points.size(); ++i) {
      Eigen::Vector2d pixel;
      ASSERT_TRUE(Project(camera, {points[i].x, points[i].y, points[i].z}, &pixel)) << test.name;
      EXPECT_NEAR(pixel.x(), pixels[i].x, 1e-9) << test.name;
      EXPECT_NEAR(pixel.y(), pixels[i].y, 1e-9) << test.name;
    }
  }
}

// Where a lens folds, OpenCV's tables fold, too, and from 90 degrees on they mean nothing: there alone ours differ.
TEST(OpenCv, HasTheSameTables) {
  Random random(2);
  int64_t compared = 0, unseen = 0;
  for (int i = 0; i < 150; ++i) {
    const Camera from = random.Lens(kModelsOfOpenCv[i % 5]);
    const Camera to = random.View();
    const Eigen::Matrix3d turn = random.SmallTurn();
    const RemapTable table = MakeRemapTable(from, turn, to);
    cv::Mat at, fraction;
    OpenCvMaps(from, turn, to, &at, &fraction);
    for (int y = 0; y < to.image.height; ++y) {
      for (int x = 0; x < to.image.width; ++x) {
        const RemapTable::Entry& ours = table.row(y)[x];
        const Eigen::Vector3d ray((x - to.cx) / to.fx, (y - to.cy) / to.fy, 1);
        if (ours.x == RemapTable::kNowhere || (IsFisheye(from) && turn.col(2).dot(ray) <= 0)) {
          ++unseen;
          continue;
        }
        ++compared;
        const cv::Vec2s& pixel = at.at<cv::Vec2s>(y, x);
        const bool same = ours.x == pixel[0] && ours.y == pixel[1] &&
                          ours.fraction_y * 32 + ours.fraction_x == fraction.at<uint16_t>(y, x);
        ASSERT_TRUE(same) << "table " << i << " at " << x << ", " << y << ": (" << ours.x << ", " << ours.y << "), not "
                          << pixel;
      }
    }
  }
  EXPECT_LT(unseen, compared / 10);
}

TEST(OpenCv, RemapsToTheSameBytes) {
  Random random(3);
  for (int i = 0; i < 120; ++i) {
    RemapTable table;
    table.source = i < 20 ? Shape{1 + i % 4, 1 + i / 4} : random.AnyShape();
    table.shape = i == 0 ? Shape{1, 1} : random.AnyShape();
    cv::Mat source(table.source.height, table.source.width, CV_8U);
    cv::randu(source, 0, 256);
    cv::Mat at(table.shape.height, table.shape.width, CV_16SC2), fraction(at.size(), CV_16U);
    for (int64_t n = 0; n < table.shape.pixels(); ++n) {
      RemapTable::Entry entry;
      entry.x = static_cast<int16_t>(random.Integer(-3, table.source.width + 2));  // all borders
      entry.y = static_cast<int16_t>(random.Integer(-3, table.source.height + 2));
      if (random.Integer(0, 50) == 0) entry.x = entry.y = RemapTable::kNowhere;
      entry.fraction_x = static_cast<uint8_t>(random.Integer(0, 31));
      entry.fraction_y = static_cast<uint8_t>(random.Integer(0, 31));
      table.entries.push_back(entry);
      at.at<cv::Vec2s>(static_cast<int>(n)) = {entry.x, entry.y};
      fraction.at<uint16_t>(static_cast<int>(n)) = static_cast<uint16_t>(entry.fraction_y * 32 + entry.fraction_x);
    }
    Image ours;
    reference::Remap({source.data, source.cols, source.rows, static_cast<ptrdiff_t>(source.step)}, table, &ours);
    cv::Mat theirs;
    cv::remap(source, theirs, at, fraction, cv::INTER_LINEAR, cv::BORDER_CONSTANT, 0);
    for (int y = 0; y < theirs.rows; ++y) {
      ASSERT_EQ(std::memcmp(ours.row(y), theirs.ptr(y), static_cast<size_t>(theirs.cols)), 0) << i << ", row " << y;
    }
  }
}

// The whole way, as a user of OpenCV goes it.
TEST(OpenCv, RectifiesPairsAlike) {
  const auto pair = RectifyPair(EurocLeft(), EurocRight(), EurocRightFromLeft(), {});
  ASSERT_TRUE(pair.ok()) << pair.status();
  const RigidTransform transform = EurocRightFromLeft();
  cv::Mat r1, r2, p1, p2, q;
  cv::stereoRectify(Intrinsics(EurocLeft()), Coefficients(EurocLeft()), Intrinsics(EurocRight()),
                    Coefficients(EurocRight()), {752, 480}, MatOf(transform.rotation), VectorOf(transform.translation),
                    r1, r2, p1, p2, q, cv::CALIB_ZERO_DISPARITY, 0);
  EXPECT_LT((MatrixOf(r1) - pair->rectified_from_left).norm(), 1e-9);
  EXPECT_LT((MatrixOf(r2) - pair->rectified_from_right).norm(), 1e-9);
  EXPECT_NEAR(pair->camera.fx / p1.at<double>(0, 0), 1, 0.03) << p1;
  EXPECT_NEAR(pair->camera.cx, p1.at<double>(0, 2), 20);
  EXPECT_NEAR(pair->camera.cy, p1.at<double>(1, 2), 20);
  EXPECT_NEAR(pair->baseline, -p2.at<double>(0, 3) / p2.at<double>(0, 0), 1e-9);
}

TEST(OpenCv, TurnsRandomPairsAlike) {
  Random random(4);
  for (int i = 0; i < 50; ++i) {
    const Camera camera = TestCameras()[1].camera();
    RigidTransform right_from_left;
    right_from_left.rotation = random.SmallTurn();
    right_from_left.translation << random.Real(-0.5, -0.05), random.Real(-0.02, 0.02), random.Real(-0.02, 0.02);
    const auto pair = RectifyPair(camera, camera, right_from_left, {{64, 40}});
    ASSERT_TRUE(pair.ok()) << pair.status();
    cv::Mat r1, r2, p1, p2, q;
    cv::stereoRectify(Intrinsics(camera), Coefficients(camera), Intrinsics(camera), Coefficients(camera), {752, 480},
                      MatOf(right_from_left.rotation), VectorOf(right_from_left.translation), r1, r2, p1, p2, q,
                      cv::CALIB_ZERO_DISPARITY, 0);
    EXPECT_LT((MatrixOf(r1) - pair->rectified_from_left).norm(), 1e-9);
    EXPECT_LT((MatrixOf(r2) - pair->rectified_from_right).norm(), 1e-9);
  }
}

}  // namespace
}  // namespace glint
