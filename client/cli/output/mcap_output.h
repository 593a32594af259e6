// --mcap: answers as a recording, of what the live view has for Foxglove.
#ifndef GLINT_CLIENT_CLI_OUTPUT_MCAP_OUTPUT_H_
#define GLINT_CLIENT_CLI_OUTPUT_MCAP_OUTPUT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bag/mcap_writer.h"
#include "client/cli/base/flags.h"
#include "client/cli/output/output.h"
#include "client/view/base/scene.h"
#include "client/view/foxglove/messages.h"
#include "features/steady_time.h"

namespace glint::cli {

struct McapFlags {
  std::string path;  // empty: none is written
  bool images = false;

  void AddTo(Flags* flags);
  // `bag`: of --bag, which may be empty. INVALID_ARGUMENT: it would be written over, or an option needs another one.
  absl::Status Validate(const std::string& bag) const;
};

// The channels of docs/view.md, each from its first message on, with the messages of client/view/foxglove/messages.h.
// docs/bags.md has their times. The file grows by whole chunks, as an OutputFile, and is complete after Close().
// Thread-compatible.
class McapOutput {
 public:
  // `rate`: frames a second where they have no times. `longest_chunk`: after which a frame is in the file, too. Errors
  // of OutputFile::Open().
  static absl::StatusOr<std::unique_ptr<McapOutput>> Open(const McapFlags& flags, double rate,
                                                          absl::Duration longest_chunk = absl::Seconds(1));
  // Close(), unless it was called.
  ~McapOutput();

  // A frame: the source's `number`th one from 0, of Picture::time. INVALID_ARGUMENT: a time before 0. Errors of
  // OutputFile::Write(), and final. All name the file.
  absl::Status Add(const view::Scene& scene, std::optional<absl::Duration> time, int64_t number);
  // The map's points from now on: written with the next frame if they are a tenth more or fewer than those before,
  // since a map that grows would else be in the file over and over; and at the end.
  void SetMap(std::shared_ptr<const view::MapPoints> points) { map_ = std::move(points); }
  absl::Status Close();
  // The path, which has all poses so far, is written once in so long by the frames' times, and at the end.
  static constexpr absl::Duration kPathEvery = absl::Seconds(1);

 private:
  McapOutput(const McapFlags& flags, double rate, absl::Duration longest_chunk, OutputFile file)
      : path_(flags.path), images_(flags.images), rate_(rate), longest_chunk_(longest_chunk), file_(std::move(file)) {}
  absl::Time TimeOf(std::optional<absl::Duration> time, int64_t number);
  absl::Status Write(const view::FoxgloveMessages& messages);
  absl::Status WriteMap();
  absl::Status WritePath();

  const std::string path_;
  const bool images_;
  const double rate_;
  const absl::Duration longest_chunk_;
  absl::Time chunk_begin_ = SteadyNow();
  OutputFile file_;
  std::unique_ptr<bag::McapWriter> writer_;                          // null: closed
  std::array<uint16_t, view::kChannelCount> channels_ = {};          // 0: not there yet
  absl::Time time_ = absl::UnixEpoch(), since_ = absl::UnixEpoch();  // of the last frame; of the last one with a time
  int64_t since_number_ = 0;                                         // of that
  std::optional<absl::Time> path_time_;                              // of the last frame with the path
  std::vector<view::Step> path_steps_;                               // that have not been written
  std::shared_ptr<const view::MapPoints> map_;                       // that has not been written
  size_t written_points_ = 0;                                        // of the last one that was
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_MCAP_OUTPUT_H_
