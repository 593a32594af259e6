// What a load generator reads of a reply: everything but the features, which it only counts. So its own work hardly
// depends on their number, and disturbs what it measures little.
#ifndef GLINT_CLIENT_LOAD_REPLY_H_
#define GLINT_CLIENT_LOAD_REPLY_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "glint/v1/feature_detection.pb.h"

namespace glint::load {

struct Reply {
  uint64_t frame_id = 0;
  v1::FrameStatus status;
  v1::Timings timings;
  int64_t keypoints = 0;
};

// Replaces `reply` by what is in `bytes`, a serialized DetectStreamResponse; false if it is not one.
bool ReadReply(grpc::ByteBuffer* bytes, Reply* reply);

}  // namespace glint::load

#endif  // GLINT_CLIENT_LOAD_REPLY_H_
