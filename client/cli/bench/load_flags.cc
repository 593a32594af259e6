#include "client/cli/bench/load_flags.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/base/command.h"
#include "client/cli/source/raw_flags.h"
#include "client/load/echo_process.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

using client::PixelFormat;

constexpr int kMaxStreams = 1024;
constexpr int kMaxInFlight = 4096;
constexpr int kMaxRounds = 1000;
constexpr float kMaxRate = 1e6f;
constexpr float kMaxSeconds = 1e5f;
constexpr int kDefaultEchoRounds = 5;
constexpr float kDefaultWarmUp = 1, kDefaultDuration = 10;

const std::vector<std::pair<std::string, std::optional<PixelFormat>>>& Formats() {
  static const auto* const formats = [] {
    auto* all = new std::vector<std::pair<std::string, std::optional<PixelFormat>>>;
    for (const auto& [name, value] : PixelFormatNames()) all->emplace_back(name, value);
    all->emplace_back("file", std::nullopt);
    return all;
  }();
  return *formats;
}

absl::Status Bad(absl::string_view option, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("option '--", option, "': ", what));
}

}  // namespace

void LoadFlags::AddTo(Flags* flags) {
  flags->Section("Load");
  flags->Choice("task",
                {{"detect", load::Task::kDetect},
                 {"stereo", load::Task::kStereo},
                 {"match", load::Task::kMatch},
                 {"match_descriptors", load::Task::kMatchDescriptors}},
                "detect (the default): the features of a picture. stereo: the disparities of a rectified pair. match: "
                "the cross-checked matches of two pictures. match_descriptors: of two sets of --features descriptors, "
                "a third of which match. What the options below call a frame is a pair then, and FILEs are taken two "
                "by two.",
                &task);
  flags->Int("streams", "N", "Streams at the same time, each over a connection of its own (1..1024, default 1).",
             &streams);
  flags->Int("in-flight", "N",
             "Closed loop (the default): frames that each stream has sent and not got answered (1..4096, default 1). "
             "Each answer is followed by the next frame.",
             &in_flight);
  flags->Float("rate", "R",
               "Open loop: frames a second over all streams, evenly spaced, whatever the server does. Latency counts "
               "from the moment when a frame was due, sent or not.",
               &rate);
  flags->Choice("policy",
                {{"block", client::OverloadPolicy::kBlock},
                 {"drop_oldest", client::OverloadPolicy::kDropOldest},
                 {"latest", client::OverloadPolicy::kLatest},
                 {"reject", client::OverloadPolicy::kReject}},
                "What the server does with frames that come faster than it answers. Default: block.", &policy);
  flags->Float("max-age", "MS", "The server drops frames that have waited for so long (default: never).", &max_age_ms);
  flags->String("size", "WxH", absl::StrCat("Of the picture, without a FILE (default ", kDefaultSize, ")."), &size);
  flags->Choice("pixel-format", Formats(),
                "What the picture's grey is sent as; file: FILEs as they are. Default: gray8.", &format);
  flags->Choice("send", {{"pixels", false}, {"jpeg", true}},
                "jpeg: the picture's grey travels as a JPEG file. Default: pixels, of --pixel-format.", &send_jpeg);
  jpeg.AddTo(flags);
  flags->Bool("shared-memory",
              "Each picture is put once into memory that is shared with the server, which must be at unix:PATH and "
              "have been started with --shared-memory; frames say where it is.",
              &shared_memory);
  flags->Float("warm-up", "SECONDS", "Not measured, before each round (default 1).", &warm_up);
  flags->Float("duration", "SECONDS", "Measured, over all rounds (default 10).", &duration);
  flags->Section("Comparison");
  flags->Bool("echo",
              "Also measures a bare gRPC server that answers each frame with as many bytes, over the same kind of "
              "connection to a process of its own, in rounds that alternate with the server's.",
              &echo);
  flags->String("echo-at", "ADDRESS", "The same, with a 'glint echo-server' that runs there.", &echo_at);
  flags->Int("rounds", "N", "Parts into which the duration is cut (1..1000, default 5 with an echo, else 1).", &rounds);
  flags->Bool("energy",
              "Joules a frame, from the counters of this machine's GPUs and processors, which the server must be on. "
              "Before the first round the machine's power without frames is measured for 2 s.",
              &energy);
  flags->Section("Output");
  flags->Bool("json", "One JSON object instead of a table; docs/bench.md describes it.", &json);
  flags->String("output", "FILE", "Default: standard output.", &output);
}

