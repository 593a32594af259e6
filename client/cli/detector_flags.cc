#include "client/cli/detector_flags.h"

#include "absl/strings/str_replace.h"

namespace glint::cli {

void DetectorFlags::AddTo(Flags* flags) {
  flags->Section("Detector");
  flags->String("detector", "orb|oriented_fast",
                "orb (the default) finds exactly what cv::ORB of OpenCV 4.6 finds. oriented_fast ranks every FAST "
                "corner by its Harris measure before suppression.",
                &detector);
  flags->Int("features", "N", "Keypoints to return, over all levels (1..65536, default 500).", &features);
  flags->Int("levels", "L", "Pyramid levels (1..12, default 8).", &levels);
  flags->Float("scale-factor", "F", "From each level to the next (1.05..2, default 1.2).", &scale_factor);
  flags->Int("fast-threshold", "T", "FAST threshold in grey levels (1..254, default 20).", &fast_threshold);
  flags->Int("arc-length", "N", "Ring pixels in a row that make a corner (9..12 of 16, default 9).", &arc_length);
  flags->Int("edge-threshold", "N", "Pixels of each level left free at each side (0..255, default 31).",
             &edge_threshold);
  flags->Int("patch-size", "N", "Diameter of the patch of angle and descriptor, in pixels (2..63, default 31).",
             &patch_size);
  flags->Choice("ranking", {{"harris", std::optional(Ranking::kHarris)}, {"score", std::optional(Ranking::kScore)}},
                "What the best keypoints are chosen by: Harris measure (orb's default) or the FAST score.", &ranking);
  flags->Bool("descriptors", "Compute rotated BRIEF descriptors, 32 bytes each (default: for orb).",
              [this](bool on) { descriptors = on; });
  flags->String("mask", "FILE", "Keep keypoints only where this image, of the frames' size, is not black.", &mask);
}

absl::StatusOr<DetectorOptions> DetectorFlags::Options() const {
  absl::StatusOr<DetectorOptions> preset = PresetOptions(detector);
  if (!preset.ok()) {
    return absl::InvalidArgumentError(
        absl::StrReplaceAll(preset.status().message(), {{"preset:", "option '--detector':"}}));
  }
  DetectorOptions options = *preset;
  options.max_features = features.value_or(options.max_features);
  options.levels = levels.value_or(options.levels);
  options.scale_factor = scale_factor.value_or(options.scale_factor);
  options.fast_threshold = fast_threshold.value_or(options.fast_threshold);
  options.arc_length = arc_length.value_or(options.arc_length);
  options.edge_threshold = edge_threshold.value_or(options.edge_threshold);
  options.patch_size = patch_size.value_or(options.patch_size);
  options.ranking = ranking.value_or(options.ranking);
  if (descriptors.has_value()) options.descriptor = *descriptors ? Descriptor::kRbrief : Descriptor::kNone;
  if (absl::Status status = ValidateOptions(options); !status.ok()) {
    // "max_features: 0 is not in ..." becomes "option '--features': 0 is not in ..."
    const std::string message(status.message());
    const size_t colon = message.find(':');
    std::string name = absl::StrReplaceAll(message.substr(0, colon), {{"_", "-"}, {"max_", ""}});
    return absl::InvalidArgumentError(absl::StrCat("option '--", name, "'", message.substr(colon)));
  }
  return options;
}

}  // namespace glint::cli
