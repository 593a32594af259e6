// glint compare: two detectors on the same images.
#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/cli/base/command.h"
#include "client/cli/base/flags.h"
#include "client/cli/compare/compare_contender.h"
#include "client/cli/compare/compare_table.h"
#include "client/cli/output/compare_metrics.h"
#include "client/cli/output/compare_views.h"
#include "client/cli/output/draw.h"
#include "client/cli/output/output.h"
#include "client/cli/source/picture.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr char kName[] = "compare";
constexpr char kEstimator[] = "orb:features=2000";

std::string Help(const Flags& flags) {
  return "Usage: glint compare [OPTION]... A B IMAGE...\n\n" +
         Wrap(
             "Runs detectors A and B on images and reports keypoints, how many of them the other one finds too, how "
             "many are found again in another view and matched, and the time. A and B are "
             "DETECTOR[:OPTION=VALUE,...][@SERVER], with the options of glint detect (a bare OPTION is a switch), for "
             "example fast_grid:cell-width=16,score=max-threshold@cuda. SERVER is cpu or cuda, for a server inside "
             "this process, opencv, for cv::ORB itself, or an address; the default is cpu.",
             0) +
         flags.Help() +
         "\nExamples\n"
         "  glint compare orb pyca *.png\n"
         "  glint compare orb@cpu orb@cuda photo.png\n"
         "  glint compare orb orb@opencv photo.png\n"
         "  glint compare --rotate 5 --keep 500 orb bfrost photo.png --format csv\n"
         "  glint compare --homography H12,H13 orb pyca:max-arc=16 1.png 2.png 3.png\n";
}

struct CompareFlags {
  std::optional<int> keep, repeat;
  std::optional<float> tolerance, rotate;
  std::string homographies, draw;
  bool estimate = false;
  TableFormat format = TableFormat::kText;

  void AddTo(Flags* flags) {
    flags->Section("Comparison");
    flags->Int("keep", "N", "Compare the N keypoints of each with the greatest response (default: all).", &keep);
    flags->Float("tolerance", "PIXELS", "Keypoints that near each other are the same (default 3).", &tolerance);
    flags->String("homography", "FILE,...",
                  "How the first image maps to each of the others: nine numbers a file, row by row.", &homographies);
    flags->Bool("estimate", "Estimate these maps from matches of orb, by RANSAC.", &estimate);
    flags->Float("rotate", "DEGREES", "Compare each image with itself, turned in steps of so much up to a full turn.",
                 &rotate);
    flags->Int("repeat", "N", "Calls of which the median time is reported (default 5).", &repeat);
    flags->Choice("format", {{"table", TableFormat::kText}, {"csv", TableFormat::kCsv}, {"json", TableFormat::kJson}},
                  "How the results are printed.", &format);
    flags->String("draw", "FILE", "A picture of the first image with A's keypoints on the left, B's on the right.",
                  &draw);
  }
  absl::Status Validate() const {
    const auto refuse = [](absl::string_view name, auto value, absl::string_view range) {
      return absl::InvalidArgumentError(absl::StrCat("option '--", name, "': ", value, " is not ", range));
    };
    if (keep.has_value() && *keep < 1) return refuse("keep", *keep, "at least 1");
    if (repeat.has_value() && (*repeat < 1 || *repeat > 10000)) return refuse("repeat", *repeat, "in 1..10000");
    if (tolerance.has_value() && !(*tolerance > 0)) return refuse("tolerance", *tolerance, "above 0");
    if (rotate.has_value() && !(*rotate >= 1 && *rotate <= 180)) return refuse("rotate", *rotate, "in 1..180");
    if ((estimate ? 1 : 0) + (rotate.has_value() ? 1 : 0) + (homographies.empty() ? 0 : 1) > 1) {
      return absl::InvalidArgumentError("options '--homography', '--estimate' and '--rotate' exclude each other");
    }
    return absl::OkStatus();
  }
};

Shape ShapeOf(const cv::Mat& image) { return {image.cols, image.rows}; }

