#include "client/cli/load_flags.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/raw_flags.h"
#include "client/cli/shared_frames.h"
#include "client/load/echo_process.h"
#include "server/decode/image_file.h"

namespace glint::cli {
namespace {

using client::PixelFormat;

constexpr char kDefaultSize[] = "640x480";
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

template <typename T>
absl::Status CheckRange(absl::string_view option, const std::optional<T>& value, T low, T high) {
  if (!value.has_value() || (*value >= low && *value <= high)) return absl::OkStatus();
  return Bad(option, absl::StrCat(*value, " is not in ", low, "..", high));
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (stream.is_open() && !stream.bad()) return bytes;
  return absl::NotFoundError(absl::StrCat(path, ": ", errno != 0 ? std::strerror(errno) : "cannot be read"));
}

}  // namespace

void LoadFlags::AddTo(Flags* flags) {
  flags->Section("Load");
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
  flags->Section("Output");
  flags->Bool("json", "One JSON object instead of a table; docs/bench.md describes it.", &json);
  flags->String("output", "FILE", "Default: standard output.", &output);
}

absl::Status LoadFlags::Validate(const std::string& server, const std::vector<std::string>& files) const {
  for (const absl::Status& status :
       {CheckRange("streams", streams, 1, kMaxStreams), CheckRange("in-flight", in_flight, 1, kMaxInFlight),
        CheckRange("rounds", rounds, 1, kMaxRounds), CheckRange("rate", rate, 1 / kMaxSeconds, kMaxRate),
        CheckRange("max-age", max_age_ms, 1e-6f, 86400000.0f), CheckRange("warm-up", warm_up, 0.0f, kMaxSeconds),
        CheckRange("duration", duration, 0.01f, kMaxSeconds)}) {
    if (!status.ok()) return status;
  }
  if (rate.has_value() && in_flight.has_value()) {
    return Bad("rate", "an open loop has no --in-flight: it sends what is due");
  }
  if (!size.empty() && !files.empty()) return Bad("size", "FILEs have a size of their own");
  if (auto shape = ParseSize("size", size.empty() ? kDefaultSize : size); !shape.ok()) return shape.status();
  if (!format.has_value() && files.empty()) return Bad("pixel-format", "file: no FILE given");
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

absl::StatusOr<std::vector<load::FrameBody>> LoadFlags::Frames(const std::vector<std::string>& files,
                                                               const client::Client* client,
                                                               load::BenchReport* report) const {
  std::vector<load::FrameBody> frames;
  double bytes = 0;
  SharedFrames shared(client, static_cast<int>(files.size()));  // a slot more
  const auto add = [&](const client::ImageInput& pixels) -> absl::Status {
    const absl::StatusOr<client::ImageInput> input = shared_memory ? shared.Put(pixels) : pixels;
    if (!input.ok()) return input.status();
    auto frame = load::FrameBody::Of(*input);
    if (!frame.ok()) return frame.status();
    bytes += static_cast<double>(frame->size());
    frames.push_back(*std::move(frame));
    return absl::OkStatus();
  };
  const auto add_gray = [&](const Image& gray) -> absl::Status {
    if (frames.empty()) {
      report->width = gray.width();
      report->height = gray.height();
    }
    const std::string pixels = load::InFormat(gray, *format);
    return add(client::ImageInput::Raw(*format, pixels.data(), gray.width(), gray.height(),
                                       static_cast<ptrdiff_t>(gray.width()) * client::BytesPerPixel(*format)));
  };
  if (files.empty()) {
    const auto shape = ParseSize("size", size.empty() ? kDefaultSize : size);
    if (!shape.ok()) return shape.status();
    if (absl::Status s = add_gray(load::SyntheticPicture(*shape, 1)); !s.ok()) return s;
    report->picture = absl::StrCat("a made-up picture of ", shape->width, "x", shape->height);
  }
  for (const std::string& path : files) {
    if (!format.has_value()) {
      const auto file = ReadFile(path);
      if (!file.ok()) return file.status();
      if (absl::Status s = add(client::ImageInput::Encoded(*file)); !s.ok()) return s;
      continue;
    }
    const auto gray = decode::ReadImageFile(path);
    if (!gray.ok()) return gray.status();
    if (absl::Status s = add_gray(*gray); !s.ok()) return s;
  }
  if (!files.empty()) {
    report->picture = files.size() == 1 ? files.front() : absl::StrCat(files.size(), " pictures");
    if (report->width > 0) absl::StrAppend(&report->picture, " (", report->width, "x", report->height, ")");
  }
  report->pictures = static_cast<int>(frames.size());
  report->frame_bytes = bytes / static_cast<double>(frames.size());
  for (const auto& [name, value] : Formats()) {
    if (value == format) report->format = name;
  }
  if (shared_memory) absl::StrAppend(&report->format, " in shared memory");
  return frames;
}

}  // namespace glint::cli
