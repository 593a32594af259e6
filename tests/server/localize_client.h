// Streams that locate a camera, as their clients see them, and the library's answers beside the server's.
#ifndef GLINT_TESTS_SERVER_LOCALIZE_CLIENT_H_
#define GLINT_TESTS_SERVER_LOCALIZE_CLIENT_H_

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "glint/v1/localization.grpc.pb.h"
#include "slam/localizer.h"

namespace glint::testing {

inline auto IsWarning(v1::WarningKind kind, const ::testing::Matcher<double>& figure, const std::string& unit,
                      const std::string& text) {
  return ::testing::AllOf(::testing::Property("kind", &v1::Warning::kind, kind),
                          ::testing::Property("figure", &v1::Warning::figure, figure),
                          ::testing::Property("unit", &v1::Warning::unit, unit),
                          ::testing::Property("text", &v1::Warning::text, ::testing::HasSubstr(text)));
}

inline void ExpectSame(const Eigen::Vector3d& expected, const v1::Vector& found) {
  EXPECT_EQ(Eigen::Vector3d(found.x(), found.y(), found.z()), expected);
}

// But for the counts of readings, which depend on the order that these come in.
inline void ExpectSame(const slam::InertialReport& expected, const v1::Location& location) {
  ASSERT_EQ(location.has_inertial(), expected.status != InertialStatus::kNone);
  const v1::Inertial& found = location.inertial();
  EXPECT_EQ(found.status(), static_cast<int>(expected.status));
  EXPECT_EQ(found.level(), expected.is_level);
  EXPECT_EQ(found.rotation_innovation(), expected.rotation_innovation);
  EXPECT_EQ(found.position_innovation(), expected.position_innovation);
  EXPECT_EQ(found.blind_ns(), std::llround(1e9 * expected.blind_seconds));
  EXPECT_EQ(found.has_velocity(), expected.status == InertialStatus::kReady);
  if (!found.has_velocity()) return;
  ExpectSame(expected.motion.velocity, found.velocity());
  ExpectSame(expected.motion.bias.gyroscope, found.gyroscope_bias());
  ExpectSame(expected.motion.bias.accelerometer, found.accelerometer_bias());
  EXPECT_EQ(found.velocity_sigma(), expected.velocity_sigma);
  EXPECT_EQ(found.gyroscope_bias_sigma(), expected.gyroscope_bias_sigma);
  EXPECT_EQ(found.accelerometer_bias_sigma(), expected.accelerometer_bias_sigma);
}

// Bit for bit.
inline void ExpectSame(const slam::LocalizerResult& expected, const v1::LocalizeStreamResponse& response) {
  EXPECT_EQ(response.status().message(), "");
  const v1::Location& found = response.location();
  EXPECT_EQ(found.status(), static_cast<int>(expected.status) + 1);
  const Eigen::Quaterniond& q = expected.world_from_camera.rotation;
  const double sign = q.w() < 0 ? -1 : 1;
  EXPECT_EQ(found.pose().qx(), sign * q.x());
  EXPECT_EQ(found.pose().qy(), sign * q.y());
  EXPECT_EQ(found.pose().qz(), sign * q.z());
  EXPECT_EQ(found.pose().qw(), sign * q.w());
  EXPECT_EQ(found.level(), expected.inertial.is_level);
  ASSERT_EQ(found.has_world_correction(), expected.world_correction.has_value());
  if (expected.world_correction.has_value()) {
    EXPECT_EQ(found.world_correction().y(), expected.world_correction->translation.y());
  }
  EXPECT_EQ(found.pose().x(), expected.world_from_camera.translation.x());
  EXPECT_EQ(found.pose().y(), expected.world_from_camera.translation.y());
  EXPECT_EQ(found.pose().z(), expected.world_from_camera.translation.z());
  EXPECT_EQ(found.rig_rotation().y(), expected.rig_rotation.y());
  EXPECT_EQ(found.rig_uncertainty().y(), expected.rig_uncertainty.y());
  EXPECT_EQ(found.keypoints(), expected.keypoints);
  EXPECT_EQ(found.matches(), expected.matches);
  EXPECT_EQ(found.inliers(), expected.inliers);
  EXPECT_EQ(found.reprojection_error(), expected.mean_error);
  EXPECT_EQ(found.keyframe(), expected.is_keyframe);
  EXPECT_EQ(found.calibration().stereo_keypoints(), expected.calibration.stereo_keypoints);
  EXPECT_EQ(found.calibration().median_disparity(), expected.calibration.median_disparity);
  EXPECT_EQ(found.calibration().median_vertical_disparity(), expected.calibration.median_vertical_disparity);
  EXPECT_EQ(found.calibration().vertical_disparity_spread(), expected.calibration.vertical_disparity_spread);
  ASSERT_THAT(found.warnings(), ::testing::SizeIs(expected.warnings.size()));
  for (size_t i = 0; i < expected.warnings.size(); ++i) {
    const Warning& warning = expected.warnings[i];
    EXPECT_THAT(found.warnings(static_cast<int>(i)),
                IsWarning(static_cast<v1::WarningKind>(warning.kind), warning.figure, warning.unit, warning.text));
  }
  ExpectSame(expected.inertial, found);
  EXPECT_EQ(response.map_keyframes(), expected.keyframes);
  EXPECT_EQ(response.map_points(), expected.points);
  const bool has_covariance = found.status() == v1::LOCATION_STATUS_TRACKING ||
                              (found.status() == v1::LOCATION_STATUS_COASTING && !expected.covariance.isZero(0));
  ASSERT_THAT(found.covariance(), ::testing::SizeIs(has_covariance ? 21 : 0));
  if (found.covariance_size() == 0) return;
  EXPECT_EQ(found.covariance(1), expected.covariance(0, 1));
  EXPECT_EQ(found.covariance(20), expected.covariance(5, 5));
}

// A stream, one message after the other.
struct LocalizeClientStream {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::LocalizeStreamRequest, v1::LocalizeStreamResponse>> stream;

