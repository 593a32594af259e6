// The replies of glint.v1.FeatureMatching but for status and timings, serialized straight into memory of the exact
// size. Thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_MATCH_MATCH_REPLY_H_
#define GLINT_SERVER_OPERATIONS_MATCH_MATCH_REPLY_H_

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <string>
#include <vector>

#include "features/types.h"
#include "server/schedule/frame_job.h"

namespace glint {

// A MatchResponse of a job of Work::kMatch that was done. `features` are those of its first image.
grpc::Slice SerializeMatchReply(const FrameJob& job, const Features& features);
// A MatchStreamResponse.
grpc::Slice SerializeMatchStreamReply(uint64_t frame_id, const FrameJob& job, const Features& features);
// A MatchStreamResponse to an edit.
grpc::Slice SerializeEditReply(uint64_t frame_id, int set_size);

// What makes a stereo pair doubtful.
struct StereoWarning {
  int kind = 0;  // of v1::StereoWarningKind
  float figure = 0;
  std::string text;
};
// Of `left` and `right` keypoints. Allocates only if there are any.
std::vector<StereoWarning> WarningsOf(const StereoRequest& request, const StereoChecks& checks, int left, int right);

// A StereoStreamResponse of a job of Work::kStereo that was done; `left` are its features.
grpc::Slice SerializeStereoReply(uint64_t frame_id, const FrameJob& job, const Features& left);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_MATCH_MATCH_REPLY_H_
