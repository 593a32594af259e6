// Captures the stack of another thread of this process, so that a hanging thread can be diagnosed in the log.
#ifndef GLINT_SERVER_BASE_THREAD_STACK_H_
#define GLINT_SERVER_BASE_THREAD_STACK_H_

#include <sys/types.h>

#include <string>

#include "absl/time/time.h"

namespace glint {

// The signal that makes a thread note its stack. A program must not use it for anything else.
int StackSignal();

// The calls that the thread `tid` is in, innermost first: "file+0xoffset(symbol) < file+0xoffset < ..."; offsets are
// those that addr2line takes. If the thread does not answer within `timeout`, as in a system call that cannot be
// interrupted: what the kernel says of it, "no answer to a signal; state D, in nv_wait". Thread-safe; one at a time.
std::string StackOfThread(pid_t tid, absl::Duration timeout);

}  // namespace glint

#endif  // GLINT_SERVER_BASE_THREAD_STACK_H_
