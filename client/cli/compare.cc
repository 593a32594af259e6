// glint compare: two detectors on the same images.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <opencv2/calib3d.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/cli/command.h"
#include "client/cli/compare_metrics.h"
#include "client/cli/compare_table.h"
#include "client/cli/connection.h"
#include "client/cli/detector_flags.h"
#include "client/cli/draw.h"
#include "client/cli/output.h"
#include "client/cli/source.h"

namespace glint::cli {
namespace {

constexpr char kName[] = "compare";
constexpr int kFeaturesToEstimateWith = 2000;

std::string Help(const Flags& flags) {
  return "Usage: glint compare [OPTION]... A B IMAGE...\n\n" +
         Wrap(
             "Runs detectors A and B on images and reports keypoints, how many of them the other one finds too, how "
             "many are found again in another view and matched, and the time. A and B are "
             "DETECTOR[:OPTION=VALUE,...][@SERVER], with the options of glint detect (a bare OPTION is a switch), for "
             "example fast_grid:cell-width=16,score=max-threshold@cuda. SERVER is cpu or cuda, for a server inside "
             "this process, or an address; the default is cpu.",
             0) +
         flags.Help() +
         "\nExamples\n"
         "  glint compare orb pyca *.png\n"
         "  glint compare orb@cpu orb@cuda photo.png\n"
         "  glint compare --rotate 5 --keep 500 orb bfrost photo.png --format csv\n"
         "  glint compare --homography H12,H13 orb pyca:max-arc=16 1.png 2.png 3.png\n";
}

// One side of the comparison.
struct Contender {
  std::string label;  // as the user wrote it
  DetectorOptions options;
  std::unique_ptr<Connection> connection;
};

absl::StatusOr<Contender> OpenContender(const std::string& spec) {
  Contender contender;
  contender.label = spec;
  const std::vector<std::string> at = absl::StrSplit(spec, absl::MaxSplits('@', 1));
  const std::vector<std::string> parts = absl::StrSplit(at[0], absl::MaxSplits(':', 1));
  std::vector<std::string> arguments = {"--detector", parts[0]};
  if (parts.size() == 2) {
    for (const absl::string_view option : absl::StrSplit(parts[1], ',', absl::SkipEmpty())) {
      arguments.push_back(absl::StrCat("--", option));
    }
  }
  Flags flags;
  DetectorFlags detector;
  detector.AddTo(&flags);
  if (auto operands = flags.Parse(arguments); !operands.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("'", spec, "': ", operands.status().message()));
  }
  auto options = detector.Options();
  if (!options.ok()) return absl::InvalidArgumentError(absl::StrCat("'", spec, "': ", options.status().message()));
  contender.options = *options;

  ConnectionFlags where;
  where.server = "inproc";
  const std::string server = at.size() == 2 ? at[1] : "cpu";
  if (server == "cpu" || server == "cuda") {
    where.backend = server == "cpu" ? Backend::kCpu : Backend::kCuda;
  } else {
    where.server = server;
  }
  auto connection = Connection::Open(where);
  if (!connection.ok()) return connection.status();
  contender.connection = std::make_unique<Connection>(*std::move(connection));
  return contender;
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

// What a detector finds in an image, and the median of its times.
struct Found {
  Features features;
  double microseconds = 0;
};

absl::StatusOr<Found> Detect(const Contender& contender, const cv::Mat& gray, const CompareFlags& flags) {
  const ImageView view = {gray.data, gray.cols, gray.rows, static_cast<ptrdiff_t>(gray.step)};
  Found found;
  std::vector<int64_t> times;
  for (int i = 0; i < flags.repeat.value_or(5); ++i) {
    auto answer = contender.connection->client().Detect(contender.options, view);
    if (!answer.ok()) return answer.status();
    times.push_back(answer->timings.upload_ns + answer->timings.detect_ns + answer->timings.download_ns);
    found.features = std::move(answer->features);
  }
  std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2), times.end());
  found.microseconds = static_cast<double>(times[times.size() / 2]) / 1000;
  if (flags.keep.has_value()) found.features = Strongest(found.features, static_cast<size_t>(*flags.keep));
  return found;
}

