// glint track: points followed from picture to picture.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/base/command.h"
#include "client/cli/base/connection.h"
#include "client/cli/base/detector_flags.h"
#include "client/cli/output/draw_tracks.h"
#include "client/cli/output/live_view.h"
#include "client/cli/output/output.h"
#include "client/cli/output/scenes.h"
#include "client/cli/output/stream_report.h"
#include "client/cli/output/stream_run.h"
#include "client/cli/source/bag_flags.h"
#include "client/cli/source/calibration.h"
#include "client/cli/source/camera_flags.h"
#include "client/cli/source/pairs.h"
#include "client/cli/source/waiting.h"
#include "client/cli/track/track_flags.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr char kName[] = "track";
constexpr size_t kMaxCameras = 8;

std::string Help(const Flags& flags) {
  return "Usage: glint track [OPTION]... SOURCE\n"
         "       glint track --cameras [OPTION]... SOURCE SOURCE...\n"
         "       glint track --bag FILE [--topic TOPIC[,TOPIC]...] [OPTION]...\n\n" +
         Wrap(
             "Finds points in the first picture and follows them through the others, with new ones in empty places "
             "when too few are left. SOURCE is as for glint stream: a folder, a pattern, a video, a camera or an "
             "address. With --mask and --region points begin where these allow it, and end where they do not; one mask "
             "is that of all cameras, and FILE,FILE are one of each.",
             0) +
         flags.Help() +
         "\nExit status\n"
         "  0 all pictures were answered; 1 some were not; 2 wrong command line;\n"
         "  69 no server; 74 an output cannot be written; 130 interrupted\n"
         "\nExamples\n"
         "  glint track --server inproc --draw trails.avi video.mp4\n"
         "  glint track --csv --points corners.txt frames/\n"
         "  glint track --cameras --draw both.avi left/ right/\n"
         "  glint track --calibration camchain.yaml --mask bonnet.png --csv frames/\n";
}

const char* StateName(client::TrackState state) {
  static constexpr std::array<const char*, kTrackStateCount> kNames = {
      "unknown",       "tracked",       "flat",           "out_of_image",  "moved_too_far",
      "not_converged", "high_residual", "backward_error", "image_resized", "last_frame_lost",
      "reset",         "forgotten",     "masked"};
  const auto index = static_cast<size_t>(state);
  return kNames[index < kNames.size() ? index : 0];
}

// What a line says of one answer, over all cameras.
struct Figures {
  explicit Figures(const client::TrackAnswer& answer) {
    double ages = 0;
    for (const client::TrackArrays& tracks : answer.cameras) {
      for (size_t i = 0; i < tracks.count(); ++i) {
        const bool lives = tracks.state[i] == client::TrackState::kTracked;
        ++(lives ? live : lost);
        if (!lives) continue;
        ages += tracks.age[i];
        if (tracks.age[i] == 0) ++begun;
      }
    }
    mean_age = live == 0 ? 0 : ages / live;
    ms = static_cast<double>(answer.timings.total_ns) * 1e-6;
  }
  std::string Text() const {
    return absl::StrFormat("%d tracks, %d new, %d lost, mean age %.1f, %.3f ms", live, begun, lost, mean_age, ms);
  }

  int live = 0, begun = 0, lost = 0;
  double mean_age = 0, ms = 0;
};

std::string Rows(const std::vector<Picture>& pictures, const client::TrackAnswer& answer) {
  std::string rows;
  for (const client::TrackArrays& t : answer.cameras) {
    std::string field;
    AppendCsvField(pictures[static_cast<size_t>(t.camera)].name, &field);
    for (size_t i = 0; i < t.count(); ++i) {
      absl::StrAppend(&rows, field, ",", t.camera, ",", t.id[i], ",", t.age[i]);
      AppendCsvFloats({t.x[i], t.y[i], t.last_x[i], t.last_y[i]}, &rows);
      absl::StrAppend(&rows, ",", StateName(t.state[i]));
      AppendCsvFloats({t.residual[i], t.gain[i], t.offset[i]}, &rows);
      if (!t.rays.x.empty()) AppendCsvFloats({t.rays.x[i], t.rays.y[i], t.rays.z[i]}, &rows);
      rows += '\n';
    }
  }
  return rows;
}

