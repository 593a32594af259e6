#include "client/cli/track/track_flags.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/output/live_view.h"
#include "client/cli/source/text_file.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr int kMaxTemplateFrames = 8;

}  // namespace

void TrackFlags::AddTo(Flags* flags) {
  flags->Section("Tracks");
  flags->Bool("cameras",
              "Each operand is the source of one camera; pictures of one name or time go together (up to 8 cameras).",
              &cameras);
  flags->String("points", "FILE",
                "Follow these points of the first picture, and look for none: lines 'X Y' or, with --cameras, 'X Y "
                "CAMERA' (counted from 0).",
                &points);
  flags->Int("target", "N", "Tracks of each camera (1..65536, default 200).", &target);
  flags->Float("min-share", "F", "Look for new points when fewer than this share of them live (0..1, default 0.8).",
               &min_share);
  flags->Bool("predict", "Expect points to move on as between the last two pictures.", &predict);
  flags->Int("template-frames", "N",
             "Compare each point with its patch in the picture where it was found, and keep N such pictures of each "
             "camera (1..8). Without it: with its patch in the picture before.",
             &template_frames);
  flags->Int("track-levels", "N", "Levels of the pyramid (1..8, default 5).", &levels_);
  flags->Int("track-patch", "PIXELS", "Side of the patches on fine levels (3..32, default 16).", &patch_size_);
  flags->Int("coarse-patch", "PIXELS", "Side of those on coarse levels (3..32, default 8).", &coarse_patch_size_);
  flags->Int("fine-levels", "N", "How many levels are fine, from the picture on (0..8, default 3).", &fine_levels_);
  flags->Choice("intensity",
                {{"same", IntensityModel::kSame},
                 {"offset", IntensityModel::kOffset},
                 {"gain", IntensityModel::kGain},
                 {"gain-and-offset", IntensityModel::kGainAndOffset}},
                "What is estimated of changes of brightness (default: same).", &track_.intensity);
  flags->Int("max-iterations", "N", "Of each level (1..100, default 30).", &max_iterations_);
  flags->Float("epsilon", "PIXELS", "A level ends with a step that is not longer (0..1, default 0.01).", &epsilon_);
  flags->Float("min-eigenvalue", "F", "Less texture is a loss (0..16384, default 0.1).", &min_eigenvalue_);
  flags->Float("max-move", "PIXELS", "From where a point was expected (0..32768, default 32768).", &max_move_);
  flags->Float("max-residual", "LEVELS", "Root mean square of what is left; 0 (the default): any.", &max_residual_);
  flags->Float("max-backward-error", "PIXELS",
               "Track back, and lose points that do not end where they began; 0 (the default): do not.",
               &max_backward_error_);
  flags->Section("Output");
  AddFormatTo(flags, absl::StrCat("table (the default): a line for each picture. csv: a line for each track in it, "
                                  "with the header ",
                                  kTrackCsvHeader, ". none: nothing."));
  AddDrawTo(flags, "picture",
            "Trails of the last 32 positions, from blue (new) to red (60 frames and more); cameras side by side.");
  mcap.AddTo(flags);
  AddViewFlags(flags, true, &view);
  AddProgressTo(flags);
  flags->Int("in-flight", "N", "Frames sent ahead of their answers (1..4096, default 8).", &in_flight);
  flags->Int("max-frames", "N", "Stop after N frames.", &max_frames);
}

absl::Status TrackFlags::Validate() const {
  GLINT_RETURN_IF_ERROR(CheckInFlight(in_flight));
  GLINT_RETURN_IF_ERROR(CheckMaxFrames(max_frames));
  GLINT_RETURN_IF_ERROR(CheckOption("target", target, 1, kMaxTrackPoints));
  GLINT_RETURN_IF_ERROR(CheckOption("template-frames", template_frames, 1, kMaxTemplateFrames));
  return absl::OkStatus();
}

client::TrackStreamOptions TrackFlags::Options() const {
  client::TrackStreamOptions options;
  options.in_flight = in_flight.value_or(options.in_flight);
  options.target = target.value_or(options.target);
  options.min_share = min_share.value_or(options.min_share);
  options.predict = predict;
  options.template_frames = template_frames.value_or(0);
  options.on_request = !points.empty();
  TrackOptions& o = options.track;
  o = track_;
  o.levels = levels_.value_or(o.levels);
  o.patch_size = patch_size_.value_or(o.patch_size);
  o.coarse_patch_size = coarse_patch_size_.value_or(o.coarse_patch_size);
  o.fine_levels = fine_levels_.value_or(o.fine_levels);
  o.max_iterations = max_iterations_.value_or(o.max_iterations);
  o.epsilon = epsilon_.value_or(o.epsilon);
  o.min_eigenvalue = min_eigenvalue_.value_or(o.min_eigenvalue);
  o.max_move = max_move_.value_or(o.max_move);
  o.max_residual = max_residual_.value_or(o.max_residual);
  o.max_backward_error = max_backward_error_.value_or(o.max_backward_error);
  return options;
}

absl::StatusOr<std::vector<PointList>> ReadPoints(const std::string& path, int cameras) {
  GLINT_ASSIGN_OR_RETURN(const auto text, ReadText(path));
  std::vector<PointList> points(static_cast<size_t>(cameras));
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const std::pair<absl::string_view, absl::string_view> split = absl::StrSplit(line, absl::MaxSplits('#', 1));
    const std::vector<absl::string_view> fields =
        absl::StrSplit(split.first, absl::ByAnyChar(" ,\t"), absl::SkipEmpty());
    if (fields.empty()) continue;
    float x = 0, y = 0;
    int camera = 0;
    const bool good = (fields.size() == 2 || fields.size() == 3) && absl::SimpleAtof(fields[0], &x) &&
                      absl::SimpleAtof(fields[1], &y) && (fields.size() == 2 || absl::SimpleAtoi(fields[2], &camera));
    if (!good) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": '", line, "' is not X Y or X Y CAMERA"));
    }
    if (camera < 0 || camera >= cameras) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", number, ": camera ", camera, " is not in 0..", cameras - 1));
    }
    points[static_cast<size_t>(camera)].x.push_back(x);
    points[static_cast<size_t>(camera)].y.push_back(y);
  }
  return points;
}

}  // namespace glint::cli
