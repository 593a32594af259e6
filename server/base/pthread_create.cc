// pthread_create() of glint-server, in place of the C library's, which it calls: gRPC 1.51 goes on without a thread
// that it cannot have (spare_threads.h).
#include <dlfcn.h>
#include <pthread.h>

#include "server/base/spare_threads.h"

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) noexcept {
  static const auto original = reinterpret_cast<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(
      dlsym(RTLD_NEXT, "pthread_create"));
  const int error = original(thread, attributes, body, argument);
  // std::thread, which passes no attributes, throws, and its caller answers for that.
  if (error == 0 || attributes == nullptr) return error;
  return glint::TakeSpareThread(attributes, body, argument, thread) ? 0 : error;
}
