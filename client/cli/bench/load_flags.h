// The options of glint bench: frames, load, report.
#ifndef GLINT_CLIENT_CLI_BENCH_LOAD_FLAGS_H_
#define GLINT_CLIENT_CLI_BENCH_LOAD_FLAGS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/base/flags.h"
#include "client/cli/source/jpeg_flags.h"
#include "client/client.h"
#include "client/image.h"
#include "client/load/frames.h"
#include "client/load/report.h"
#include "client/load/task.h"
#include "client/stream.h"

namespace glint::cli {

inline constexpr char kDefaultSize[] = "640x480";  // of the picture that is made up

struct LoadFlags {
  load::Task task = load::Task::kDetect;
  std::string size;                                                         // WxH
  std::optional<client::PixelFormat> format = client::PixelFormat::kGray8;  // nothing: files as they are
  bool send_jpeg = false;
  JpegFlags jpeg;
  std::optional<int> streams, in_flight, rounds;
  std::optional<float> rate, warm_up, duration, max_age_ms;
  client::OverloadPolicy policy = client::OverloadPolicy::kBlock;
  bool shared_memory = false;
  bool echo = false;
  std::string echo_at;
  bool energy = false;
  bool json = false;
  std::string output;

  void AddTo(Flags* flags);
  // INVALID_ARGUMENT names the option.
  absl::Status Validate(const std::string& server, const std::vector<std::string>& files) const;

  int Rounds() const;
  load::RunOptions Run(absl::Duration patience) const;
  // The frames or pairs to send, and in `report`, which has the detector, what they are. With shared_memory, raw pixels
  // are put where the server of `client` reads them; else nobody is asked, and it may be null.
  absl::StatusOr<std::vector<load::FrameBody>> Frames(const std::vector<std::string>& files,
                                                      const client::Client* client, load::BenchReport* report) const;
  // What the report calls `format`.
  std::string FormatName() const;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_BENCH_LOAD_FLAGS_H_
