// glint match: correspondences of the pictures of two sources, or of one with those that follow.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/base/command.h"
#include "client/cli/base/connection.h"
#include "client/cli/match/colmap.h"
#include "client/cli/output/compare_views.h"
#include "client/cli/output/draw_pairs.h"
#include "client/cli/output/pair_command.h"
#include "client/cli/output/pair_report.h"
#include "client/cli/output/stream_run.h"
#include "client/cli/source/camera_flags.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr char kName[] = "match";
constexpr char kCsvHeader[] = "first,second,query,train,distance,first_x,first_y,second_x,second_y";
constexpr char kRayColumns[] = ",first_ray_x,first_ray_y,first_ray_z,second_ray_x,second_ray_y,second_ray_z";
constexpr float kDefaultTolerance = 3;  // pixels

struct MatchFlags {
  std::optional<int> k, max_distance, max_octave_difference, next;
  std::optional<float> ratio, max_angle_difference, window_radius, tolerance;
  bool cross_check = false;
  bool rotation_histogram = false;
  std::string homography;
  CameraFlags camera;  // of both pictures

  void AddTo(Flags* flags) {
    flags->Section("Match");
    flags->Int("k", "N", "Matches of each keypoint (1..8, default 1).", &k);
    flags->Bool("cross-check", "Mutual nearest neighbours alone; needs --k 1 (default: no).", &cross_check);
    flags->Float("ratio", "R", "The nearest must be closer than R times the second (0..1, default 0: no such test).",
                 &ratio);
    flags->Int("max-distance", "BITS", "Bits that may differ (0..4096, default 4096).", &max_distance);
    flags->Float("max-angle-difference", "DEGREES", "Of the two keypoints (0..180, default 180).",
                 &max_angle_difference);
    flags->Bool("rotation-histogram", "Keep the matches of the three most frequent rotations; needs --k 1.",
                &rotation_histogram);
    flags->Float("window-radius", "PIXELS", "Partners near the keypoint's own position alone (default 0: anywhere).",
                 &window_radius);
    flags->Int("max-octave-difference", "N", "How far apart the octaves may be (0..11, default: any).",
               &max_octave_difference);
    flags->Int("next", "N", "With one SOURCE: how many of the pictures that follow each one (1..1000, default 1).",
               &next);
    flags->String(
        "homography", "FILE",
        "Nine numbers, which map pixels of the first picture to those of the second: tells how many of the "
        "best matches agree with them (inliers) and which share that is (precision): in the table's line, or with "
        "another --format on standard error.",
        &homography);
    flags->Float("tolerance", "PIXELS", "How far inliers may be from there (0..1000, default 3).", &tolerance);
    camera.AddTo(flags, "Rows of --format csv (columns first_ray_x and so on)");
  }
  absl::Status Validate() const {
    GLINT_RETURN_IF_ERROR(CheckOption("next", next, 1, 1000));
    GLINT_RETURN_IF_ERROR(CheckOption("max-octave-difference", max_octave_difference, 0, kMaxLevels - 1));
    GLINT_RETURN_IF_ERROR(CheckOption("tolerance", tolerance, 0.0f, 1000.0f));
    return camera.Validate();
  }
  client::MatchSettings Settings(const DetectorOptions& detector) const {
    client::MatchSettings s;
    s.detector = detector;
    s.match.k = k.value_or(s.match.k);
    s.match.cross_check = cross_check;
    s.match.ratio = ratio.value_or(s.match.ratio);
    s.match.max_distance = max_distance.value_or(s.match.max_distance);
    s.match.max_angle_difference = max_angle_difference.value_or(s.match.max_angle_difference);
    s.match.rotation_histogram = rotation_histogram;
    s.window_radius = window_radius.value_or(0);
    s.max_octave_difference = max_octave_difference.value_or(-1);
    return s;
  }
};

std::string Help(const Flags& flags) {
  return "Usage: glint match [OPTION]... SOURCE [SOURCE]\n"
         "       glint match --bag FILE [--topic TOPIC[,TOPIC]] [OPTION]...\n\n" +
         Wrap(
             "Finds the features of both pictures of each pair and matches their descriptors. SOURCE is one picture or "
             "many, as for glint stream. Two SOURCEs: pictures of one name or time. "
             "One: each picture with those that follow it.",
             0) +
         flags.Help() +
         "\nExit status\n"
         "  0 all pairs were answered; 1 some were not; 2 wrong command line;\n"
         "  69 no server; 74 an output cannot be written; 130 interrupted\n"
         "\nExamples\n"
         "  glint match --server inproc --cross-check --draw lines.png 1.png 2.png\n"
         "  glint match --ratio 0.8 --homography H1to2 --csv --output matches.csv 1.png 2.png\n"
         "  glint match --cross-check --next 3 --format colmap --output import frames/\n"
         "  glint match --calibration camchain.yaml --csv 1.png 2.png\n";
}

