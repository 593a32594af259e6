#include "client/cli/output/report.h"

#include <cstdio>
#include <utility>

#include "client/cli/base/command.h"
#include "client/cli/output/scenes.h"
#include "features/status_macros.h"
#include "features/steady_time.h"

namespace glint::cli {

void ReportFlags::AddTo(Flags* flags) {
  flags->Section("Output");
  flags->Choice(
      "format", {{"table", Format::kTable}, {"json", Format::kJson}, {"csv", Format::kCsv}, {"none", Format::kNone}},
      absl::StrCat("table: a line for each image. json: an object for each image, one a line. csv: a line for each "
                   "keypoint, with the header image,x,y,size,angle,response,octave and, with descriptors, ,descriptor "
                   "(hexadecimal). Floats have the fewest digits that read back the same. none: the summary alone. "
                   "Default: ",
                   format == Format::kTable ? "table." : "none."),
      &format);
  flags->String("output", "FILE", "Write that to FILE instead of standard output.", &output);
  flags->String("draw", "FILE",
                "Write annotated pictures: a video (.avi, .mp4, .mkv), a picture (.png, .jpg), or, if FILE is a folder "
                "or ends in '/', a PNG for each image in it. Keypoints are circles of their size with a line in their "
                "direction; the colour goes from green (fine) to violet (coarse levels).",
                &draw);
  flags->Bool("summary",
              "At the end frames/s and the percentiles of every stage, on standard output if nothing but a table is "
              "written there, else on standard error (default: yes, for more than one image).",
              &summary);
  flags->Bool("progress", "A progress line when standard error is a terminal (default: yes).", &progress);
}

Report::Report(const std::string& command, const ReportFlags& flags, OutputFile output, int64_t total)
    : command_(command), flags_(flags), output_(std::move(output)), start_(SteadyNow()) {
  // A table that scrolls on the same terminal shows the progress itself.
  const bool rows_on_terminal = flags.format != Format::kNone && OnTerminal(flags.output);
  progress_.emplace(flags.progress && !rows_on_terminal, total);
}

absl::StatusOr<std::unique_ptr<Report>> Report::Open(const std::string& command, const ReportFlags& flags,
                                                     bool descriptors, int64_t total, double rate, bool rays) {
  GLINT_ASSIGN_OR_RETURN(auto output, OutputFile::Open(flags.output));
  auto report = std::unique_ptr<Report>(new Report(command, flags, std::move(output), total));
  report->formatter_ = Formatter::Make(flags.format, descriptors, rays);
  if (!flags.draw.empty()) {
    GLINT_ASSIGN_OR_RETURN(report->sink_, OpenDrawSink(flags.draw, rate));
  }
  if (!flags.mcap.path.empty()) {
    GLINT_ASSIGN_OR_RETURN(report->mcap_, McapOutput::Open(flags.mcap, rate));
  }
  if (report->formatter_ != nullptr) {
    std::string header;
    report->formatter_->AppendHeader(&header);
    GLINT_RETURN_IF_ERROR(report->output_.Write(header));
  }
  return report;
}

absl::Status Report::Add(const Picture& picture, const absl::Status& status, const client::Detection& detection,
                         bool dropped) {
  const int64_t number = summary_.frames();
  summary_.AddBytes(picture.bytes());
  if (status.ok()) {
    summary_.AddOk(detection);
    for (const Warning& warning : detection.warnings) {
      if (!warned_.insert(warning.kind).second) continue;  // most come with every picture
      Complain(command_, absl::StrCat(picture.name, ": warning: ", warning.text));
    }
  } else if (dropped) {
    summary_.AddDropped();
  } else {
    summary_.AddFailed(1);
    Complain(command_, absl::StrCat(picture.name, ": ", Describe(status)));
  }
  if (formatter_ != nullptr) {
    text_.clear();
    formatter_->Append(picture.name, status, detection, &text_);
    GLINT_RETURN_IF_ERROR(output_.Write(text_));
  }
  if (mcap_ != nullptr && status.ok()) {
    const SharedPicture borrowed(std::shared_ptr<const Picture>(), &picture);  // until Add() is over
    GLINT_RETURN_IF_ERROR(mcap_->Add(KeypointScene(borrowed, detection), picture.time, number));
  }
  if (sink_ != nullptr) {
    cv::Mat canvas = picture.Canvas();
    if (!canvas.empty()) {
      DrawFeatures(detection.features, &canvas);
      GLINT_RETURN_IF_ERROR(sink_->Write(picture.name, canvas));
    }
  }
  progress_->Update(summary_.frames());
  return absl::OkStatus();
}

int Report::Close(const absl::Status& output_status) {
  progress_.reset();
  absl::Status status = output_status;
  if (sink_ != nullptr) status.Update(sink_->Close());
  if (mcap_ != nullptr) status.Update(mcap_->Close());
  // Of one picture, results say enough, if there are any.
  if (status.ok() && flags_.summary && summary_.frames() > (flags_.format == Format::kNone ? 0 : 1)) {
    const std::string text = summary_.Text(SteadyNow() - start_);
    const bool beside_table = flags_.format == Format::kTable || flags_.format == Format::kNone;
    if (beside_table && flags_.output.empty()) {
      status = output_.Write((flags_.format == Format::kTable ? "\n" : "") + text);
    } else {
      std::fputs(text.c_str(), stderr);
    }
  }
  status.Update(output_.Close());
  if (!status.ok()) return OutputError(command_, status);
  if (Interrupted()) return kInterrupted;
  return summary_.failed() > 0 ? kFailed : kOk;
}

}  // namespace glint::cli
