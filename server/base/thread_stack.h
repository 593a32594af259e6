// Captures the stack of another thread of this process, to log where a thread hangs.
#ifndef GLINT_SERVER_BASE_THREAD_STACK_H_
#define GLINT_SERVER_BASE_THREAD_STACK_H_

#include <sys/types.h>

#include <string>

#include "absl/time/time.h"

namespace glint {

// Signal by which a thread records its stack. A program must not use it otherwise.
int StackSignal();

// Stack of the thread `tid`, innermost call first: "file+0xoffset(symbol) < file+0xoffset < ..."; offsets suit
// addr2line. If the thread does not answer within `timeout`, as in a system call that cannot be interrupted, the
// kernel's state of the thread: "no answer to a signal; state D, in nv_wait". Thread-safe; one at a time.
std::string StackOfThread(pid_t tid, absl::Duration timeout);

}  // namespace glint

#endif  // GLINT_SERVER_BASE_THREAD_STACK_H_
