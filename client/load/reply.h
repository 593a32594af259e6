// Reply as a load generator reads it: everything but features and matches, which it only counts. So its own work hardly
// depends on their number, and disturbs the measurement little.
#ifndef GLINT_CLIENT_LOAD_REPLY_H_
#define GLINT_CLIENT_LOAD_REPLY_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "client/load/task.h"
#include "glint/v1/envelope.pb.h"

namespace glint::load {

struct Reply {
  uint64_t frame_id = 0;
  v1::FrameStatus status;
  v1::Timings timings;
  int64_t keypoints = 0;  // of all images
  int64_t matches = 0;
};

// Replaces `reply` by what is in `bytes`, a serialized answer of the task's stream; false if it is not one.
bool ReadReply(Task task, grpc::ByteBuffer* bytes, Reply* reply);

}  // namespace glint::load

#endif  // GLINT_CLIENT_LOAD_REPLY_H_
