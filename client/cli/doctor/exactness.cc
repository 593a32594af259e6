#include "client/cli/doctor/exactness.h"

#include <openssl/sha.h>

#include <cstdint>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "client/cli/base/command.h"
#include "decode/jpeg_writer.h"
#include "features/options.h"
#include "features/status_macros.h"
#include "server/app/in_process.h"

namespace glint::cli {
namespace {

constexpr int64_t kFrameNs = 33'333'333;
constexpr char kDetect[] = "detect ";

absl::Status Detect(const client::Client& client, const DetectorOptions& options, const client::ImageInput& image,
                    Digest* digest, client::Timings* timings) {
  GLINT_ASSIGN_OR_RETURN(const client::Detection found, client.Detect(options, image));
  digest->Add(found.features);
  *timings = found.timings;
  return absl::OkStatus();
}

// Answers of a stream come on a thread of it, in order, and before Finish() returns: the first error is kept.
template <typename Answer, typename Add>
auto Collect(absl::Status* status, client::Timings* timings, Add add) {
  return [status, timings, add](const Answer& answer) {
    status->Update(answer.status);
    if (!answer.status.ok()) return;
    add(answer);
    *timings = answer.timings;
  };
}

absl::Status DetectWork(const client::Client& client, const RenderedPictures& pictures, absl::string_view preset,
                        Digest* digest, client::Timings* timings) {
  GLINT_ASSIGN_OR_RETURN(const DetectorOptions options, PresetOptions(preset));
  GLINT_RETURN_IF_ERROR(Detect(client, options, pictures.odd_part(), digest, timings));
  return Detect(client, options, pictures.left(0), digest, timings);
}

absl::Status JpegWork(const client::Client& client, const RenderedPictures& pictures, Digest* digest,
                      client::Timings* timings) {
  constexpr int kQuality = 90;
  GLINT_ASSIGN_OR_RETURN(const std::string file, decode::WriteJpeg(pictures.left(0), kQuality));
  return Detect(client, *PresetOptions("orb"), client::ImageInput::Encoded(file), digest, timings);
}

absl::Status MatchWork(const client::Client& client, const RenderedPictures& pictures, Digest* digest,
                       client::Timings* timings) {
  GLINT_ASSIGN_OR_RETURN(const auto found,
                         client.Match({}, client::ImageInput(pictures.left(0)), client::ImageInput(pictures.left(3))));
  digest->Add(found.query);
  digest->Add(found.train);
  digest->Add(found.matches);
  *timings = found.timings;
  return absl::OkStatus();
}

absl::Status StereoWork(const client::Client& client, const RenderedPictures& pictures, Digest* digest,
                        client::Timings* timings) {
  client::StereoStreamOptions options;
  options.stereo.focal_length = kFocalLength;
  options.stereo.baseline = kBaseline;
  absl::Status status;
  const auto add = [digest](const client::StereoAnswer& answer) {
    digest->Add(answer.left);
    digest->Add(answer.left_index);
    digest->Add(answer.right_x);
    digest->Add(answer.disparity);
    digest->Add(answer.depth);
    digest->Add(answer.distance);
  };
  GLINT_ASSIGN_OR_RETURN(const auto stream,
                         client.OpenStereoStream(options, Collect<client::StereoAnswer>(&status, timings, add)));
  status.Update(stream->Write(0, pictures.left(0), pictures.right(0)));
  status.Update(stream->Finish());
  return status;
}

absl::Status TrackWork(const client::Client& client, const RenderedPictures& pictures, Digest* digest,
                       client::Timings* timings) {
  absl::Status answered, sent;
  const auto add = [digest](const client::TrackAnswer& answer) {
    for (const client::TrackArrays& tracks : answer.cameras) {
      digest->Add(tracks.id);
      digest->Add(tracks.age);
      digest->Add(tracks.x);
      digest->Add(tracks.y);
      digest->Add(tracks.state);
      digest->Add(tracks.residual);
    }
  };
  GLINT_ASSIGN_OR_RETURN(const auto stream,
                         client.OpenTrackStream({}, Collect<client::TrackAnswer>(&answered, timings, add)));
  for (int frame = 0; sent.ok() && frame < kPictureFrames; ++frame) {
    sent = stream->Write(static_cast<uint64_t>(frame), {pictures.left(frame)}, frame * kFrameNs);
  }
  sent.Update(stream->Finish());
  sent.Update(answered);
  return sent;
}

absl::Status LocalizeWork(const client::Client& client, const RenderedPictures& pictures, Digest* digest,
                          client::Timings* timings) {
  client::LocalizeStreamOptions options;
  options.camera.width = kPictureShape.width;
  options.camera.height = kPictureShape.height;
  options.camera.focal_length = kFocalLength;
  options.camera.centre_x = 0.5 * kPictureShape.width;
  options.camera.centre_y = 0.5 * kPictureShape.height;
  options.camera.baseline = kBaseline;
  absl::Status answered, sent;
  const auto add = [digest](const client::LocalizeAnswer& answer) {
    const Location& location = answer.location;
    digest->AddBytes(&location.status, sizeof(location.status));
    digest->AddBytes(location.pose.rotation.data(), sizeof(location.pose.rotation));
    digest->AddBytes(location.pose.position.data(), sizeof(location.pose.position));
  };
  GLINT_ASSIGN_OR_RETURN(const auto stream,
                         client.OpenLocalizeStream(options, Collect<client::LocalizeAnswer>(&answered, timings, add)));
  for (int frame = 0; sent.ok() && frame < kPictureFrames; ++frame) {
    sent = stream->Write(static_cast<uint64_t>(frame), pictures.left(frame), pictures.right(frame), frame * kFrameNs);
  }
  sent.Update(stream->Finish());
  sent.Update(answered);
  return sent;
}

struct Work {
  const char* name;
  absl::Status (*run)(const client::Client&, const RenderedPictures&, Digest*, client::Timings*);
};
constexpr Work kBesidePresets[] = {
    {"jpeg", JpegWork}, {"match", MatchWork}, {"stereo", StereoWork}, {"track", TrackWork}, {"localize", LocalizeWork}};

// "4.2 ms: detect 3.1, match 0.4": those that took time.
std::string StageTimesText(const client::Timings& timings) {
  static constexpr std::pair<const char*, int64_t client::Timings::*> kStages[] = {
      {"decode", &client::Timings::decode_ns}, {"upload", &client::Timings::upload_ns},
      {"detect", &client::Timings::detect_ns}, {"match", &client::Timings::match_ns},
      {"track", &client::Timings::track_ns},   {"locate", &client::Timings::locate_ns},
      {"adjust", &client::Timings::adjust_ns}, {"download", &client::Timings::download_ns}};
  std::string text = absl::StrFormat("%.2f ms", static_cast<double>(timings.total_ns) * 1e-6);
  const char* separator = ": ";
  for (const auto& [name, field] : kStages) {
    if (timings.*field == 0) continue;
    absl::StrAppendFormat(&text, "%s%s %.2f", separator, name, static_cast<double>(timings.*field) * 1e-6);
    separator = ", ";
  }
  return text;
}

Finding CheckWork(const ExpectedDigest& expected, const client::Client& client, const RenderedPictures& pictures) {
  constexpr char kRemedy[] = "use another --backend, and send the file of glint doctor --report FILE to the project";
  const auto cold = DoWork(expected.work, client, pictures);
  const auto warm = cold.ok() ? DoWork(expected.work, client, pictures) : cold;
  if (!warm.ok()) return {State::kWrong, "failed", Describe(warm.status()), kRemedy};
  const std::string figure = absl::StrCat(warm->digest, ", ", StageTimesText(warm->timings));
  if (warm->digest != cold->digest) {
    return {State::kWrong, figure, absl::StrCat("the same work gave ", cold->digest, " before"), kRemedy};
  }
  if (warm->digest != expected.digest) {
    return {State::kWrong, figure, absl::StrCat("every machine gives ", expected.digest), kRemedy};
  }
  return {State::kOk, figure};
}

}  // namespace

void Digest::Add(const Features& features) {
  for (const auto* values : {&features.x, &features.y, &features.size, &features.angle, &features.response}) {
    Add(*values);
  }
  Add(features.octave);
  Add(features.descriptors);
}

void Digest::Add(const MatchResult& matches) {
  Add(matches.index);
  Add(matches.distance);
}

std::string Digest::Text() const {
  unsigned char sha[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size(), sha);
  return absl::BytesToHexString({reinterpret_cast<const char*>(sha), sizeof(sha) / 2});
}

std::vector<std::string> NamesOfWork() {
  std::vector<std::string> names;
  for (const std::string& preset : PresetNames()) names.push_back(kDetect + preset);
  for (const Work& work : kBesidePresets) names.emplace_back(work.name);
  return names;
}

absl::StatusOr<WorkDone> DoWork(const std::string& name, const client::Client& client,
                                const RenderedPictures& pictures) {
  Digest digest;
  WorkDone done;
  absl::string_view preset = name;
  absl::Status status = absl::InvalidArgumentError(absl::StrCat("no work is called '", name, "'"));
  if (absl::ConsumePrefix(&preset, kDetect)) status = DetectWork(client, pictures, preset, &digest, &done.timings);
  for (const Work& work : kBesidePresets) {
    if (work.name == name) status = work.run(client, pictures, &digest, &done.timings);
  }
  if (!status.ok()) return status;
  done.digest = digest.Text();
  return done;
}

absl::StatusOr<std::unique_ptr<Server>> StartLane(Backend backend, int device) {
  ServerOptions options = InProcessOptions();
  options.lanes.backend = backend;
  options.lanes.lanes = 1;
  if (backend == Backend::kCuda) options.lanes.devices = {device};
  GLINT_ASSIGN_OR_RETURN(auto server, Server::Create(options));
  GLINT_RETURN_IF_ERROR(server->Start());
  if (!server->WaitUntilServing(absl::InfiniteDuration())) return absl::UnavailableError("the lane did not warm up");
  return server;
}

std::vector<Finding> CheckLane(const std::string& lane, const client::Client& client, const RenderedPictures& pictures,
                               absl::Span<const ExpectedDigest> expected) {
  std::vector<Finding> findings;
  for (const ExpectedDigest& work : expected) {
    if (Interrupted()) break;
    findings.push_back(CheckWork(work, client, pictures));
    findings.back().name = absl::StrCat(lane, " ", work.work);
  }
  return findings;
}

}  // namespace glint::cli
