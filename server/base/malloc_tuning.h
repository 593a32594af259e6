// Allocator settings of the server process. Call in main(), before any thread is created.
#ifndef GLINT_SERVER_BASE_MALLOC_TUNING_H_
#define GLINT_SERVER_BASE_MALLOC_TUNING_H_

namespace glint {

// Configures glibc's allocator, for the whole process, to keep freed memory. gRPC allocates and frees a frame's worth
// of memory for every message; by default glibc returns it to the kernel each time, and the page faults that follow
// cost more than everything else between socket and lane.
void TuneMalloc();

}  // namespace glint

#endif  // GLINT_SERVER_BASE_MALLOC_TUNING_H_