constexpr int kEnoughToTell = 20;  // matches

// Becomes of each answer what the flags ask for.
class Answers {
 public:
  Answers(const PairFlags& flags, StreamReport* report, ColmapWriter* colmap,
          const std::optional<Homography>& homography, double tolerance)
      : flags_(flags), report_(report), colmap_(colmap), homography_(homography), tolerance_(tolerance) {}

  absl::Status Add(const PicturePair& pair, const client::MatchAnswer& answer) {
    const std::string &first = pair.first->name, &second = pair.second->name;
    if (!answer.status.ok()) {
      report_->AddFailed(absl::StrCat(first, " ", second), answer.status);
      return absl::OkStatus();
    }
    for (const Warning& warning : answer.found.warnings) {
      if (!warned_.insert(warning.kind).second) continue;  // most come with every pair
      report_->Complain(absl::StrCat(first, " ", second, ": warning: ", warning.text));
    }
    Judge(answer.found);
    if (!same_said_ && matches_ >= kEnoughToTell && same_ * 10 >= matches_ * 9) {
      same_said_ = true;
      report_->Complain(absl::StrFormat(
          "%s %s: warning: %d of %d matches are at the same place, with distance 0: is one picture given twice?", first,
          second, same_, matches_));
    }
    if (homography_.has_value() && flags_.format != AnswerFormat::kTable) {
      Complain(kName, absl::StrFormat("%s %s: %d matches%s", first, second, matches_, Agreement()));
    }
    absl::Status status;
    switch (flags_.format) {
      case AnswerFormat::kTable:
        status = report_->Write(Line(first, second, answer.found));
        break;
      case AnswerFormat::kCsv:
        status = report_->Write(Rows(first, second, answer.found));
        break;
      case AnswerFormat::kColmap:
        status = colmap_->Add(first, second, answer.found);
        break;
      case AnswerFormat::kNone:
        break;
    }
    if (!status.ok() || !report_->draws()) return status;
    const cv::Mat from = pair.first->Canvas(), to = pair.second->Canvas();
    if (from.empty() || to.empty()) return status;
    return report_->Draw(first, DrawMatches(from, to, answer.found, good_));
  }

 private:
  // Counts the queries' best matches, and the inliers among them.
  void Judge(const client::MatchFound& found) {
    const MatchResult& m = found.matches;
    matches_ = inliers_ = same_ = 0;
    distances_.clear();
    good_.assign(homography_.has_value() ? static_cast<size_t>(m.queries) : 0, 0);
    for (size_t q = 0; q < static_cast<size_t>(m.queries); ++q) {
      const int32_t train = m.index[q * static_cast<size_t>(m.k)];
      if (train == kNoMatch) continue;
      ++matches_;
      distances_.push_back(m.distance[q * static_cast<size_t>(m.k)]);
      const auto t = static_cast<size_t>(train);
      same_ += distances_.back() == 0 && found.query.x[q] == found.train.x[t] && found.query.y[q] == found.train.y[t];
      if (!homography_.has_value()) continue;
      const Place at = Apply(*homography_, found.query.x[q], found.query.y[q]);
      const double dx = at.x - found.train.x[t], dy = at.y - found.train.y[t];
      good_[q] = dx * dx + dy * dy <= tolerance_ * tolerance_ ? 1 : 0;
      inliers_ += good_[q];
    }
  }
  std::string Line(const std::string& first, const std::string& second, const client::MatchFound& found) {
    std::string line = absl::StrFormat("%s %s: %d and %d keypoints, %d matches", first, second, found.query.count(),
                                       found.train.count(), matches_);
    if (!distances_.empty()) {
      const auto median = distances_.begin() + static_cast<ptrdiff_t>(distances_.size() / 2);
      std::nth_element(distances_.begin(), median, distances_.end());
      absl::StrAppendFormat(&line, ", median distance %d", *median);
    }
    absl::StrAppendFormat(&line, "%s, %.3f ms\n", Agreement(), static_cast<double>(found.timings.total_ns) * 1e-6);
    return line;
  }
  // Of the best matches with the homography; nothing without one.
  std::string Agreement() const {
    if (!homography_.has_value()) return "";
    return absl::StrFormat(", %d inliers, precision %.3f", inliers_,
                           matches_ > 0 ? static_cast<double>(inliers_) / matches_ : 0.0);
  }
  static std::string Rows(const std::string& first, const std::string& second, const client::MatchFound& found) {
    const client::Rays &from = found.query_rays, &to = found.train_rays;
    std::string names, rows;
    AppendCsvField(first, &names);
    names += ',';
    AppendCsvField(second, &names);
    const MatchResult& m = found.matches;
    for (size_t i = 0; i < m.index.size(); ++i) {
      if (m.index[i] == kNoMatch) continue;
      const size_t q = i / static_cast<size_t>(m.k);
      const size_t t = static_cast<size_t>(m.index[i]);
      absl::StrAppend(&rows, names, ",", q, ",", t, ",", m.distance[i]);
      AppendCsvFloats({found.query.x[q], found.query.y[q], found.train.x[t], found.train.y[t]}, &rows);
      if (!from.x.empty()) AppendCsvFloats({from.x[q], from.y[q], from.z[q], to.x[t], to.y[t], to.z[t]}, &rows);
      rows += '\n';
    }
    return rows;
  }

