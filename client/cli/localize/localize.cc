// glint localize: the path of a stereo or RGB-D camera.

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/base/command.h"
#include "client/cli/base/connection.h"
#include "client/cli/localize/data_set.h"
#include "client/cli/localize/localize_flags.h"
#include "client/cli/localize/localize_report.h"
#include "client/cli/output/live_view.h"
#include "client/cli/output/pair_command.h"
#include "client/cli/output/pair_report.h"
#include "client/cli/output/stream_run.h"
#include "client/cli/source/dataset.h"
#include "client/cli/source/imu_file.h"
#include "client/cli/source/pairs.h"
#include "client/scenes/map_reader.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr char kName[] = "localize";
// Pairs count from 0.
constexpr uint64_t kLoadId = uint64_t{1} << 62, kSaveId = kLoadId + 1, kImuId = kLoadId + 2, kMapId = kLoadId + 3;

std::string Help(const Flags& flags) {
  return "Usage: glint localize [OPTION]... FOLDER\n"
         "       glint localize --calibration PATH [OPTION]... LEFT RIGHT\n"
         "       glint localize --calibration PATH [OPTION]... SIDE_BY_SIDE\n"
         "       glint localize --calibration PATH --depth [OPTION]... LEFT DEPTH\n"
         "       glint localize --bag FILE --left TOPIC [--right TOPIC] [OPTION]...\n\n" +
         Wrap(
             "Where a stereo camera, or one with a sensor of depth, goes, by what it sees. LEFT, RIGHT and "
             "SIDE_BY_SIDE (both images in one picture) are as for glint stream: folders, patterns, videos, cameras or "
             "URLs. DEPTH is a folder or a pattern. With --mask, --right-mask and --region keypoints are looked for "
             "only where these allow it, in pixels of the pictures as they are: not on the robot itself.\n"
             "FOLDER is a data set's, of EuRoC, TUM-VI, TUM RGB-D or KITTI: its calibration, inertial readings and "
             "truth are found in it, unless --calibration, --imu (--imu '': none) and --truth say others.",
             0) +
         flags.Help() +
         "\nExit status\n"
         "  0 all pairs were answered; 1 some were not; 2 wrong command line;\n"
         "  69 no server; 74 an output cannot be written; 130 interrupted\n"
         "\nExamples\n"
         "  glint localize V1_01_easy/\n"
         "  glint localize --calibration calib.txt image_0/ image_1/\n"
         "  glint localize --calibration mav0/ mav0/cam0/data/ mav0/cam1/data/\n"
         "  glint localize --calibration mav0/ --imu mav0/imu0/ \\\n"
         "      mav0/cam0/data/ mav0/cam1/data/\n"
         "  glint localize --calibration calib.txt --trajectory path.txt \\\n"
         "      --truth poses.txt --draw drive.avi image_0/ image_1/\n"
         "  glint localize --calibration TUM1.yaml --depth rgb/ depth/\n"
         "  glint localize --calibration realsense.json --depth --cameras color \\\n"
         "      --depth-camera depth color/ depth/\n"
         "  glint localize --bag drive.mcap --left /cam0/image_raw --right /cam1/image_raw\n"
         "  glint localize --calibration-name front --mask bonnet.png left/ right/\n"
         "  glint localize --calibration-name d435 --depth color/ depth/\n"
         "  glint localize --calibration stereo.yml --rate 30 --map office both.mp4\n";
}

// Of one drive.
struct Drive {
  PairSource* source;
  const LocalizeFlags& flags;
  const StreamRun<client::LocalizeStream>& stream;
  ImuFeed imu;
};

absl::Status Send(Drive* drive, uint64_t id, const PicturePair& pair) {
  const client::ImageInput left = pair.first->input();
  const client::ImageInput right = pair.second != nullptr ? pair.second->input() : client::ImageInput();
  const auto& stream = drive->stream;
  const bool depth = drive->flags.depth;
  if (drive->flags.relocalize) {
    return depth ? stream->RelocalizeDepth(id, left, right) : stream->Relocalize(id, left, right);
  }
  const int64_t time_ns = absl::ToInt64Nanoseconds(drive->flags.TimeOf(pair));
  const std::vector<client::ImuReadings>& readings = drive->imu.Until(time_ns);
  const bool poses = !drive->flags.imu.poses().empty();  // answered by messages with readings alone
  for (size_t i = 0; i + (poses ? 0 : 1) < readings.size(); ++i) {
    if (!readings[i].empty()) GLINT_RETURN_IF_ERROR(stream->WriteImu(kImuId, readings[i], poses));
  }
  const client::ImuReadings& of_pair = poses ? client::ImuReadings() : readings.back();
  return depth ? stream->WriteDepth(id, left, right, time_ns, {}, of_pair)
               : stream->Write(id, left, right, time_ns, {}, {}, of_pair);
}

