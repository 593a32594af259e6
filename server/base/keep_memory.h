// Call in main() of a server, before it creates threads.
#ifndef GLINT_SERVER_BASE_KEEP_MEMORY_H_
#define GLINT_SERVER_BASE_KEEP_MEMORY_H_

namespace glint {

// Configures glibc's allocator, for the whole process, to keep freed memory. gRPC allocates and frees a frame's worth
// of memory for every message; by default glibc returns it to the kernel each time, and the page faults that follow
// cost more than everything else between socket and lane.
void KeepFreedMemory();

}  // namespace glint

#endif  // GLINT_SERVER_BASE_KEEP_MEMORY_H_
