// For main() of a server, before its first thread.
#ifndef GLINT_SERVER_KEEP_MEMORY_H_
#define GLINT_SERVER_KEEP_MEMORY_H_

namespace glint {

// gRPC takes and gives back a frame's worth of memory for every message. By default glibc returns that to the kernel
// each time and faults it in again, which costs more than everything else between socket and lane; from here on freed
// memory is kept. Of the whole process.
void KeepFreedMemory();

}  // namespace glint

#endif  // GLINT_SERVER_KEEP_MEMORY_H_