Shape ShapeOf(const cv::Mat& image) { return {image.cols, image.rows}; }

absl::StatusOr<Homography> ReadHomography(const std::string& path) {
  std::ifstream file(path);
  Homography h;
  for (double& v : h) {
    if (!(file >> v)) return absl::InvalidArgumentError(absl::StrCat(path, ": not a file of nine numbers"));
  }
  return h;
}

absl::StatusOr<Homography> EstimateHomography(const Contender& contender, const cv::Mat& first, const cv::Mat& second) {
  DetectorOptions orb = PresetOptions("orb").value();
  orb.max_features = kFeaturesToEstimateWith;
  const auto detect = [&](const cv::Mat& gray) {
    return contender.connection->client().Detect(
        orb, ImageView{gray.data, gray.cols, gray.rows, static_cast<ptrdiff_t>(gray.step)});
  };
  const auto a = detect(first);
  if (!a.ok()) return a.status();
  const auto b = detect(second);
  if (!b.ok()) return b.status();
  std::vector<cv::Point2f> from;
  std::vector<cv::Point2f> to;
  for (const auto& [i, j] : MutualMatches(a->features, b->features)) {
    from.emplace_back(a->features.x[i], a->features.y[i]);
    to.emplace_back(b->features.x[j], b->features.y[j]);
  }
  constexpr size_t kFewest = 12;
  const cv::Mat h = from.size() < kFewest ? cv::Mat() : cv::findHomography(from, to, cv::RANSAC, 3);
  if (h.empty()) return absl::NotFoundError("no homography fits the matches of orb");
  Homography out;
  std::copy(h.begin<double>(), h.end<double>(), out.begin());
  return out;
}

// The image turned about its middle, on a canvas that holds all of it, and how its pixels move.
cv::Mat Turn(const cv::Mat& image, double degrees, Homography* h) {
  const double radians = degrees * CV_PI / 180;
  const int width = static_cast<int>(
      std::ceil(std::abs(image.cols * std::cos(radians)) + std::abs(image.rows * std::sin(radians)) - 1e-9));
  const int height = static_cast<int>(
      std::ceil(std::abs(image.cols * std::sin(radians)) + std::abs(image.rows * std::cos(radians)) - 1e-9));
  cv::Mat map = cv::getRotationMatrix2D({(image.cols - 1) / 2.0f, (image.rows - 1) / 2.0f}, -degrees, 1);
  map.at<double>(0, 2) += (width - image.cols) / 2.0;
  map.at<double>(1, 2) += (height - image.rows) / 2.0;
  cv::Mat turned;
  cv::warpAffine(image, turned, map, {width, height}, cv::INTER_LINEAR, cv::BORDER_REFLECT_101);
  *h = {map.at<double>(0, 0),
        map.at<double>(0, 1),
        map.at<double>(0, 2),
        map.at<double>(1, 0),
        map.at<double>(1, 1),
        map.at<double>(1, 2),
        0,
        0,
        1};
  return turned;
}

// The comparison itself, row by row.
class Comparison {
 public:
  Comparison(std::vector<Contender>* contenders, const CompareFlags& flags)
      : contenders_(*contenders), flags_(flags), tolerance_(flags.tolerance.value_or(3)) {}

