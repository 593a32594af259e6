#include "client/cli/base/refusal.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "features/thread.h"

namespace glint::cli {
namespace {

constexpr int kExitFailure = 1;

[[noreturn]] void Terminate() {
  try {
    if (const std::exception_ptr why = std::current_exception()) std::rethrow_exception(why);
  } catch (const std::bad_alloc&) {
    constexpr char kText[] = "glint: out of memory\n";
    (void)!write(STDERR_FILENO, kText, sizeof(kText) - 1);
    _exit(kExitFailure);
  } catch (const std::system_error& refused) {
    if (refused.code() == std::errc::resource_unavailable_try_again) EndWithoutThread("glint");
  } catch (const std::exception& other) {
    std::fprintf(stderr, "glint: %s\n", other.what());
  } catch (...) {
  }
  std::abort();
}

}  // namespace

void EndOnRefusal() { std::set_terminate(Terminate); }

void EndWithoutThread(const char* what) {
  std::fprintf(stderr, "glint: RESOURCE_EXHAUSTED: %s\n", std::string(ThreadError(what).message()).c_str());
  _exit(kExitFailure);
}

}  // namespace glint::cli
