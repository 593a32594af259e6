// What the system refuses where no call or stream can answer for it: one line, and exit status 1.
#ifndef GLINT_CLIENT_CLI_BASE_REFUSAL_H_
#define GLINT_CLIENT_CLI_BASE_REFUSAL_H_

namespace glint::cli {

// Exceptions that nobody catches end the process so, if they are of memory or of a thread.
void EndOnRefusal();

// Says that the system makes no further thread for `what`, names the limit (ThreadError()), and exits.
[[noreturn]] void EndWithoutThread(const char* what);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_BASE_REFUSAL_H_
