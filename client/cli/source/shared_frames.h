// Pictures on their way into memory that is shared with the server.
#ifndef GLINT_CLIENT_CLI_SOURCE_SHARED_FRAMES_H_
#define GLINT_CLIENT_CLI_SOURCE_SHARED_FRAMES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/client.h"
#include "client/shared_memory.h"

namespace glint::cli {

// Thread-compatible.
class SharedFrames {
 public:
  // For streams with `in_flight` unanswered frames. `client` must outlive this.
  SharedFrames(const client::Client* client, int in_flight) : client_(client), slots_(in_flight + 1) {}

  // Raw pixels, copied into a slot as soon as one is free; files as they are. The ring is created for the first
  // picture, and again for a larger one.
  absl::StatusOr<client::ImageInput> Put(const client::ImageInput& image);

 private:
  const client::Client* const client_;
  const int slots_;
  std::unique_ptr<client::SharedMemoryRing> ring_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_SHARED_FRAMES_H_