// What a detector finds, in the median of its times.
absl::StatusOr<Found> Detect(const Contender& contender, const cv::Mat& gray, const cv::Mat& mask,
                             const CompareFlags& flags) {
  Found found;
  std::vector<double> times;
  for (int i = 0; i < flags.repeat.value_or(5); ++i) {
    GLINT_ASSIGN_OR_RETURN(auto answer, contender.Detect(gray, mask));
    times.push_back(answer.microseconds);
    found.features = std::move(answer.features);
  }
  std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2), times.end());
  found.microseconds = times[times.size() / 2];
  if (flags.keep.has_value()) found.features = Strongest(found.features, static_cast<size_t>(*flags.keep));
  return found;
}

struct Side {
  std::string label;  // as the user wrote it
  std::unique_ptr<Contender> contender;
};

// The comparison itself, row by row.
class Comparison {
 public:
  // `estimator` finds what homographies are estimated from; null if they are not. References must outlive this.
  Comparison(const std::vector<Side>& sides, const Contender* estimator, const CompareFlags& flags)
      : sides_(sides), estimator_(estimator), flags_(flags), tolerance_(flags.tolerance.value_or(3)) {}

  absl::Status Run(const std::vector<std::string>& files) {
    std::vector<std::string> homographies = absl::StrSplit(flags_.homographies, ',', absl::SkipEmpty());
    const bool views = !homographies.empty() || estimator_ != nullptr;
    if (!homographies.empty() && homographies.size() + 1 != files.size()) {
      return absl::InvalidArgumentError(absl::StrCat("option '--homography': ", homographies.size(), " files for ",
                                                     files.size(), " images; one for each but the first is needed"));
    }
    cv::Mat first;
    for (size_t i = 0; i < files.size() && !Interrupted(); ++i) {
      GLINT_ASSIGN_OR_RETURN(auto gray, ReadGray(files[i]));
      GLINT_RETURN_IF_ERROR(AddImage(files[i], gray));
      if (i == 0) {
        first = gray;
        GLINT_RETURN_IF_ERROR(Draw(gray));
        of_first_ = of_image_;
      } else if (views) {
        GLINT_ASSIGN_OR_RETURN(const auto h,
                               estimator_ != nullptr ? Estimate(first, gray) : ReadHomography(homographies[i - 1]));
        AddView(files[i], absl::StrCat("from ", files[0]), ShapeOf(first), of_first_, ShapeOf(gray), of_image_, h);
      }
      if (flags_.rotate.has_value()) {
        GLINT_RETURN_IF_ERROR(AddRotations(files[i], gray));
      }
    }
    return absl::OkStatus();
  }

  std::string Print() const { return table_.Print(flags_.format); }

 private:
  absl::StatusOr<Homography> Estimate(const cv::Mat& first, const cv::Mat& second) const {
    const auto a = estimator_->Detect(first, {});
    if (!a.ok()) return a.status();
    const auto b = estimator_->Detect(second, {});
    if (!b.ok()) return b.status();
    return EstimateHomography(a->features, b->features);
  }

  absl::Status DetectAll(const cv::Mat& gray, const cv::Mat& mask, std::vector<Found>* found) const {
    found->clear();
    for (const Side& side : sides_) {
      GLINT_ASSIGN_OR_RETURN(auto one, Detect(*side.contender, gray, mask, flags_));
      found->push_back(std::move(one));
    }
    return absl::OkStatus();
  }

  // Counts, overlap and time.
  absl::Status AddImage(const std::string& file, const cv::Mat& gray) {
    GLINT_RETURN_IF_ERROR(DetectAll(gray, {}, &of_image_));
    const Shape shape = ShapeOf(gray);
    const Agreement both = Compare(of_image_[0].features, shape, of_image_[1].features, shape, kSamePlace, tolerance_);
    for (size_t i = 0; i < sides_.size(); ++i) {
      CompareRow row;
      row.image = file;
      row.detector = sides_[i].label;
      row.keypoints = of_image_[i].features.count();
      if (row.keypoints > 0) row.overlap = static_cast<double>(both.repeated) / static_cast<double>(row.keypoints);
      row.microseconds = of_image_[i].microseconds;
      table_.Add(row);
    }
    return absl::OkStatus();
  }