absl::Status LoadFlags::Validate(const std::string& server, const std::vector<std::string>& files) const {
  for (const absl::Status& status :
       {CheckOption("streams", streams, 1, kMaxStreams), CheckOption("in-flight", in_flight, 1, kMaxInFlight),
        CheckOption("rounds", rounds, 1, kMaxRounds), CheckOption("rate", rate, 1 / kMaxSeconds, kMaxRate),
        CheckOption("max-age", max_age_ms, 1e-6f, 86400000.0f), CheckOption("warm-up", warm_up, 0.0f, kMaxSeconds),
        CheckOption("duration", duration, 0.01f, kMaxSeconds)}) {
    if (!status.ok()) return status;
  }
  if (rate.has_value() && in_flight.has_value()) {
    return Bad("rate", "an open loop has no --in-flight: it sends what is due");
  }
  const std::string task_name = load::NameOf(task);
  if (task == load::Task::kMatchDescriptors) {
    if (!files.empty()) return Bad("task", absl::StrCat(task_name, " takes no FILE"));
    if (!size.empty()) return Bad("size", absl::StrCat("--task ", task_name, " has no picture"));
    if (format != PixelFormat::kGray8)
      return Bad("pixel-format", absl::StrCat("--task ", task_name, " has no picture"));
    if (send_jpeg) return Bad("send", absl::StrCat("--task ", task_name, " has no picture"));
    if (shared_memory) return Bad("shared-memory", absl::StrCat("--task ", task_name, " has no picture"));
  }
  if (load::IsPair(task) && files.size() % 2 != 0) {
    return Bad("task", absl::StrCat(task_name, ": ", files.size(), " FILEs are no pairs"));
  }
  if (!size.empty() && !files.empty()) return Bad("size", "FILEs have a size of their own");
  if (auto shape = ParseSize("size", size.empty() ? kDefaultSize : size); !shape.ok()) return shape.status();
  if (!format.has_value() && files.empty()) return Bad("pixel-format", "file: no FILE given");
  GLINT_RETURN_IF_ERROR(jpeg.Validate(send_jpeg));
  if (send_jpeg && format != PixelFormat::kGray8) return Bad("send", "jpeg has no --pixel-format");
  if (send_jpeg && shared_memory) return Bad("shared-memory", "is for pixels, not for --send jpeg");
  if (shared_memory && !absl::StartsWith(server, "unix:")) {
    return Bad("shared-memory", absl::StrCat(server, " is not unix:PATH"));
  }
  if (shared_memory && !format.has_value()) return Bad("shared-memory", "is for pixels, not for files as they are");
  if (echo && !echo_at.empty()) return Bad("echo-at", "is in place of --echo");
  if (echo && !load::IsLocalAddress(server)) {
    return Bad("echo", absl::StrCat(server,
                                    " is not known to be this machine; run 'glint echo-server' beside that "
                                    "server and use --echo-at"));
  }
  if (energy && !load::IsLocalAddress(server)) {
    return Bad("energy", absl::StrCat(server, " is not known to be this machine, whose counters are read"));
  }
  if (server == "inproc") return Bad("server", "inproc has no connection to measure; start a glint-server");
  return absl::OkStatus();
}

int LoadFlags::Rounds() const { return rounds.value_or(echo || !echo_at.empty() ? kDefaultEchoRounds : 1); }

load::RunOptions LoadFlags::Run(absl::Duration patience) const {
  load::RunOptions run;
  run.in_flight = in_flight.value_or(1);
  run.rate = static_cast<double>(rate.value_or(0));
  run.warm_up = absl::Seconds(warm_up.value_or(kDefaultWarmUp));
  run.duration = absl::Seconds(duration.value_or(kDefaultDuration)) / Rounds();
  run.patience = patience;
  run.stop = Interrupted;
  return run;
}

std::string LoadFlags::FormatName() const {
  if (send_jpeg) return absl::StrCat("jpeg of quality ", jpeg.Quality());
  for (const auto& [name, value] : Formats()) {
    if (value == format) return absl::StrCat(name, shared_memory ? " in shared memory" : "");
  }
  return "";
}

}  // namespace glint::cli