// Where answers go. Thread-compatible; errors are about an output, and final.
class TrackReport {
 public:
  static absl::StatusOr<std::unique_ptr<TrackReport>> Open(const TrackFlags& flags, bool rays, double rate,
                                                           LiveView* live) {
    const std::string header = absl::StrCat(kTrackCsvHeader, rays ? ",ray_x,ray_y,ray_z" : "");
    GLINT_ASSIGN_OR_RETURN(auto report, StreamReport::Open(flags.Report(kName, header, rate)));
    return std::unique_ptr<TrackReport>(new TrackReport(flags, std::move(report), live));
  }

  // Of an edit `pictures` is empty.
  absl::Status Add(const std::vector<Picture>& pictures, const client::TrackAnswer& answer) {
    const int64_t number = pictures.empty() ? number_ : number_++;
    if (!answer.status.ok()) {
      report_->AddFailed(pictures.empty() ? "points" : pictures[0].name, answer.status);
      return absl::OkStatus();
    }
    if (report_->draws() || report_->mcap() != nullptr || shown_) {
      for (const client::TrackArrays& tracks : answer.cameras) trails_.Add(tracks);
    }
    if (pictures.empty()) return absl::OkStatus();
    for (const Warning& warning : answer.warnings) {
      if (!warned_.insert(warning.kind).second) continue;  // most come with every frame
      report_->Complain(absl::StrCat(pictures[0].name, ": warning: ", warning.text));
    }
    ++frames_;
    const Figures figures(answer);
    report_->ShowLive(frames_, "frames", [&figures] { return figures.Text(); });
    if (live_view_->wanted()) live_view_->Show(TrackScene(pictures, answer, trails_, figures.Text()));
    absl::Status status;
    if (report_->mcap() != nullptr) {
      status = report_->mcap()->Add(TrackScene(pictures, answer, trails_, figures.Text()), pictures[0].time, number);
    }
    if (status.ok() && format_ == AnswerFormat::kTable) {
      status = report_->Write(absl::StrCat(pictures[0].name, ": ", figures.Text(), "\n"));
    }
    if (status.ok() && format_ == AnswerFormat::kCsv) status = report_->Write(Rows(pictures, answer));
    if (!status.ok() || !report_->draws()) return status;
    return Draw(pictures);
  }

  // Between streams: all tracks begin anew.
  void ForgetTracks() { trails_ = Trails(); }

  int Close(const absl::Status& status, int64_t unread) { return report_->Close(status, unread); }

 private:
  TrackReport(const TrackFlags& flags, std::unique_ptr<StreamReport> report, LiveView* live)
      : format_(flags.format), shown_(!flags.view.empty()), live_view_(live), report_(std::move(report)) {}

  absl::Status Draw(const std::vector<Picture>& pictures) {
    std::vector<cv::Mat> drawn;
    int rows = 0, columns = 0;
    for (size_t c = 0; c < pictures.size(); ++c) {
      cv::Mat canvas = pictures[c].Canvas();
      if (canvas.empty()) return absl::OkStatus();
      trails_.Draw(static_cast<int>(c), &canvas);
      rows = std::max(rows, canvas.rows);
      columns += canvas.cols;
      drawn.push_back(canvas);
    }
    cv::Mat all(rows, columns, CV_8UC3, cv::Scalar(32, 32, 32));
    int x = 0;
    for (const cv::Mat& canvas : drawn) {
      canvas.copyTo(all(cv::Rect(x, 0, canvas.cols, canvas.rows)));
      x += canvas.cols;
    }
    return report_->Draw(pictures[0].name, all);
  }