  void AddView(const std::string& file, const std::string& view, Shape from_shape, const std::vector<Found>& from,
               Shape to_shape, const std::vector<Found>& to, const Homography& h) {
    for (size_t i = 0; i < sides_.size(); ++i) {
      CompareRow row;
      row.image = file;
      row.view = view;
      row.detector = sides_[i].label;
      row.keypoints = to[i].features.count();
      row.agreement = Compare(from[i].features, from_shape, to[i].features, to_shape, h, tolerance_);
      row.has_descriptors = from[i].features.descriptor_bytes > 0;
      table_.Add(row);
    }
  }

  absl::Status AddRotations(const std::string& file, const cv::Mat& gray) {
    const std::vector<Found> upright = of_image_;
    const double step = *flags_.rotate;
    for (int i = 1; step * i < 360 && !Interrupted(); ++i) {
      const Turned turned = Turn(gray, step * i);
      std::vector<Found> found;
      GLINT_RETURN_IF_ERROR(DetectAll(turned.image, turned.mask, &found));
      AddView(file, absl::StrFormat("turned %g", step * i), ShapeOf(gray), upright, ShapeOf(turned.image), found,
              turned.from);
    }
    return absl::OkStatus();
  }

  // Of the image that was added last.
  absl::Status Draw(const cv::Mat& gray) {
    if (flags_.draw.empty()) return absl::OkStatus();
    cv::Mat both(gray.rows, 2 * gray.cols, CV_8UC3);
    for (int i = 0; i < 2; ++i) {
      cv::Mat canvas;
      cv::cvtColor(gray, canvas, cv::COLOR_GRAY2BGR);
      DrawFeatures(of_image_[static_cast<size_t>(i)].features, &canvas);
      canvas.copyTo(both.colRange(i * gray.cols, (i + 1) * gray.cols));
    }
    GLINT_ASSIGN_OR_RETURN(auto sink, OpenDrawSink(flags_.draw, 1));
    GLINT_RETURN_IF_ERROR(sink->Write("compare", both));
    return sink->Close();
  }

  const std::vector<Side>& sides_;
  const Contender* const estimator_;
  const CompareFlags& flags_;
  const double tolerance_;
  std::vector<Found> of_first_;
  std::vector<Found> of_image_;
  CompareTable table_;
};

}  // namespace

int RunCompare(const std::vector<std::string>& arguments) {
  CompareFlags compare_flags;
  Flags flags;
  compare_flags.AddTo(&flags);
  const auto operands = flags.Parse(arguments);
  if (!operands.ok()) return UsageError(kName, operands.status().message());
  if (flags.help_wanted()) return Print(kName, Help(flags));
  if (operands->size() < 3) return UsageError(kName, "two detectors and an IMAGE are needed");
  if (absl::Status s = compare_flags.Validate(); !s.ok()) return UsageError(kName, s.message());

  std::vector<Side> sides;
  for (int i = 0; i < 2; ++i) {
    const std::string& spec = (*operands)[static_cast<size_t>(i)];
    auto contender = OpenContender(spec);
    if (absl::IsInvalidArgument(contender.status())) return UsageError(kName, contender.status().message());
    if (!contender.ok()) return CallError(kName, contender.status());
    sides.push_back({spec, *std::move(contender)});
  }
  std::unique_ptr<Contender> estimator;
  if (compare_flags.estimate) {
    auto orb = OpenContender(kEstimator);
    if (!orb.ok()) return CallError(kName, orb.status());
    estimator = *std::move(orb);
  }
  Comparison comparison(sides, estimator.get(), compare_flags);
  if (absl::Status s = comparison.Run({operands->begin() + 2, operands->end()}); !s.ok()) {
    return absl::IsDataLoss(s) ? OutputError(kName, s) : CallError(kName, s);
  }
  const int printed = Print(kName, comparison.Print());
  return printed != kOk ? printed : Interrupted() ? kInterrupted : kOk;
}

}  // namespace glint::cli
