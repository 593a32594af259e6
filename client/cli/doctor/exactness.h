// Whether a lane of this machine returns the bytes that every machine returns: digests of work on made pictures.
#ifndef GLINT_CLIENT_CLI_DOCTOR_EXACTNESS_H_
#define GLINT_CLIENT_CLI_DOCTOR_EXACTNESS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/cli/doctor/finding.h"
#include "client/cli/doctor/pictures.h"
#include "client/client.h"
#include "server/app/server.h"

namespace glint::cli {

// The first half of the SHA-256 of what was added, as 32 hexadecimal digits. Numbers are as they are in memory.
class Digest {
 public:
  template <typename T>
  void Add(const std::vector<T>& values) {
    AddBytes(values.data(), values.size() * sizeof(T));
  }
  void Add(const Features& features);
  void Add(const MatchResult& matches);
  void AddBytes(const void* data, size_t bytes) { bytes_.append(static_cast<const char*>(data), bytes); }
  std::string Text() const;

 private:
  std::string bytes_;
};

// The names of all work: each preset, matching, stereo, tracking, JPEG, localization.
std::vector<std::string> NamesOfWork();

struct WorkDone {
  std::string digest;
  client::Timings timings;  // of the last frame
};
// INVALID_ARGUMENT: no such work. Else the errors of the client.
absl::StatusOr<WorkDone> DoWork(const std::string& name, const client::Client& client,
                                const RenderedPictures& pictures);

struct ExpectedDigest {
  std::string work, digest;
};
// Of every lane; what glint doctor --print-digests prints.
const std::vector<ExpectedDigest>& ExpectedDigests();

// A server inside this process with one lane of `backend`, on GPU `device` for kCuda. Errors of Server.
absl::StatusOr<std::unique_ptr<Server>> StartLane(Backend backend, int device);

// All that is expected of a lane, done twice. kWrong: an error, two answers that differ, or another digest.
std::vector<Finding> CheckLane(const std::string& lane, const client::Client& client, const RenderedPictures& pictures,
                               absl::Span<const ExpectedDigest> expected);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_DOCTOR_EXACTNESS_H_