  const AnswerFormat format_;
  const bool shown_;  // on a page
  LiveView* const live_view_;
  const std::unique_ptr<StreamReport> report_;
  Trails trails_;
  std::set<WarningKind> warned_;
  int64_t frames_ = 0, number_ = 0;  // that were answered, and all
};

// Frames, and edits without pictures.
using WaitingFrames = Waiting<std::vector<Picture>>;

struct Sent {
  absl::Status stream;
  int64_t unread = 0;
};

// `first_pictures`: of the source, if they have been taken out of it. `points`: of the first picture of each stream, by
// camera.
Sent SendAll(std::vector<Picture> first_pictures, AlignedSource* source, int max_frames,
             const std::vector<PointList>& points, DetectorOptions* detector, LiveView* live,
             StreamRun<client::TrackStream>* run, WaitingFrames* waiting) {
  Sent sent;
  if (const std::string text = source->LeftOut(); !text.empty()) Complain(kName, text);
  uint64_t id = 0;
  bool first = true;  // of the stream
  for (int frames = 0; sent.stream.ok() && !Interrupted() && frames < max_frames;) {
    if (live->Next(detector) || !run->open()) {
      sent.stream = run->Reopen();
      if (!sent.stream.ok()) break;
      first = true;
    }
    std::vector<Picture> pictures = std::exchange(first_pictures, {});
    const absl::Status next = pictures.empty() ? source->Next(&pictures) : absl::OkStatus();
    if (absl::IsOutOfRange(next)) break;
    if (!next.ok()) {
      Complain(kName, next.message());
      ++sent.unread;
      continue;
    }
    std::vector<client::ImageInput> inputs;
    for (const Picture& picture : waiting->Push(std::move(pictures))) inputs.push_back(picture.input());
    sent.stream = (*run)->Write(id++, inputs);
    ++frames;
    for (size_t c = 0; c < points.size() && first && sent.stream.ok(); ++c) {
      if (points[c].x.empty()) continue;
      waiting->Push({});
      sent.stream = (*run)->Add(id++, static_cast<int>(c), points[c].x, points[c].y);
    }
    first = false;
  }
  if (const std::string text = source->LeftOut(); !text.empty()) Complain(kName, text);
  return sent;
}

// The masks of --mask, one of each camera or none; a single one is that of all.
absl::StatusOr<std::vector<Image>> ReadMasks(const std::string& paths, size_t cameras) {
  std::vector<Image> masks;
  if (paths.empty()) return masks;
  const std::vector<std::string> names = PathsIn(paths);
  if (names.size() != 1 && names.size() != cameras) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '--mask': '", paths, "' is not one file, nor one for each of ", cameras, " cameras"));
  }
  for (size_t c = 0; c < cameras; ++c) {
    GLINT_ASSIGN_OR_RETURN(Image mask, ReadMask(names[names.size() == 1 ? 0 : c]));
    masks.push_back(std::move(mask));
  }
  return masks;
}

// The cameras of --calibration, of these pictures; none without.
absl::StatusOr<std::vector<Camera>> ReadCameras(const CameraFlags& flags, const std::vector<Picture>& pictures) {
  if (!flags.given()) return std::vector<Camera>();
  std::vector<Shape> images;
  for (const Picture& picture : pictures) {
    const cv::Mat canvas = picture.Canvas();
    images.push_back({canvas.cols, canvas.rows});
  }
  std::vector<std::string> notes;
  auto cameras = flags.Read(images, &notes);
  for (const std::string& note : notes) Complain(kName, note);
  return cameras;
}

}  // namespace

