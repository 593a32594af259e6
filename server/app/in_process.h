// Options of a server inside the process of its only client: `glint --server inproc`. Thread-safe.
#ifndef GLINT_SERVER_APP_IN_PROCESS_H_
#define GLINT_SERVER_APP_IN_PROCESS_H_

#include <cstdint>

#include "server/config/options.h"

namespace glint {

// Nothing listens. A user's own process needs no protection from its user, so what is limited is what takes memory: a
// picture, or both of a pair, have as many pixels as one lane can work on in `usable_bytes` (kLaneBytesPerPixel); the
// frames of a tracking stream and a map take half of these each. Several lanes that work on the largest pictures at the
// same time may need more. 0: what FindUsableMemory() finds.
ServerOptions InProcessOptions(int64_t usable_bytes = 0);

}  // namespace glint

#endif  // GLINT_SERVER_APP_IN_PROCESS_H_
