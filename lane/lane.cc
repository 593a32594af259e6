#include "lane/lane.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "cpu/rectify/register_depth.h"
#include "features/camera/depth_table.h"

namespace glint {

const char* NameOf(JpegFallback fallback) {
  constexpr const char* kNames[] = {"none", "kind", "sampling", "colour", "tables", "header",
                                    "size", "scan", "range",    "sync",   "memory", "region"};
  static_assert(std::size(kNames) == kJpegFallbackCount);
  return kNames[static_cast<size_t>(fallback)];
}

absl::Status Lane::StartRun(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                            StageTimes* times) {
  return Run(options, image, mask, features, times);
}

absl::StatusOr<DepthView> Lane::RegisterDepth(const DepthView& depth, const DepthTable& table,
                                              std::vector<uint16_t>* samples) {
  static const cpu::RegisterDepthFunction register_depth = cpu::BestRegisterDepth();
  samples->resize(static_cast<size_t>(table.shape.pixels()));
  register_depth(depth, table, samples->data());
  return ViewOf(samples->data(), table.shape, {depth.sensor.unit, 0, 0});
}

absl::StatusOr<JpegRun> Lane::RunJpeg(const DetectorOptions&, absl::Span<const uint8_t>, Shape, const Pixels&,
                                      Features*, StageTimes*) {
  return absl::UnimplementedError(absl::StrCat("JPEG files: not of lanes on ", device()));
}

absl::Status Lane::RunStereo(const DetectorOptions&, const StereoOptions&, const PixelPair&, StereoPairResult*,
                             StageTimes*) {
  return absl::UnimplementedError(absl::StrCat("stereo pairs: not of lanes on ", device()));
}

absl::Status Lane::Match(const MatchInput&, const MatchOptions&, MatchResult*) {
  return absl::UnimplementedError(absl::StrCat("matching: not of lanes on ", device()));
}

absl::Status Lane::RunBoth(const DetectorOptions& options, const Pixels& first, const Pixels& second,
                           Features* first_features, Features* second_features, StageTimes* times) {
  StageTimes of_second;
  absl::Status status = Run(options, first, {}, first_features, times);
  if (status.ok() && !GoesOn(checkpoint_)) status = absl::CancelledError("two images: ended at a checkpoint");
  if (status.ok()) status = Run(options, second, {}, second_features, &of_second);
  if (!status.ok()) {
    first_features->Clear();
    second_features->Clear();
  }
  AddTimes(of_second, times);
  return status;
}

absl::Status Lane::MatchBoth(const MatchInput& input, const MatchOptions& options, MatchResult* result) {
  return Match(input, options, result);
}

absl::StatusOr<std::unique_ptr<TrackFrames>> Lane::MakeTrackFrames(Shape, const TrackOptions&, int, int) {
  return absl::UnimplementedError(absl::StrCat("tracking: not of lanes on ", device()));
}

absl::StatusOr<ImageView> Lane::SetTrackFrame(TrackFrames*, int, const Pixels&) {
  return absl::UnimplementedError(absl::StrCat("tracking: not of lanes on ", device()));
}

absl::StatusOr<ImageView> Lane::LendTrackFrame(TrackFrames* frames, int number, const Pixels& image) {
  return SetTrackFrame(frames, number, image);
}

absl::Status Lane::KeepTrackFrame(TrackFrames* frames, int number, FoundImage, const Pixels& image) {
  return SetTrackFrame(frames, number, image).status();
}

absl::Status Lane::StartFollow(TrackFrames*, int, const TrackInput&, absl::Span<const TrackSegment>,
                               const TrackOptions&, TrackResult*) {
  return absl::UnimplementedError(absl::StrCat("tracking: not of lanes on ", device()));
}

absl::Status Lane::FinishFollow(TrackFrames*, TrackResult*) {
  return absl::UnimplementedError(absl::StrCat("tracking: not of lanes on ", device()));
}

}  // namespace glint