  v1::LocalizeStreamResponse Read() {
    v1::LocalizeStreamResponse response;
    EXPECT_TRUE(stream->Read(&response));
    return response;
  }
  v1::LocalizeStreamResponse Ask(const v1::LocalizeStreamRequest& request) {
    EXPECT_TRUE(stream->Write(request));
    return Read();
  }
  void ExpectError(const v1::LocalizeStreamRequest& request, grpc::StatusCode code, const std::string& text) {
    const v1::LocalizeStreamResponse response = Ask(request);
    EXPECT_EQ(response.status().code(), code) << response.status().message();
    EXPECT_THAT(response.status().message(), ::testing::HasSubstr(text));
    EXPECT_EQ(response.answer_case(), v1::LocalizeStreamResponse::ANSWER_NOT_SET);
  }
  grpc::Status Finish() {
    stream->WritesDone();
    v1::LocalizeStreamResponse response;
    EXPECT_FALSE(stream->Read(&response));
    return stream->Finish();
  }
};

class LocalizeClient {
 public:
  explicit LocalizeClient(const std::shared_ptr<grpc::Channel>& channel) : stub_(v1::Localization::NewStub(channel)) {}

  std::unique_ptr<LocalizeClientStream> Open(const v1::LocalizeStreamOptions& options) const {
    auto open = std::make_unique<LocalizeClientStream>();
    open->stream = stub_->LocalizeStream(&open->context);
    v1::LocalizeStreamRequest first;
    *first.mutable_options() = options;
    open->stream->Write(first);
    return open;
  }
  // Why a stream with these options ends.
  std::string Refusal(const v1::LocalizeStreamOptions& options) const {
    return Open(options)->Finish().error_message();
  }

 private:
  const std::unique_ptr<v1::Localization::Stub> stub_;
};

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_LOCALIZE_CLIENT_H_
