// glint bench: loads a server and measures it, beside a bare echo server if asked to.
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/energy_report.h"
#include "client/cli/base/command.h"
#include "client/cli/base/connection.h"
#include "client/cli/base/detector_flags.h"
#include "client/cli/bench/load_flags.h"
#include "client/cli/output/output.h"
#include "client/load/echo_process.h"
#include "client/load/report.h"
#include "decode/image_file.h"
#include "features/status_macros.h"
#include "sensors/energy.h"
#include "server/config/options.h"

namespace glint::cli {
namespace {

constexpr char kName[] = "bench";
constexpr char kProgram[] = "/proc/self/exe";
constexpr absl::Duration kIdle = absl::Seconds(2);  // without frames, for --energy

std::string Help(const Flags& flags) {
  return "Usage: glint bench [OPTION]... [FILE]...\n\n" +
         Wrap(
             "Sends frames to a server, as fast as it answers (closed loop) or at a rate of its own (open loop), and "
             "reports how long the answers took and where that time went. FILEs (PGM, PPM, PNG, JPEG) are sent in "
             "turn; without any, a picture is made up. With --task, rectified pairs or pairs to match. Frames are "
             "serialized once, before anything is measured; the report says what is copied for each.",
             0) +
         flags.Help() +
         "\nExit status\n"
         "  0 all frames were answered; 1 some failed or were not; 2 wrong command\n"
         "  line; 69 no server, or it went away; 74 the report cannot be written;\n"
         "  130 interrupted: what was measured until then is reported\n"
         "\nExamples\n"
         "  glint bench --server unix:/run/glint.sock --echo\n"
         "  glint bench --rate 200 --streams 4 --size 1920x1080 --duration 60\n"
         "  glint bench --in-flight 8 --json *.png | jq .server.latency.p99_ns\n"
         "  glint bench --task stereo --features 2000 --echo left.png right.png\n";
}

absl::StatusOr<std::string> FirstMessage(const LoadFlags& load_flags, const DetectorFlags& detector_flags,
                                         const DetectorOptions& detector) {
  const auto with_policy = [&](auto options) {
    options.overload_policy = load_flags.policy;
    options.max_age = absl::Milliseconds(load_flags.max_age_ms.value_or(0));
    options.gray_range = detector_flags.gray_range();
    return options;
  };
  if (load::IsPair(load_flags.task)) {
    GLINT_RETURN_IF_ERROR(NoMaskOrRegion(detector_flags));
  }
  switch (load_flags.task) {
    case load::Task::kStereo: {
      auto options = with_policy(client::StereoStreamOptions());
      options.detector = detector;
      return load::SerializeOptions(options);
    }
    case load::Task::kMatch:
    case load::Task::kMatchDescriptors: {
      auto options = with_policy(client::MatchStreamOptions());
      options.settings.detector = detector;
      options.settings.match.cross_check = true;
      return load::SerializeOptions(options);
    }
    case load::Task::kDetect:
      break;
  }
  auto options = with_policy(client::StreamOptions());
  options.detector = detector;
  options.region = detector_flags.region;
  Image mask;
  if (!detector_flags.mask.empty()) {
    GLINT_ASSIGN_OR_RETURN(mask, decode::ReadImageFile(detector_flags.mask));
    options.mask = mask;
  }
  return load::SerializeOptions(options);
}

// A round of the server. With `energy`, the warm-up is a run of its own, so that its energy does not count.
absl::StatusOr<load::RunResult> RunServer(const load::RunOptions& run, bench::EnergyAccount* energy,
                                          load::Load* server) {
  if (energy == nullptr) return server->Run(run);
  load::RunOptions part = run;
  part.warm_up = absl::ZeroDuration();
  if (run.warm_up > absl::ZeroDuration()) {
    part.duration = run.warm_up;
    auto warm = server->Run(part);
    if (!warm.ok() || server->given_up()) return warm;
    part.duration = run.duration;
  }
  energy->Begin();
  auto result = server->Run(part);
  if (result.ok()) energy->End(result->measured.answered());
  return result;
}

// Runs rounds of the server and, in between, of the echo server. Errors are a server's; a report that has rounds is
// good up to there.
absl::Status RunRounds(const load::Target& target, const std::string& echo_address, int rounds,
                       const std::vector<load::FrameBody>& frames, bench::EnergyAccount* energy,
                       load::BenchReport* report) {
  load::Load server(target, report->streams, &frames);
  std::unique_ptr<load::Load> echo;
  for (int round = 0; round < rounds && !Interrupted() && !server.given_up(); ++round) {
    auto result = RunServer(report->run, energy, &server);
    if (!result.ok()) return result.status();
    report->server.Add(*result);
    if (energy != nullptr) report->energy = energy->Report();
    if (echo_address.empty() || Interrupted()) continue;
    if (echo == nullptr) {
      echo = std::make_unique<load::Load>(load::Target{echo_address, target.task, false, server.last_reply()},
                                          report->streams, &frames);
    }
    result = echo->Run(report->run);
    if (!result.ok())
      return absl::Status(result.status().code(), "echo server: " + std::string(result.status().message()));
    report->echo.Add(*result);
    if (echo->given_up()) return absl::DeadlineExceededError("echo server: frames were not answered");
  }
  return server.given_up() ? absl::OkStatus() : server.Close(report->run.patience);
}

int Bench(const ConnectionFlags& connection, const LoadFlags& load_flags, const std::vector<std::string>& files,
          const std::string& first_message, load::BenchReport* report) {
  client::ClientOptions client_options;
  client_options.connect_timeout = connection.timeout_or(client_options.connect_timeout);
  const auto client = client::Client::Connect(connection.server, client_options);
  if (!client.ok()) return CallError(kName, client.status());
  const auto frames = load_flags.Frames(files, &*client, report);
  if (!frames.ok()) {
    Complain(kName, frames.status().message());
    return kFailed;
  }
  const auto info = client->GetServerInfo(connection.timeout_or(absl::Seconds(5)));
  if (!info.ok()) return CallError(kName, info.status());
  report->server_info = *info;

  std::unique_ptr<load::EchoProcess> echo_process;
  std::string echo_address = load_flags.echo_at;
  if (load_flags.echo) {
    auto started = load::EchoProcess::Start(kProgram, connection.server);
    if (!started.ok()) return CallError(kName, started.status());
    echo_process = std::make_unique<load::EchoProcess>(*std::move(started));
    echo_address = echo_process->address();
  }
  report->server.address = connection.server;
  report->echo.address = echo_address;
  load::Target target;
  target.address = connection.server;
  target.task = report->task;
  target.first = first_message;
  std::unique_ptr<EnergyMeter> meter;
  std::unique_ptr<bench::EnergyAccount> energy;
  if (load_flags.energy) {
    meter = std::make_unique<EnergyMeter>(EnergyMeterOptions());
    energy = std::make_unique<bench::EnergyAccount>(meter.get());
    energy->MeasureIdle(kIdle);
  }
  const absl::Status status = RunRounds(target, echo_address, load_flags.Rounds(), *frames, energy.get(), report);
  if (report->server.measured.frames() > 0 || status.ok()) {
    auto output = OutputFile::Open(load_flags.output);
    absl::Status written = output.status();
    if (written.ok()) written = output->Write(load_flags.json ? ReportJson(*report) : ReportText(*report));
    if (written.ok()) written = output->Close();
    if (!written.ok()) return OutputError(kName, written);
  }
  if (!status.ok()) return CallError(kName, status);
  if (Interrupted()) return kInterrupted;
  const load::Measurement& m = report->server.measured;
  return m.failed.empty() && m.unanswered == 0 && m.ok > 0 ? kOk : kFailed;
}

}  // namespace

int RunBench(const std::vector<std::string>& arguments) {
  ConnectionFlags connection;
  DetectorFlags detector_flags;
  LoadFlags load_flags;
  Flags flags;
  connection.AddTo(&flags, /*inside=*/false);
  detector_flags.AddTo(&flags);
  load_flags.AddTo(&flags);
  const auto operands = flags.Parse(arguments);
  if (!operands.ok()) return UsageError(kName, operands.status().message());
  if (flags.help_wanted()) return Print(kName, Help(flags));
  for (const absl::Status& status : {connection.Validate(), load_flags.Validate(connection.server, *operands)}) {
    if (!status.ok()) return UsageError(kName, status.message());
  }
  const auto detector = detector_flags.Options();
  if (!detector.ok()) return UsageError(kName, detector.status().message());

  load::BenchReport report;
  report.version = ServerVersion();
  report.command = "glint bench " + absl::StrJoin(arguments, " ");
  report.task = load_flags.task;
  report.detector = *detector;
  report.streams = load_flags.streams.value_or(1);
  report.run = load_flags.Run(connection.timeout_or(absl::Seconds(10)));
  const auto first_message = FirstMessage(load_flags, detector_flags, *detector);
  if (!first_message.ok()) return UsageError(kName, first_message.status().message());
  return Bench(connection, load_flags, *operands, *first_message, &report);
}

}  // namespace glint::cli
