#include "client/cli/base/detector_flags.h"

#include <algorithm>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "features/option_fields.h"

namespace glint::cli {
namespace {

// "max_features" is --features, "suppression_radius" is --suppression-radius.
std::string FlagName(absl::string_view field) {
  if (field == "max_features") return "features";
  return absl::StrReplaceAll(field, {{"_", "-"}});
}
std::string ChoiceName(absl::string_view name) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", "-"}});
}

// What a field is, for --help; its range and orb's value follow.
const char* Meaning(absl::string_view field) {
  static const auto* const kMeanings = new std::map<absl::string_view, const char*>{
      {"pyramid", "How levels are made: each from the one before as cv::ORB does, each from the image, or by halves."},
      {"corner_test", "Which pixels can be corners: those that pass FAST's segment test, or all."},
      {"score", "What suppression compares."},
      {"selection",
       "The best N of each level, the best of each cell of the image, PyCA's cells and aggregation, all, or the best "
       "of "
       "each node of ORB-SLAM's quadtree."},
      {"ranking", "What top-n chooses by: Harris measure, or the score."},
      {"threshold_unit", "What --response-threshold is a multiple of."},
      {"orientation", "How a keypoint gets its angle."},
      {"descriptor", "Which descriptor is computed, 32 bytes each."},
      {"levels", "Pyramid levels"},
      {"scale_factor", "From each level to the next"},
      {"fast_threshold", "FAST threshold in grey levels"},
      {"ini_fast_threshold", "With quadtree: FAST threshold of each cell"},
      {"min_fast_threshold", "With quadtree: the threshold where a cell has no corner at the first"},
      {"arc_length", "Ring pixels in a row, of 16, that make a corner"},
      {"max_arc", "Longest such run allowed"},
      {"suppression_radius", "Pixels around a corner within which none may be as strong"},
      {"harris_block", "With every-pixel: side of the window of gradients, odd, in pixels"},
      {"harris_k", "With every-pixel: the measure's k"},
      {"max_features", "Keypoints to return, over all levels"},
      {"edge_threshold", "Pixels of each level left free at each side"},
      {"cell_width", "With grid and pyca: width of a cell in pixels of the image"},
      {"cell_height", "With grid and pyca: height of a cell"},
      {"aggregation_window", "With pyca: side of the last suppression's window, odd, in pixels"},
      {"response_threshold", "With every-pixel: least response"},
      {"patch_size", "Diameter of the patch of angle and descriptor, in pixels"},
      {"bfrost_scale", "With bfrost descriptors: size of the pattern"},
      {"smooth", "With every-pixel: a 3x3 Gaussian first."},
  };
  return kMeanings->at(field);
}

DetectorOptions Preset(const std::string& name) { return PresetOptions(name).value(); }

template <typename T>
std::string ValueText(T value) {
  if constexpr (std::is_enum_v<T>) {
    return ChoiceName(ChoiceNames<T>()[static_cast<size_t>(value)]);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "yes" : "no";
  } else {
    return absl::StrCat(value);
  }
}

absl::Status ParseRegion(absl::string_view text, client::Region* region) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::ByAnyChar("x+"));
  const bool good = parts.size() == 4 && absl::SimpleAtoi(parts[0], &region->width) &&
                    absl::SimpleAtoi(parts[1], &region->height) && absl::SimpleAtoi(parts[2], &region->x) &&
                    absl::SimpleAtoi(parts[3], &region->y) && region->width > 0 && region->height > 0 &&
                    region->x >= 0 && region->y >= 0;
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not WIDTHxHEIGHT+X+Y"));
}

// "LOW..HIGH", "percentile" or "percentile:P".
absl::Status ParseRange(absl::string_view text, GrayRange* range) {
  const auto bad = [text](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' ", why));
  };
  const std::pair<absl::string_view, absl::string_view> limits = absl::StrSplit(text, absl::MaxSplits("..", 1));
  if (int lowest = 0, highest = 0;
      absl::SimpleAtoi(limits.first, &lowest) && absl::SimpleAtoi(limits.second, &highest)) {
    *range = GrayRange::Given(lowest, highest);
  } else if (float percentile = 0;
             absl::ConsumePrefix(&text, "percentile") &&
             (text.empty() || (absl::ConsumePrefix(&text, ":") && absl::SimpleAtof(text, &percentile)))) {
    *range = text.empty() ? GrayRange::Percentile() : GrayRange::Percentile(percentile);
  } else {
    return bad("is not LOW..HIGH, percentile or percentile:P");
  }
  const absl::Status valid = ValidateGrayRange(*range);
  return valid.ok() ? valid : bad(absl::StrCat("has ", valid.message()));
}

}  // namespace