  absl::Status Run(const std::vector<std::string>& files) {
    std::vector<std::string> homographies = absl::StrSplit(flags_.homographies, ',', absl::SkipEmpty());
    const bool views = !homographies.empty() || flags_.estimate;
    if (!homographies.empty() && homographies.size() + 1 != files.size()) {
      return absl::InvalidArgumentError(absl::StrCat("option '--homography': ", homographies.size(), " files for ",
                                                     files.size(), " images; one for each but the first is needed"));
    }
    cv::Mat first;
    for (size_t i = 0; i < files.size() && !Interrupted(); ++i) {
      auto gray = ReadGray(files[i]);
      if (!gray.ok()) return gray.status();
      if (absl::Status s = AddImage(files[i], *gray); !s.ok()) return s;
      if (i == 0) {
        first = *gray;
        if (absl::Status s = Draw(*gray); !s.ok()) return s;
        of_first_ = of_image_;
      } else if (views) {
        const auto h =
            flags_.estimate ? EstimateHomography(contenders_[0], first, *gray) : ReadHomography(homographies[i - 1]);
        if (!h.ok()) return h.status();
        AddView(files[i], absl::StrCat("from ", files[0]), ShapeOf(first), of_first_, ShapeOf(*gray), of_image_, *h);
      }
      if (flags_.rotate.has_value()) {
        if (absl::Status s = AddRotations(files[i], *gray); !s.ok()) return s;
      }
    }
    return absl::OkStatus();
  }

  std::string Print() const { return table_.Print(flags_.format); }

 private:
  absl::Status DetectAll(const cv::Mat& gray, std::vector<Found>* found) {
    found->clear();
    for (const Contender& contender : contenders_) {
      auto one = Detect(contender, gray, flags_);
      if (!one.ok()) return one.status();
      found->push_back(*std::move(one));
    }
    return absl::OkStatus();
  }

  // Counts, overlap and time.
  absl::Status AddImage(const std::string& file, const cv::Mat& gray) {
    if (absl::Status s = DetectAll(gray, &of_image_); !s.ok()) return s;
    const Shape shape = ShapeOf(gray);
    const Agreement both = Compare(of_image_[0].features, shape, of_image_[1].features, shape, kSamePlace, tolerance_);
    for (size_t i = 0; i < contenders_.size(); ++i) {
      CompareRow row;
      row.image = file;
      row.detector = contenders_[i].label;
      row.keypoints = of_image_[i].features.count();
      if (row.keypoints > 0) row.overlap = static_cast<double>(both.repeated) / static_cast<double>(row.keypoints);
      row.microseconds = of_image_[i].microseconds;
      table_.Add(row);
    }
    return absl::OkStatus();
  }

  void AddView(const std::string& file, const std::string& view, Shape from_shape, const std::vector<Found>& from,
               Shape to_shape, const std::vector<Found>& to, const Homography& h) {
    for (size_t i = 0; i < contenders_.size(); ++i) {
      CompareRow row;
      row.image = file;
      row.view = view;
      row.detector = contenders_[i].label;
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
      Homography h;
      const cv::Mat turned = Turn(gray, step * i, &h);
      std::vector<Found> found;
      if (absl::Status s = DetectAll(turned, &found); !s.ok()) return s;
      AddView(file, absl::StrFormat("turned %g", step * i), ShapeOf(gray), upright, ShapeOf(turned), found, h);
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
    auto sink = OpenDrawSink(flags_.draw, 1);
    if (!sink.ok()) return sink.status();
    return (*sink)->Write("compare", both);
  }

  const std::vector<Contender>& contenders_;
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

  std::vector<Contender> contenders;
  for (int i = 0; i < 2; ++i) {
    auto contender = OpenContender((*operands)[static_cast<size_t>(i)]);
    if (absl::IsInvalidArgument(contender.status())) return UsageError(kName, contender.status().message());
    if (!contender.ok()) return CallError(kName, contender.status());
    contenders.push_back(*std::move(contender));
  }
  Comparison comparison(&contenders, compare_flags);
  if (absl::Status s = comparison.Run({operands->begin() + 2, operands->end()}); !s.ok()) return CallError(kName, s);
  const int printed = Print(kName, comparison.Print());
  return printed != kOk ? printed : Interrupted() ? kInterrupted : kOk;
}

}  // namespace glint::cli
