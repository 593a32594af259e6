#include "server/operations/detect/detect_reply.h"

#include "glint/v1/feature_detection.pb.h"
#include "server/wire/envelope_reply.h"
#include "server/wire/reply_writer.h"

namespace glint {

grpc::Slice SerializeDetectReply(uint64_t frame_id, const Features& features, const std::vector<Warning>& warnings,
                                 const Rays* rays) {
  using Call = v1::DetectResponse;
  using Response = v1::DetectStreamResponse;
  static_assert(kHasEnvelope<Response> && uint32_t{Call::kTimingsFieldNumber} == kTimingsField);
  static_assert(int{Call::kFeaturesFieldNumber} == int{Response::kFeaturesFieldNumber});
  static_assert(int{Call::kWarningsFieldNumber} == int{Response::kWarningsFieldNumber});
  return reply::SerializeAnswer<Response>(frame_id, Response::kFeaturesFieldNumber,
                                          reply::FeaturesWriter(features, rays),
                                          SerializeWarnings(Response::kWarningsFieldNumber, warnings));
}

}  // namespace glint
