#include "client/cli/output/mcap_output.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "bag/bag.h"
#include "client/view/foxglove/channels.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostPoints = (bag::Bag::kLargestMessage - 1024) / sizeof(view::MapPoints::value_type);
constexpr view::Channels kAllChannels = view::Of(view::kChannelCount) - 1;

// Whether writing there would destroy the recording: its file, or one in its folder.
bool IsOf(const std::string& bag, const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  return fs::equivalent(bag, path, error) || (fs::is_directory(bag, error) && fs::exists(path, error) &&
                                              fs::equivalent(bag, folder.empty() ? "." : folder, error));
}

}  // namespace

void McapFlags::AddTo(Flags* flags) {
  flags->String("mcap", "FILE",
                "Write what Foxglove shows of the answers as a recording (MCAP): all frames, with the topics and "
                "schemas of --foxglove.",
                &path);
  flags->Bool("mcap-images", "With --mcap: the pictures, too, as JPEG or as the file that they are.", &images);
}

absl::Status McapFlags::Validate(const std::string& bag) const {
  if (path.empty() && images) return absl::InvalidArgumentError("option '--mcap-images': needs --mcap");
  if (path == "-") return absl::InvalidArgumentError("option '--mcap': '-' is not a file");
  if (path.empty() || bag.empty() || !IsOf(bag, path)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("option '--mcap': '", path, "' is the recording of --bag"));
}

absl::StatusOr<std::unique_ptr<McapOutput>> McapOutput::Open(const McapFlags& flags, double rate,
                                                             absl::Duration longest_chunk) {
  GLINT_ASSIGN_OR_RETURN(auto file, OutputFile::Open(flags.path));
  auto output = std::unique_ptr<McapOutput>(new McapOutput(flags, rate, longest_chunk, std::move(file)));
  OutputFile* const to = &output->file_;
  const auto write = [to](absl::string_view piece) {
    GLINT_RETURN_IF_ERROR(to->Write(piece));
    return to->Flush();
  };
  GLINT_ASSIGN_OR_RETURN(output->writer_, bag::McapWriter::Create({write, [to] { return to->Close(); }}, ""));
  return output;
}

McapOutput::~McapOutput() { Close().IgnoreError(); }  // who wants to know has called it

absl::Time McapOutput::TimeOf(std::optional<absl::Duration> time, int64_t number) {
  if (!time.has_value()) return since_ + absl::Seconds(static_cast<double>(number - since_number_) / rate_);
  since_number_ = number;
  return since_ = absl::UnixEpoch() + *time;
}

absl::Status McapOutput::Add(const view::Scene& scene, std::optional<absl::Duration> time, int64_t number) {
  time_ = TimeOf(time, number);
  if (time_ < absl::UnixEpoch()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": the time of ", scene.name, " is ", absl::FormatDuration(*time), ", before 0"));
  }
  view::EncodedPicture picture;
  if (images_) picture = scene.picture();
  const bool has_path = !path_time_.has_value() || absl::AbsDuration(time_ - *path_time_) >= kPathEvery;
  const view::Channels left_out = view::Of(view::kMapChannel) | (images_ ? 0 : view::Of(view::kImageChannel)) |
                                  (has_path ? 0 : view::Of(view::kPathChannel));
  if (has_path) {
    path_steps_.clear();
    if (!scene.path.empty()) path_time_ = time_;
  } else {
    path_steps_ = scene.path;
  }
  GLINT_RETURN_IF_ERROR(Write(view::EncodeForFoxglove(scene, kAllChannels & ~left_out, time_,
                                                      [&]() -> const view::EncodedPicture& { return picture; })));
  if (map_ != nullptr) {
    const size_t most = std::max(map_->size(), written_points_), least = std::min(map_->size(), written_points_);
    if (10 * (most - least) >= std::max<size_t>(written_points_, 1)) GLINT_RETURN_IF_ERROR(WriteMap());
  }
  if (SteadyNow() - chunk_begin_ < longest_chunk_) return absl::OkStatus();
  chunk_begin_ = SteadyNow();
  return writer_->EndChunk();
}

absl::Status McapOutput::WriteMap() {
  view::Scene scene;
  scene.map = std::exchange(map_, nullptr);
  written_points_ = scene.map->size();
  if (written_points_ > kMostPoints) {
    return Write(
        view::EncodeNotice(absl::StrCat("the map has ", written_points_, " points, more than a message holds"), time_));
  }
  return Write(view::EncodeForFoxglove(scene, view::Of(view::kMapChannel), time_, nullptr));
}

absl::Status McapOutput::WritePath() {
  view::Scene scene;
  scene.path = std::exchange(path_steps_, {});
  return Write(view::EncodeForFoxglove(scene, view::Of(view::kPathChannel), time_, nullptr));
}

absl::Status McapOutput::Write(const view::FoxgloveMessages& messages) {
  for (size_t i = 0; i < view::kChannelCount; ++i) {
    for (const std::string& message : messages.of[i]) {
      if (channels_[i] == 0) {
        const view::Offer offer = view::Offers()[i];
        GLINT_ASSIGN_OR_RETURN(
            channels_[i],
            writer_->AddChannel(
                {offer.topic, offer.encoding, offer.schema_name, offer.schema_encoding, offer.schema, {}}));
      }
      const auto time_ns = static_cast<int64_t>(messages.time_ns);
      GLINT_RETURN_IF_ERROR(writer_->Write(channels_[i], time_ns, time_ns,
                                           {reinterpret_cast<const uint8_t*>(message.data()), message.size()}));
    }
  }
  return absl::OkStatus();
}

absl::Status McapOutput::Close() {
  if (writer_ == nullptr) return absl::OkStatus();
  absl::Status status = path_steps_.empty() ? absl::OkStatus() : WritePath();
  if (status.ok() && map_ != nullptr) status = WriteMap();
  status.Update(std::exchange(writer_, nullptr)->Close());
  return status;
}

}  // namespace glint::cli
