// How much host memory a server's limits allow it to take.
#ifndef GLINT_SERVER_MEMORY_BOUND_H_
#define GLINT_SERVER_MEMORY_BOUND_H_

#include <cstdint>

#include "server/options.h"

namespace glint {

struct MemoryBound {
  int64_t pending = 0;  // messages whose frames wait in the queue or are on lanes: --max-pending-bytes
  int64_t receipt = 0;  // of each stream: a message that is being received, one that waits outside the queue, a window
  int64_t detect = 0;   // of each call of Detect: its message, and a window
  int64_t small = 0;    // calls without a picture
  // All of these, and connections: what gRPC may hold of what comes from clients, and is told to hold at most.
  int64_t received = 0;

  int64_t detect_replies = 0;  // of each call of Detect
  int64_t replies = 0;         // of each stream: replies that wait for the client
  int64_t masks = 0;           // of each stream: as it came, and as pixels
  int64_t lanes = 0;           // each lane's pixels, pyramid and results

  int64_t total() const { return received + detect_replies + replies + masks + lanes; }
};

// What a client may send ahead on each stream, unread: gRPC's window, unless memory is scarce or the network fast and
// far.
inline constexpr int64_t kReceiveWindowBytes = int64_t{4} << 20;
// A call without a picture: message, reply and what gRPC keeps of a call. The longest reply is reflection's.
inline constexpr int64_t kSmallCallBytes = int64_t{64} << 10;
inline constexpr int64_t kWatcherBytes = int64_t{16} << 10;
// Sockets' read buffers and headers.
inline constexpr int64_t kConnectionBytes = int64_t{32} << 20;
// Bytes that a lane takes for each pixel of the largest picture, at most: decoded and grey pixels, the codec's
// coefficients, pyramid, scores and candidates.
inline constexpr int64_t kLaneBytesPerPixel = 64;
// ... and for each keypoint: x, y, size, angle, response, octave, descriptor, and their ranking.
inline constexpr int64_t kLaneBytesPerFeature = 256;
// A keypoint in a reply: five floats, octave, descriptor.
inline constexpr int64_t kReplyBytesPerFeature = 5 * 4 + 1 + 32;

MemoryBound ComputeMemoryBound(const ServerOptions& options, int lanes);

}  // namespace glint

#endif  // GLINT_SERVER_MEMORY_BOUND_H_
