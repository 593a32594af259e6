// glint detect: one call of Detect for each file.
#include <functional>
#include <memory>
#include <utility>

#include "client/cli/base/command.h"
#include "client/cli/base/connection.h"
#include "client/cli/base/detector_flags.h"
#include "client/cli/output/report.h"
#include "client/cli/source/bag_flags.h"
#include "client/cli/source/camera_flags.h"
#include "client/cli/source/picture.h"
#include "client/cli/source/source.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr char kName[] = "detect";

std::string Help(const Flags& flags) {
  return "Usage: glint detect [OPTION]... FILE...\n"
         "       glint detect --bag FILE [--topic TOPIC[,TOPIC]...] [OPTION]...\n\n" +
         Wrap(
             "Finds the features of images, one call for each. FILE is an image; '-' is standard input. JPEG and PNG "
             "files are sent as they are and decoded by the server; other formats are decoded here, by OpenCV, to "
             "grey pixels. With --pixel-format each FILE holds the pixels of one picture. With --bag the images are "
             "those of a recording, of one topic after the other.",
             0) +
         flags.Help() +
         "\nExit status\n"
         "  0 all images were answered; 1 some were not; 2 wrong command line;\n"
         "  69 no server; 74 an output cannot be written; 130 interrupted\n"
         "\nExamples\n"
         "  glint detect --server inproc photo.jpg\n"
         "  glint detect --features 1000 --format csv --output keypoints.csv *.png\n"
         "  glint detect --server inproc --draw annotated.png photo.jpg\n"
         "  glint detect --calibration camchain.yaml --format csv photo.jpg\n"
         "  glint detect --bag drive.mcap --topic /cam0/image_raw --format csv\n";
}

// OUT_OF_RANGE at the end. Any other error is about one picture.
using NextPicture = std::function<absl::Status(Picture* picture)>;

NextPicture OfFiles(std::vector<std::string> files, const std::optional<RawLayout>& layout) {
  return [files = std::move(files), layout, next = size_t{0}](Picture* picture) mutable {
    if (next == files.size()) return absl::OutOfRangeError("no more files");
    const std::string& file = files[next++];
    return layout.has_value() ? ReadRawPicture(file, *layout, picture) : ReadPicture(file, SendFormat::kGray, picture);
  };
}

NextPicture OfSources(std::vector<std::shared_ptr<Source>> sources) {
  return [sources = std::move(sources), at = size_t{0}](Picture* picture) mutable {
    absl::Status status = absl::OutOfRangeError("no more sources");
    while (at < sources.size() && absl::IsOutOfRange(status = sources[at]->Next(picture))) ++at;
    return status;
  };
}

// INVALID_ARGUMENT: of the camera.
absl::Status DetectAll(const client::Client& client, const NextPicture& next, const DetectorOptions& options,
                       const client::Region& region, const Image& mask, const GrayRange& gray_range,
                       const CameraFlags& camera_flags, const ConnectionFlags& connection, Report* report) {
  const absl::Duration timeout = connection.timeout_or(client::kDefaultCallTimeout);
  const client::ImageInput mask_input(mask);
  Picture picture;
  std::optional<Camera> camera;
  while (!Interrupted()) {
    const absl::Status status = next(&picture);
    if (absl::IsOutOfRange(status)) break;
    if (!status.ok()) {
      Complain(kName, status.message());
      report->AddUnread(1);
      continue;
    }
    if (camera_flags.given() && !camera.has_value()) {
      GLINT_ASSIGN_OR_RETURN(camera, camera_flags.ReadFor(picture, kName));
    }
    client::ImageInput input = picture.input();
    input.region = region;
    const auto found = client.Detect(options, input, mask_input, timeout, connection.traceparent, gray_range, camera);
    if (absl::IsUnavailable(found.status())) return found.status();
    absl::Status written = report->Add(picture, found.status(), found.ok() ? *found : client::Detection());
    if (!written.ok()) return written;
  }
  return absl::OkStatus();
}

}  // namespace

int RunDetect(const std::vector<std::string>& arguments) {
  ConnectionFlags connection_flags;
  DetectorFlags detector_flags;
  RawFlags raw_flags;
  BagFlags bag_flags;
  CameraFlags camera_flags;
  ReportFlags report_flags(Format::kTable);
  Flags flags;
  connection_flags.AddTo(&flags);
  connection_flags.AddTraceparentTo(&flags);
  detector_flags.AddTo(&flags);
  bool list_detectors = false;
  flags.Bool("list-detectors", "Print what each detector consists of, with the ranges of its options, and exit.",
             &list_detectors);
  raw_flags.AddTo(&flags);
  bag_flags.AddTo(&flags, BagFlags::Topics::kEach);
  camera_flags.AddTo(&flags, kRayRows);
  report_flags.AddTo(&flags);

  const auto operands = flags.Parse(arguments);
  if (!operands.ok()) return UsageError(kName, operands.status().message());
  if (flags.help_wanted()) return Print(kName, Help(flags));
  if (list_detectors) return Print(kName, DetectorTable());
  auto names = bag_flags.Sources(*operands);
  if (!names.ok()) return UsageError(kName, names.status().message());
  if (names->empty()) return UsageError(kName, "no FILE given");
  for (const absl::Status& status : {connection_flags.Validate(), camera_flags.Validate()}) {
    if (!status.ok()) return UsageError(kName, status.message());
  }
  const auto options = detector_flags.Options();
  if (!options.ok()) return UsageError(kName, options.status().message());
  const auto mask = ReadMask(detector_flags.mask);
  if (!mask.ok()) return UsageError(kName, mask.status().message());

  const auto layout = raw_flags.Layout();
  if (!layout.ok()) return UsageError(kName, layout.status().message());
  if (layout->has_value() && bag_flags.given()) return UsageError(kName, "option '--bag': not with --pixel-format");
  VideoOptions recording;
  if (const absl::Status s = bag_flags.Open(&*names, &recording); !s.ok()) return SourceError(kName, s);
  std::vector<std::shared_ptr<Source>> topics;
  int64_t total = bag_flags.given() ? 0 : static_cast<int64_t>(names->size());
  for (size_t i = 0; bag_flags.given() && i < names->size(); ++i) {
    auto source = OpenSource((*names)[i], SendFormat::kGray, recording);
    if (!source.ok()) return SourceError(kName, source.status());
    total += (*source)->count();
    topics.push_back(*std::move(source));
  }
  const double rate = topics.empty() ? 1 : topics.front()->rate();
  const NextPicture next = topics.empty() ? OfFiles(*names, *layout) : OfSources(std::move(topics));

  const auto connection = Connection::Open(connection_flags, 1);
  if (!connection.ok()) return CallError(kName, connection.status());
  const auto report =
      Report::Open(kName, report_flags, options->descriptor != Descriptor::kNone, total, rate, camera_flags.given());
  if (!report.ok()) return OutputError(kName, report.status());
  const absl::Status status = DetectAll(connection->client(), next, *options, detector_flags.region, *mask,
                                        detector_flags.gray_range(), camera_flags, connection_flags, report->get());
  if (absl::IsUnavailable(status)) return CallError(kName, status);
  return bag_flags.ExitStatus(kName, (*report)->Close(status));
}

}  // namespace glint::cli