// The whole map as it is after the last pair. What keeps it from coming, the stream's end says.
absl::Status ReadLastMap(const StreamRun<client::LocalizeStream>& stream, client::MapReader* map) {
  if (!map->Wait(Interrupted)) return absl::OkStatus();
  map->BeginAgain();
  while (const auto from = map->Next()) {
    GLINT_RETURN_IF_ERROR(stream->GetMap(kMapId, *from));
    if (!map->Wait(Interrupted) || map->is_whole()) break;
  }
  return absl::OkStatus();
}

// A pair that cannot be read is left out, but for its time.
SentPairs SendAll(Drive drive, WaitingPairs* waiting, const LiveView& live, client::MapReader* map) {
  SentPairs sent;
  PairSource* const source = drive.source;
  if (const std::string text = source->LeftOut(); !text.empty()) Complain(kName, text);
  const bool records = !drive.flags.mcap.path.empty();
  const uint64_t end = static_cast<uint64_t>(drive.flags.max_frames.value_or(INT32_MAX));
  for (uint64_t id = 0; id < end && sent.stream.ok() && !Interrupted(); ++id) {
    live.WaitWhilePaused();
    PicturePair pair;
    absl::Status next = source->Next(&pair);
    if (absl::IsOutOfRange(next)) break;
    if (next.ok()) next = drive.flags.CheckTimes(pair);
    if (!next.ok()) {
      Complain(kName, next.message());
      ++sent.unread;
      continue;
    }
    waiting->Push(pair);
    sent.stream = Send(&drive, id, pair);
    const auto from = records || live.wants_map() ? map->Next() : std::nullopt;
    if (sent.stream.ok() && from.has_value()) sent.stream = drive.stream->GetMap(kMapId, *from);
  }
  if (records && sent.stream.ok()) sent.stream = ReadLastMap(drive.stream, map);
  if (const std::string text = source->LeftOut(); !text.empty()) Complain(kName, text);
  return sent;
}

// Sends the pairs of `source` and reports what is answered; the exit status.
int Localize(PairCommand* command, const LocalizeFlags& flags, const Trajectory& truth, PairSource* source,
             client::LocalizeStreamOptions options, ImuFeed imu) {
  // Without sliders: a new stream would begin a new map.
  auto live =
      LiveView::Open(kName, flags.view,
                     absl::StrCat("path of ", command->names().front(), " on ", command->connection().server), nullptr);
  if (!live.ok()) return UsageError(kName, live.status().message());
  const auto connection = Connection::Open(command->connection());
  if (!connection.ok()) return CallError(kName, connection.status());
  const auto report = LocalizeReport::Open(flags, truth, source->rate(), &*live);
  if (!report.ok()) return OutputError(kName, report.status());

  options.detector = command->detector();
  command->SetCall(&options);
  WaitingPairs waiting;
  client::MapReader map;
  StreamRun<client::LocalizeStream> run([&] {
    return connection->client().OpenLocalizeStream(options, [&](const client::LocalizeAnswer& answer) {
      map.Hear();
      if (answer.frame_id == kLoadId || answer.frame_id == kSaveId) {
        const bool is_new = answer.frame_id == kLoadId && absl::IsNotFound(answer.status) && !flags.relocalize;
        if (is_new) Complain(kName, absl::StrCat("warning: a new map begins: ", answer.status.message()));
        if (answer.status.ok() || is_new) return;
        (*report)->Fail(absl::StrCat("map ", flags.map), answer.status);
        if (answer.frame_id == kLoadId) run->Cancel();
        return;
      }
      if (answer.frame_id == kImuId) {
        if (!answer.status.ok()) return (*report)->Fail("--imu", answer.status);
        if (!answer.imu_poses.empty()) run.Take([&] { return (*report)->AddImuPoses(answer.imu_poses); });
        return;
      }
      if (answer.frame_id == kMapId) return (*report)->TakeMap(map.Take(answer));
      const PicturePair pair = waiting.Pop();
      run.Take([&] { return (*report)->Add(pair, flags.TimeOf(pair), answer); });
    });
  });
  if (const absl::Status opened = run.Reopen(); !opened.ok()) return CallError(kName, opened);
  SentPairs sent;
  if (!flags.map.empty()) sent.stream = run->LoadMap(kLoadId, flags.map);
  if (sent.stream.ok()) sent = SendAll({source, flags, run, std::move(imu)}, &waiting, *live, &map);
  if (sent.stream.ok() && !flags.map.empty() && !flags.relocalize) {
    sent.stream = run->SaveMap(kSaveId, flags.map);
  }
  if (const absl::Status end = run.Finish(sent.stream); !end.ok()) return CallError(kName, end);
  return command->bag()->ExitStatus(kName, (*report)->Close(run.output(), sent.unread));
}

}  // namespace