  const PairFlags& flags_;
  StreamReport* const report_;
  ColmapWriter* const colmap_;
  const std::optional<Homography> homography_;
  const double tolerance_;

  std::set<WarningKind> warned_;
  int matches_ = 0, inliers_ = 0;
  int same_ = 0;  // matches with distance 0 at the same place
  bool same_said_ = false;
  std::vector<int32_t> distances_;
  std::vector<uint8_t> good_;  // of each query, whether its match is an inlier
};

// Sets what --calibration says for the pictures of `source`; the exit status if that is an error.
std::optional<int> SetCamera(const CameraFlags& flags, PairSource* source, client::MatchSettings* settings) {
  if (!flags.given()) return std::nullopt;
  const auto image = ShapeOf(source);
  if (!image.ok()) return SourceError(kName, image.status());
  std::vector<std::string> notes;
  const auto cameras = flags.Read({*image}, &notes);
  if (!cameras.ok()) return UsageError(kName, cameras.status().message());
  for (const std::string& note : notes) Complain(kName, note);
  settings->query_camera = settings->train_camera = cameras->front();
  return std::nullopt;
}

}  // namespace

int RunMatch(const std::vector<std::string>& arguments) {
  PairCommand command(kName, kMatchDefaults);
  MatchFlags match_flags;
  PairFlags pair_flags;
  match_flags.AddTo(command.flags());
  pair_flags.AddTo(command.flags(), kCsvHeader,
                   "Both pictures side by side with a line for each keypoint's best match: green, or red where it does "
                   "not agree with --homography.",
                   true);
  const auto end_here = command.Parse(arguments, {Help, "give one SOURCE or two", [&] {
                                                    absl::Status status = match_flags.Validate();
                                                    status.Update(pair_flags.Validate());
                                                    return status;
                                                  }});
  if (end_here.has_value()) return *end_here;
  std::optional<Homography> homography;
  if (!match_flags.homography.empty()) {
    const auto read = ReadHomography(match_flags.homography);
    if (!read.ok()) return UsageError(kName, read.status().message());
    homography = *read;
  }
  if (const absl::Status s = command.OpenBag(); !s.ok()) return SourceError(kName, s);
  auto source = PairSource::Open(command.names(), match_flags.next.value_or(1), SendFormat::kGray, command.video());
  if (!source.ok()) return SourceError(kName, source.status());

  client::MatchStreamOptions options;
  options.settings = match_flags.Settings(command.detector());
  if (const auto failed = SetCamera(match_flags.camera, &*source, &options.settings)) return *failed;
  const std::string header = absl::StrCat(kCsvHeader, match_flags.camera.given() ? kRayColumns : "");

  const auto connection = Connection::Open(command.connection());
  if (!connection.ok()) return CallError(kName, connection.status());
  const auto report = StreamReport::Open(pair_flags.Report(kName, header, source->rate()));
  if (!report.ok()) return OutputError(kName, report.status());
  std::optional<ColmapWriter> colmap;
  if (pair_flags.format == AnswerFormat::kColmap) {
    auto writer = ColmapWriter::Open(pair_flags.output);
    if (!writer.ok()) return OutputError(kName, writer.status());
    colmap.emplace(*std::move(writer));
  }

  options.in_flight = pair_flags.in_flight.value_or(options.in_flight);
  command.SetCall(&options);
  Answers answers(pair_flags, report->get(), colmap.has_value() ? &*colmap : nullptr, homography,
                  match_flags.tolerance.value_or(kDefaultTolerance));
  WaitingPairs waiting;
  StreamRun<client::MatchStream> run([&] {
    return connection->client().OpenMatchStream(options, [&](const client::MatchAnswer& answer) {
      const PicturePair pair = waiting.Pop();
      run.Take([&] { return answers.Add(pair, answer); });
    });
  });
  if (const absl::Status opened = run.Reopen(); !opened.ok()) return CallError(kName, opened);
  const SentPairs sent = SendPairs(kName, &*source, &waiting, [&](uint64_t id, const PicturePair& pair) {
    return run->Write(id, pair.first->input(), pair.second->input());
  });
  if (const absl::Status end = run.Finish(sent.stream); !end.ok()) return CallError(kName, end);
  absl::Status output = run.output();
  if (colmap.has_value()) output.Update(colmap->Close());
  return command.bag()->ExitStatus(kName, (*report)->Close(output, sent.unread));
}

}  // namespace glint::cli
