// The tracks that a server must find, by the scalar reference.
#ifndef GLINT_TESTS_SERVER_REFERENCE_TRACKS_H_
#define GLINT_TESTS_SERVER_REFERENCE_TRACKS_H_

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "features/reference/reference.h"
#include "features/reference/tracker.h"
#include "glint/v1/tracking.pb.h"
#include "server/operations/track/track_session.h"

namespace glint::testing {

class ReferenceBackend : public TrackBackend {
 public:
  bool HasFrames(int camera) const override { return At(camera).has_last; }
  absl::StatusOr<ImageView> SetFrame(int camera, int number, const Pixels& image) override {
    Camera& at = At(camera);
    std::vector<Image>& levels = at.frames[static_cast<size_t>(number)];
    levels.clear();
    levels.push_back(Image::CopyOf(image.view));
    while (levels.size() < kMaxTrackLevels && levels.back().width() >= 2 && levels.back().height() >= 2) {
      levels.push_back(reference::HalveForTracking(levels.back()));
    }
    return levels[0].view();
  }
  absl::Status StartFollow(int camera, int to, const TrackInput& points, absl::Span<const TrackSegment> segments,
                           const TrackOptions& options, TrackResult* result) override {
    const auto views = [&](int number) {
      const std::vector<Image>& levels = At(camera).frames[static_cast<size_t>(number)];
      return std::vector<ImageView>(levels.begin(), levels.end());
    };
    const std::vector<ImageView> next = views(to);
    result->Resize(static_cast<size_t>(points.count));
    int begin = 0;
    for (const TrackSegment& segment : segments) {
      const std::vector<ImageView> from = views(segment.frame);
      TrackInput input = points;
      input.from = {from.data(), static_cast<int>(from.size())};
      input.to = {next.data(), static_cast<int>(next.size())};
      input.count = segment.count;
      for (const float** array : {&input.x, &input.y, &input.to_x, &input.to_y}) *array += begin;
      if (absl::Status s = ValidateTrackInput(input, options); !s.ok()) return s;
      result->Put(static_cast<size_t>(begin), reference::Track(input, options));
      begin += segment.count;
    }
    return absl::OkStatus();
  }
  absl::Status FinishFollow(int, TrackResult*) override { return absl::OkStatus(); }
  absl::Status StartDetect(const DetectorOptions& options, const ImageView& image, const ImageView& mask,
                           Features* features) override {
    *features = reference::Detect(options, image, mask);
    return absl::OkStatus();
  }
  absl::Status FinishDetect() override { return absl::OkStatus(); }
  void Keep() {
    for (Camera& camera : cameras_) camera.has_last = true;
  }

 private:
  struct Camera {
    std::array<std::vector<Image>, kMaxKeptFrames> frames;
    bool has_last = false;
  };
  Camera& At(int camera) { return cameras_[static_cast<size_t>(camera)]; }
  const Camera& At(int camera) const { return cameras_[static_cast<size_t>(camera)]; }

  std::array<Camera, kMaxTrackCameras> cameras_;
};

class ReferenceTracks {
 public:
  explicit ReferenceTracks(const TrackingOptions& options) : session_(options) {}

  TrackSession* session() { return &session_; }
  // One image of each camera.
  const std::vector<CameraTracks>& Frame(const std::vector<ImageView>& images, int64_t time_ns = 0, bool detect = false,
                                         absl::Span<const TrackPrediction> predictions = {}) {
    found_.resize(images.size());
    EXPECT_TRUE(session_.Begin(time_ns, detect, predictions, &scratch_).ok());
    for (size_t c = 0; c < images.size(); ++c) {
      EXPECT_TRUE(session_.Start(static_cast<int>(c), images[c], &backend_, &scratch_, &found_[c]).ok());
      EXPECT_TRUE(session_.Finish(static_cast<int>(c), &backend_, &scratch_, &found_[c]).ok());
    }
    session_.Commit(found_.data());
    backend_.Keep();
    return found_;
  }

 private:
  TrackSession session_;
  ReferenceBackend backend_;
  TrackScratch scratch_;
  std::vector<CameraTracks> found_;
};

inline CameraTracks ToTracks(const v1::CameraTracks& wire) {
  CameraTracks t;
  t.id.assign(wire.id().begin(), wire.id().end());
  t.age.assign(wire.age().begin(), wire.age().end());
  for (const int state : wire.state()) t.state.push_back(static_cast<TrackState>(state));
  t.x.assign(wire.x().begin(), wire.x().end());
  t.y.assign(wire.y().begin(), wire.y().end());
  t.last_x.assign(wire.last_x().begin(), wire.last_x().end());
  t.last_y.assign(wire.last_y().begin(), wire.last_y().end());
  t.residual.assign(wire.residual().begin(), wire.residual().end());
  t.gain.assign(wire.gain().begin(), wire.gain().end());
  t.offset.assign(wire.offset().begin(), wire.offset().end());
  t.detected = wire.detected();
  t.has_templates = wire.template_age_size() > 0;
  for (const int32_t age : wire.template_age()) t.origin.push_back({0, 0, static_cast<uint32_t>(age), 0});
  return t;
}

// Bit for bit.
inline void ExpectSameTracks(const CameraTracks& expected, const CameraTracks& actual) {
  EXPECT_EQ(expected.id, actual.id);
  EXPECT_EQ(expected.age, actual.age);
  EXPECT_EQ(expected.state, actual.state);
  EXPECT_EQ(expected.x, actual.x);
  EXPECT_EQ(expected.y, actual.y);
  EXPECT_EQ(expected.last_x, actual.last_x);
  EXPECT_EQ(expected.last_y, actual.last_y);
  EXPECT_EQ(expected.residual, actual.residual);
  EXPECT_EQ(expected.gain, actual.gain);
  EXPECT_EQ(expected.offset, actual.offset);
  EXPECT_EQ(expected.detected, actual.detected);
  EXPECT_EQ(expected.has_templates && expected.count() > 0, actual.has_templates);
  for (size_t i = 0; i < expected.count() && actual.has_templates; ++i) {
    EXPECT_EQ(expected.origin[i].age, actual.origin[i].age) << i;
  }
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_REFERENCE_TRACKS_H_