void DetectorFlags::AddTo(Flags* flags) {
  flags->Section("Detector");
  flags->String("detector", absl::StrJoin(PresetNames(), "|"),
                absl::StrCat("A choice for each of the following; glint detect --list-detectors shows them (default: ",
                             defaults_.preset, "). orb finds exactly what cv::ORB of OpenCV 4.6 finds."),
                &detector_);
  const DetectorOptions orb = Preset("orb");
  ForEachNumber([&](absl::string_view name, auto field, auto low, auto high) {
    using T = std::decay_t<decltype(orb.*field)>;
    auto& entry = given<T>().emplace_back(Given<T>{field, {}});
    const std::string help = absl::StrCat(Meaning(name), " (", low, "..", high, "; orb: ", orb.*field, ").");
    if constexpr (std::is_same_v<T, int>) {
      flags->Int(FlagName(name), "N", help, &entry.value);
    } else {
      flags->Float(FlagName(name), "F", help, &entry.value);
    }
  });
  ForEachChoice([&](absl::string_view name, auto field) {
    using T = std::decay_t<decltype(orb.*field)>;
    auto& entry = given<T>().emplace_back(Given<T>{field, {}});
    std::vector<std::pair<std::string, std::optional<T>>> choices;
    for (size_t i = 0; i < ChoiceNames<T>().size(); ++i) {
      choices.emplace_back(ChoiceName(ChoiceNames<T>()[i]), static_cast<T>(i));
    }
    flags->Choice(FlagName(name), std::move(choices), Meaning(name), &entry.value);
  });
  ForEachSwitch([&](absl::string_view name, auto field) {
    auto& entry = given<bool>().emplace_back(Given<bool>{field, {}});
    flags->Bool(FlagName(name), Meaning(name), [&entry](bool on) { entry.value = on; });
  });
  flags->Bool("descriptors",
              "Compute descriptors: the detector's own, or rotated BRIEF where it has none (default: for orb, pyca, "
              "bfrost and orbslam).",
              [this](bool on) { describe_ = on; });
  flags->String("mask", "FILE",
                "Keep keypoints only where this image, of the frames' size, is not black. orb, as cv::ORB, "
                "wants 255 there in all levels but the first.",
                &mask);
  flags->Parsed("range", "LOW..HIGH|percentile[:P]",
                "Of pictures with grey samples of 16 bits, of which cameras with 10, 12 or 14 use a part: LOW and all "
                "below become black, HIGH and all above white. 12 bits: 0..4095. percentile: P % of the samples of "
                "the first 8 pictures are below it and as many above (0..25, default 0.5); fixed from then on. "
                "(Default: all 16 bits.)",
                [this](absl::string_view text) { return ParseRange(text, &range_); });
  flags->Bool("equalize", "With --range: then by CLAHE, as cv::createCLAHE() does (default: no).", &equalize_);
  flags->Parsed("region", "WxH+X+Y",
                "Look only at W x H pixels, of which the top left one is (X, Y); coordinates stay those of the whole "
                "image.",
                [this](absl::string_view text) { return ParseRegion(text, &region); });
}

absl::StatusOr<DetectorOptions> DetectorFlags::Options() const {
  if (equalize_ && !range_.wanted()) return absl::InvalidArgumentError("option '--equalize': only with --range");
  absl::StatusOr<DetectorOptions> preset = PresetOptions(detector_, defaults_);
  if (!preset.ok()) {
    return absl::InvalidArgumentError(
        absl::StrReplaceAll(preset.status().message(), {{"preset:", "option '--detector':"}}));
  }
  DetectorOptions options = *preset;
  if (describe_ == false) options.descriptor = Descriptor::kNone;
  if (describe_ == true && options.descriptor == Descriptor::kNone) options.descriptor = Descriptor::kRbrief;
  std::apply(
      [&options](const auto&... of_type) {
        const auto apply = [&options](const auto& entries) {
          for (const auto& entry : entries) options.*entry.field = entry.value.value_or(options.*entry.field);
        };
        (apply(of_type), ...);
      },
      given_);
  if (absl::Status status = ValidateOptions(options); !status.ok()) {
    // "max_features: 0 is not in ..." becomes "option '--features': 0 is not in ..."
    const std::string message(status.message());
    const size_t colon = message.find(':');
    return absl::InvalidArgumentError(
        absl::StrCat("option '--", FlagName(message.substr(0, colon)), "'", message.substr(colon)));
  }
  return options;
}

absl::Status NoMaskOrRegion(const DetectorFlags& flags) {
  if (!flags.mask.empty()) return absl::InvalidArgumentError("option '--mask': not for pairs");
  if (flags.region.wanted()) return absl::InvalidArgumentError("option '--region': not for pairs");
  return absl::OkStatus();
}

std::string DetectorTable() {
  std::vector<std::vector<std::string>> rows = {{"option"}};
  for (const std::string& name : PresetNames()) rows[0].push_back(name);
  rows[0].push_back("range");
  const auto add = [&rows](absl::string_view name, auto field, std::string range) {
    std::vector<std::string> row = {absl::StrCat("--", FlagName(name))};
    for (const std::string& preset : PresetNames()) row.push_back(ValueText(Preset(preset).*field));
    row.push_back(std::move(range));
    rows.push_back(std::move(row));
  };
  ForEachChoice([&](absl::string_view name, auto field) {
    using T = std::decay_t<decltype(DetectorOptions().*field)>;
    add(name, field, ChoiceName(absl::StrJoin(ChoiceNames<T>(), "|")));
  });
  ForEachNumber([&](absl::string_view name, auto field, auto low, auto high) {
    add(name, field, absl::StrCat(low, "..", high));
  });
  ForEachSwitch([&](absl::string_view name, auto field) { add(name, field, "yes|no"); });

  std::vector<size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string table;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size();
      absl::StrAppend(&table, row[i], last ? "\n" : std::string(widths[i] - row[i].size() + 2, ' '));
    }
  }
  return table;
}

}  // namespace glint::cli
