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
#include "server/track/track_session.h"

namespace glint::testing {

class ReferenceBackend : public TrackBackend {
 public:
  bool HasLast(int camera) const override { return !At(camera).last.empty(); }
  absl::StatusOr<ImageView> SetNext(int camera, const Pixels& image) override {
    Camera& at = At(camera);
    if (!at.last.empty() && at.last[0].shape() != image.shape()) at.last.clear();
    at.next.clear();
    at.next.push_back(Image::CopyOf(image.view));
    while (at.next.size() < kMaxTrackLevels && at.next.back().width() >= 2 && at.next.back().height() >= 2) {
      at.next.push_back(reference::HalveForTracking(at.next.back()));
    }
    return at.next[0].view();
  }
  absl::Status Follow(int camera, const TrackInput& points, const TrackOptions& options, TrackResult* result) override {
    const std::vector<ImageView> last(At(camera).last.begin(), At(camera).last.end());
    const std::vector<ImageView> next(At(camera).next.begin(), At(camera).next.end());
    TrackInput input = points;
    input.from = {last.data(), static_cast<int>(last.size())};
    input.to = {next.data(), static_cast<int>(next.size())};
    if (absl::Status s = ValidateTrackInput(input, options); !s.ok()) return s;
    *result = reference::Track(input, options);
    return absl::OkStatus();
  }
  absl::Status Detect(const DetectorOptions& options, const ImageView& image, const ImageView& mask,
                      Features* features) override {
    *features = reference::Detect(options, image, mask);
    return absl::OkStatus();
  }
  void Advance() {
    for (Camera& camera : cameras_) {
      if (!camera.next.empty()) camera.last = std::move(camera.next);
      camera.next.clear();
    }
  }

 private:
  struct Camera {
    std::vector<Image> last, next;
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
  const std::vector<CameraTracks>& Frame(const std::vector<ImageView>& images, int64_t time_ns = 0,
                                         bool detect = false) {
    found_.resize(images.size());
    EXPECT_TRUE(session_.Begin(time_ns, detect).ok());
    for (size_t c = 0; c < images.size(); ++c) {
      EXPECT_TRUE(session_.Run(static_cast<int>(c), images[c], &backend_, &scratch_, &found_[c]).ok());
    }
    session_.Commit(found_.data());
    backend_.Advance();
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
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_REFERENCE_TRACKS_H_
