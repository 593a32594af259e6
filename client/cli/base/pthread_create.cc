// pthread_create() of glint, in place of the C library's, which it calls: gRPC 1.51 goes on without a thread that it
// cannot have, and its calls then wait for ever.
#include <dlfcn.h>
#include <pthread.h>

#include "client/cli/base/refusal.h"

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) noexcept {
  static const auto original = reinterpret_cast<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(
      dlsym(RTLD_NEXT, "pthread_create"));
  const int error = original(thread, attributes, body, argument);
  // std::thread, which passes no attributes, throws, and its caller answers for that.
  if (error != 0 && attributes != nullptr) glint::cli::EndWithoutThread("gRPC");
  return error;
}