int RunLocalize(const std::vector<std::string>& arguments) {
  PairCommand command(kName, kLocalizeDefaults, PairCommand::Masks::kBoth);
  LocalizeFlags localize_flags;
  BagFlags* const bag = command.bag();
  bag->AddDepthTo(command.flags());
  localize_flags.AddTo(command.flags());
  auto with = WithDataSet(arguments, command.flags(), localize_flags);
  if (absl::IsFailedPrecondition(with.status())) return UsageError(kName, with.status().message());
  if (!with.ok()) return SourceError(kName, with.status());
  const std::optional<DataSet>& set = with->set;
  const auto end_here = command.Parse(with->arguments, {Help, "give LEFT and RIGHT, or pictures with both", [&] {
                                                          absl::Status status = localize_flags.Validate(!bag->given());
                                                          status.Update(bag->CheckDepth(localize_flags.depth));
                                                          status.Update(localize_flags.mcap.Validate(bag->path()));
                                                          return status;
                                                        }});
  if (end_here.has_value()) return *end_here;
  with->Settle(&localize_flags);
  Trajectory truth;  // read now: the pairs may take hours
  if (!localize_flags.truth.empty()) {
    auto read = ReadTrajectory(localize_flags.truth);
    if (!read.ok()) return SourceError(kName, read.status());
    truth = *std::move(read);
    truth.has_gaps = with->has_truth() && set->truth_has_gaps;
  }
  if (const absl::Status times = localize_flags.ReadTimes(); !times.ok()) return SourceError(kName, times);
  if (const absl::Status s = command.OpenBag(); !s.ok()) return SourceError(kName, s);
  std::optional<ImuRecording> recording;
  if (localize_flags.imu.given()) {
    auto read = bag->given() ? bag->file()->ReadImu(localize_flags.imu.paths()) : localize_flags.imu.Read();
    if (!read.ok()) return SourceError(kName, read.status());
    recording = *std::move(read);
  }
  if (localize_flags.depth && !set.has_value() && command.names().size() != 2)
    return UsageError(kName, "option '--depth': needs LEFT and DEPTH");
  auto source = set.has_value() ? absl::StatusOr<PairSource>(OpenDataSet(*set, SendFormat::kGray))
                                : PairSource::Open(command.names(), 0, SendFormat::kGray, command.video());
  if (!source.ok()) return SourceError(kName, source.status());
  const auto image = ShapeOf(&*source);
  if (!image.ok()) return SourceError(kName, image.status());
  std::vector<std::string> notes;
  if (set.has_value()) {
    notes.push_back(TextOf(*set, recording.has_value() ? std::make_optional(recording->rate()) : std::nullopt));
  }
  const absl::Status cameras = bag->SetCalibration(command.names(), localize_flags.depth, /*needed=*/true,
                                                   localize_flags.imu.paths(), &localize_flags.calibration, &notes);
  if (!cameras.ok()) return UsageError(kName, cameras.message());
  std::optional<RigidTransform> camera_from_imu;
  auto options = localize_flags.Options(*image, &notes, &camera_from_imu);
  if (!options.ok()) return UsageError(kName, options.status().message());
  if (options->depth.has_value()) {
    if (const absl::Status s = bag->CheckDepthUnit(options->depth->unit); !s.ok())
      return UsageError(kName, s.message());
  }
  const bool of_first = with->has_truth() && set->truth_of_first;
  if (const absl::Status s = PutTruthInCamera(*options, camera_from_imu, of_first, &truth); !s.ok()) {
    return UsageError(kName, s.message());
  }
  ImuFeed imu;
  if (recording.has_value()) {
    PicturePair first;
    if (const absl::Status peeked = source->Peek(&first); !peeked.ok()) return SourceError(kName, peeked);
    const absl::Status time = ImuFlags::CheckTime(localize_flags.KnownTimeOf(first), *recording);
    if (!time.ok()) return UsageError(kName, time.message());
    notes.push_back(absl::StrCat("imu: ", recording->Text()));
    imu = ImuFeed(*std::move(recording), options->imu->imu_time_minus_camera_time_ns);
  }
  for (const std::string& note : notes) Complain(kName, note);
  if (const absl::Status s = command.SetMasks(&*options); !s.ok()) return UsageError(kName, s.message());

  return Localize(&command, localize_flags, truth, &*source, *std::move(options), std::move(imu));
}

}  // namespace glint::cli