int RunTrack(const std::vector<std::string>& arguments) {
  ConnectionFlags connection_flags;
  DetectorFlags detector_flags(kTrackDefaults);
  TrackFlags track_flags;
  CameraFlags camera_flags;
  VideoOptions video;
  BagFlags bag_flags;
  Flags flags;
  connection_flags.AddTo(&flags);
  connection_flags.AddTraceparentTo(&flags);
  detector_flags.AddTo(&flags);
  camera_flags.AddTo(&flags, "Rows of --csv (columns ray_x,ray_y,ray_z)");
  track_flags.AddTo(&flags);
  video.AddTo(&flags);
  bag_flags.AddTo(&flags, BagFlags::Topics::kEach);

  const auto operands = flags.Parse(arguments);
  if (!operands.ok()) return UsageError(kName, operands.status().message());
  if (flags.help_wanted()) return Print(kName, Help(flags));
  auto names = bag_flags.Sources(*operands);
  if (!names.ok()) return UsageError(kName, names.status().message());
  if (names->empty()) return UsageError(kName, "no SOURCE given");
  if (names->size() > 1 && !track_flags.cameras) {
    return UsageError(kName, "more than one SOURCE; --cameras makes each a camera's");
  }
  if (names->size() > kMaxCameras) return UsageError(kName, absl::StrCat("more than ", kMaxCameras, " cameras"));
  for (const absl::Status& status : {connection_flags.Validate(), video.Validate(), track_flags.Validate(),
                                     camera_flags.Validate(), track_flags.mcap.Validate(bag_flags.path())}) {
    if (!status.ok()) return UsageError(kName, status.message());
  }
  const auto detector = detector_flags.Options();
  if (!detector.ok()) return UsageError(kName, detector.status().message());
  const auto masks = ReadMasks(detector_flags.mask, names->size());
  if (!masks.ok()) return UsageError(kName, masks.status().message());
  std::vector<PointList> points;
  if (!track_flags.points.empty()) {
    auto read = ReadPoints(track_flags.points, static_cast<int>(names->size()));
    if (!read.ok()) return UsageError(kName, read.status().message());
    points = *std::move(read);
  }
  if (const absl::Status s = bag_flags.Open(&*names, &video); !s.ok()) return SourceError(kName, s);
  auto source = AlignedSource::Open(*names, SendFormat::kGray, video);
  if (!source.ok()) return SourceError(kName, source.status());
  std::vector<Picture> first_pictures;
  if (camera_flags.given()) {
    if (const absl::Status s = source->Next(&first_pictures); !s.ok()) return SourceError(kName, s);
  }
  auto cameras = ReadCameras(camera_flags, first_pictures);
  if (!cameras.ok()) return UsageError(kName, cameras.status().message());

  auto live = LiveView::Open(kName, track_flags.view,
                             absl::StrCat("tracks of ", names->front(), " on ", connection_flags.server), &*detector);
  if (!live.ok()) return UsageError(kName, live.status().message());
  const auto connection = Connection::Open(connection_flags);
  if (!connection.ok()) return CallError(kName, connection.status());
  const auto report = TrackReport::Open(track_flags, camera_flags.given(), source->rate(), &*live);
  if (!report.ok()) return OutputError(kName, report.status());

  client::TrackStreamOptions options = track_flags.Options();
  options.detector = *detector;
  options.cameras = static_cast<int>(names->size());
  options.timeout = connection_flags.timeout_or(options.timeout);
  options.traceparent = connection_flags.traceparent;
  options.gray_range = detector_flags.gray_range();
  options.masks.assign(masks->begin(), masks->end());
  options.region = detector_flags.region;
  options.calibrations = *std::move(cameras);
  WaitingFrames waiting;
  StreamRun<client::TrackStream> run([&] {
    (*report)->ForgetTracks();
    return connection->client().OpenTrackStream(options, [&](const client::TrackAnswer& answer) {
      run.Take([&] { return (*report)->Add(waiting.Front(), answer); });
      waiting.Pop();
    });
  });
  const Sent sent = SendAll(std::move(first_pictures), &*source, track_flags.max_frames.value_or(INT32_MAX), points,
                            &options.detector, &*live, &run, &waiting);
  if (const absl::Status end = run.Finish(sent.stream); !end.ok()) return CallError(kName, end);
  return bag_flags.ExitStatus(kName, (*report)->Close(run.output(), sent.unread));
}

}  // namespace glint::cli
