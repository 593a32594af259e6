// The client's settings as they come are the server's defaults, and on the wire is what differs from them.
#include <gtest/gtest.h>

#include <string>

#include "client/localization_impl.h"
#include "client/matching_wire.h"
#include "client/tracking_impl.h"
#include "client/wire.h"
#include "server/operations/localize/localize_convert.h"
#include "server/operations/match/match_convert.h"
#include "server/operations/stereo/stereo_work.h"
#include "server/operations/track/track_convert.h"
#include "server/wire/convert.h"
#include "tests/support/options.h"

namespace glint::client {
namespace {

using ::glint::testing::RandomDetector;
using ::glint::testing::RandomOptions;
using ::glint::testing::Repetitions;

constexpr const DetectorDefaults* kOperations[] = {&kDetectDefaults, &kMatchDefaults, &kStereoDefaults, &kTrackDefaults,
                                                   &kLocalizeDefaults};

template <typename Wire, typename Options>
Wire OnTheWire(const Options& options) {
  Wire wire;
  (void)ToWire(options, &wire);  // without masks nothing can fail
  return wire;
}

TEST(Defaults, AreNothingOnTheWire) {
  v1::DetectStreamOptions detect;
  ASSERT_TRUE(ToWire(StreamOptions(), &detect).ok());
  EXPECT_EQ(detect.detector().ByteSizeLong(), 0u) << detect.DebugString();
  const auto match = OnTheWire<v1::MatchStreamOptions>(MatchStreamOptions());
  EXPECT_EQ(match.detector().ByteSizeLong() + match.match().ByteSizeLong(), 0u) << match.DebugString();
  const auto stereo = OnTheWire<v1::StereoStreamOptions>(StereoStreamOptions());
  EXPECT_EQ(stereo.detector().ByteSizeLong() + stereo.stereo().ByteSizeLong(), 0u) << stereo.DebugString();
  const auto track = OnTheWire<v1::TrackStreamOptions>(TrackStreamOptions());
  EXPECT_EQ(track.detector().ByteSizeLong() + track.track().ByteSizeLong(), 0u) << track.DebugString();
  EXPECT_FALSE(track.has_cameras() || track.has_target() || track.has_min_share()) << track.DebugString();
  const auto localize = OnTheWire<v1::LocalizeStreamOptions>(LocalizeStreamOptions());
  EXPECT_EQ(localize.detector().ByteSizeLong(), 0u) << localize.DebugString();
}

TEST(Defaults, AreWhatTheServerMakesOfNothing) {
  const ServerOptions server;
  for (const DetectorDefaults* defaults : kOperations) {
    EXPECT_EQ(*FromProto(v1::DetectorOptions(), kMaxFeatures, *defaults), DefaultDetector(*defaults));
  }
  EXPECT_EQ(DefaultDetector(kDetectDefaults).descriptor, Descriptor::kRbrief);
  EXPECT_EQ(DefaultDetector(kTrackDefaults).descriptor, Descriptor::kNone);
  EXPECT_EQ(DefaultDetector(kLocalizeDefaults).max_features, 2000);

  const MatchCriteria match = *FromProto(v1::MatchOptions());
  EXPECT_EQ(match.window_radius, MatchSettings().window_radius);
  EXPECT_EQ(match.max_octave_difference, MatchSettings().max_octave_difference);
  EXPECT_EQ(StereoCriteria().max_time_difference_ns,
            absl::ToInt64Nanoseconds(StereoStreamOptions().max_time_difference));
  SessionOptions session;
  const TrackingOptions track = *FromProto(v1::TrackStreamOptions(), server, &session);
  const TrackStreamOptions same;
  EXPECT_EQ(track.detector, same.detector);
  EXPECT_EQ(track.cameras, same.cameras);
  EXPECT_EQ(track.target, same.target);
  EXPECT_EQ(track.min_share, same.min_share);
  EXPECT_EQ(track.on_request, same.on_request);
  EXPECT_EQ(track.predict, same.predict);
  EXPECT_EQ(track.template_frames, same.template_frames);
}

TEST(Defaults, DetectorIsThePresetAndWhatDiffers) {
  v1::DetectorOptions wire;
  ToWire(DetectorOptions(), kDetectDefaults, &wire);
  EXPECT_EQ(wire.DebugString(), "descriptor_kind: DESCRIPTOR_NONE\n");
  DetectorOptions options = *PresetOptions("pyca");
  ToWire(options, kStereoDefaults, &wire);
  EXPECT_EQ(wire.DebugString(), "preset: \"pyca\"\n");
  options.cell_width = 40;
  options.smooth = true;
  options.scale_factor = 1.5f;
  ToWire(options, kStereoDefaults, &wire);
  EXPECT_EQ(wire.preset(), "pyca");
  EXPECT_EQ(wire.cell_width(), 40);
  EXPECT_TRUE(wire.smooth());
  EXPECT_EQ(wire.scale_factor(), 1.5f);
  wire.clear_preset();
  wire.clear_cell_width();
  wire.clear_smooth();
  wire.clear_scale_factor();
  EXPECT_EQ(wire.ByteSizeLong(), 0u) << wire.DebugString();
}

TEST(Defaults, ServerReadsTheDetectorThatWasAskedFor) {
  glint::testing::Random random(1);
  for (int i = 0; i < Repetitions(200); ++i) {
    const DetectorOptions options =
        random.OneIn(3) ? RandomOptions(&random, *PresetOptions("orb")) : RandomDetector(&random);
    if (!ValidateOptions(options).ok()) continue;
    for (const DetectorDefaults* defaults : kOperations) {
      v1::DetectorOptions wire;
      ToWire(options, *defaults, &wire);
      const auto read = FromProto(wire, kMaxFeatures, *defaults);
      ASSERT_TRUE(read.ok()) << read.status() << wire.DebugString();
      EXPECT_EQ(*read, options) << wire.DebugString();
    }
  }
  for (const std::string& preset : PresetNames()) {
    for (const DetectorDefaults* defaults : kOperations) {
      v1::DetectorOptions wire;
      ToWire(*PresetOptions(preset, *defaults), *defaults, &wire);
      EXPECT_EQ(wire.preset(), preset == defaults->preset ? "" : preset);
      wire.clear_preset();
      EXPECT_EQ(wire.ByteSizeLong(), 0u) << wire.DebugString();
    }
  }
}

// Every field that differs is sent, and comes out as it went in.
TEST(Defaults, OptionsOfMatchingAndTrackingArriveWhole) {
  MatchSettings match;
  match.match = {3, false, 0.7f, 60, 20, false};
  match.window_radius = 12;
  match.max_octave_difference = 0;
  const MatchCriteria criteria = *FromProto(OnTheWire<v1::MatchOptions>(match));
  EXPECT_EQ(criteria.options.k, 3);
  EXPECT_EQ(criteria.options.ratio, 0.7f);
  EXPECT_EQ(criteria.options.max_distance, 60);
  EXPECT_EQ(criteria.options.max_angle_difference, 20);
  EXPECT_EQ(criteria.window_radius, 12);
  EXPECT_EQ(criteria.max_octave_difference, 0);

  StereoStreamOptions stereo;
  stereo.stereo = {40, 3, 2, -1, 90, false, false, false, false, 707.1, 0.537};
  stereo.max_time_difference = absl::ZeroDuration();
  const v1::StereoOptions sent = OnTheWire<v1::StereoStreamOptions>(stereo).stereo();
  EXPECT_EQ(sent.max_distance(), 40);
  EXPECT_EQ(sent.band(), 3);
  EXPECT_EQ(sent.max_octave_difference(), 2);
  EXPECT_EQ(sent.min_disparity(), -1);
  EXPECT_EQ(sent.max_disparity(), 90);
  EXPECT_TRUE(sent.has_cross_check() && sent.has_refine() && sent.has_median_cut() && sent.has_check_pair());
  EXPECT_EQ(sent.focal_length(), 707.1);
  EXPECT_EQ(sent.baseline(), 0.537);
  EXPECT_TRUE(sent.has_max_time_difference_ns());

  TrackStreamOptions track;
  track.track = {3, 12, 6, 2, IntensityModel::kGain, 20, 0.02f, 0.2f, true, 50, 10, 1};
  track.on_request = track.predict = true;
  track.target = 50;
  track.min_share = 0;
  track.template_frames = 2;
  SessionOptions session;
  const TrackingOptions read = *FromProto(OnTheWire<v1::TrackStreamOptions>(track), ServerOptions(), &session);
  EXPECT_EQ(read.track.levels, 3);
  EXPECT_EQ(read.track.patch_size, 12);
  EXPECT_EQ(read.track.coarse_patch_size, 6);
  EXPECT_EQ(read.track.fine_levels, 2);
  EXPECT_EQ(read.track.intensity, IntensityModel::kGain);
  EXPECT_EQ(read.track.max_iterations, 20);
  EXPECT_EQ(read.track.epsilon, 0.02f);
  EXPECT_EQ(read.track.min_eigenvalue, 0.2f);
  EXPECT_TRUE(read.track.require_convergence);
  EXPECT_EQ(read.track.max_move, 50);
  EXPECT_EQ(read.track.max_residual, 10);
  EXPECT_EQ(read.track.max_backward_error, 1);
  EXPECT_TRUE(read.on_request && read.predict);
  EXPECT_EQ(read.target, 50);
  EXPECT_EQ(read.min_share, 0);
  EXPECT_EQ(read.template_frames, 2);
}

}  // namespace
}  // namespace glint::client
