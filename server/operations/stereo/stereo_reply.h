// The replies of StereoStream but for status and timings, serialized straight into memory of the exact size.
// Thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_STEREO_STEREO_REPLY_H_
#define GLINT_SERVER_OPERATIONS_STEREO_STEREO_REPLY_H_

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <vector>

#include "features/warning.h"
#include "server/operations/stereo/stereo_work.h"

namespace glint {

// What makes a pair of `left` and `right` keypoints doubtful. Allocates only if there is something.
std::vector<Warning> WarningsOf(const StereoTask& task, const StereoChecks& checks, int left, int right);

// A StereoStreamResponse of a task that was done.
grpc::Slice SerializeStereoReply(uint64_t frame_id, const StereoTask& task);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_STEREO_STEREO_REPLY_H_
