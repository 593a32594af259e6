// What the machine, the container and the service manager let this process have.
#ifndef GLINT_SERVER_BASE_USABLE_MACHINE_H_
#define GLINT_SERVER_BASE_USABLE_MACHINE_H_

#include "features/system_limits.h"
#include "server/base/usable_memory.h"

namespace glint {

struct UsableMachine {
  UsableProcessors processors;
  UsableMemory memory;
  ThreadLimit threads;
};

}  // namespace glint

#endif  // GLINT_SERVER_BASE_USABLE_MACHINE_H_
