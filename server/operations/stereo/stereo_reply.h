// Serializer of the replies of StereoStream, without status and timings, into memory of the exact size. Thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_STEREO_STEREO_REPLY_H_
#define GLINT_SERVER_OPERATIONS_STEREO_STEREO_REPLY_H_

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "features/warning.h"
#include "server/operations/stereo/stereo_work.h"

namespace glint {

// Warnings about a pair with `left` and `right` keypoints and its matches. Allocates only if there are any.
std::vector<Warning> WarningsOf(const StereoTask& task, const StereoChecks& checks, int left, int right);

// StereoResult.rectified, serialized.
std::string SerializeRectified(const RectifiedPair& rectified);

// A StereoStreamResponse with the results of `task`. `rectified`: of SerializeRectified(), or empty. `images`: warnings
// about the images alone, which come first.
grpc::Slice SerializeStereoReply(uint64_t frame_id, const StereoTask& task, absl::string_view rectified,
                                 const std::vector<Warning>& images);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_STEREO_STEREO_REPLY_H_
