#include "server/operations/detect/detect_reply.h"

#include "glint/v1/feature_detection.pb.h"
#include "server/wire/reply_writer.h"

namespace glint {
namespace {

using reply::BytesOf;
using reply::FeaturesWriter;
using reply::kTagSize;
using reply::NewSlice;
using reply::VarintFieldSize;
using reply::VarintSize;
using reply::Writer;

grpc::Slice Serialize(uint32_t id_field, uint64_t id, uint32_t features_field, const Features& features) {
  const FeaturesWriter body(features);
  const size_t header = kTagSize + VarintSize(body.size());  // there even if the message is empty
  grpc::Slice slice = NewSlice(VarintFieldSize(id) + header + body.size());
  Writer out(BytesOf(slice));
  out.VarintField(id_field, id);
  out.Tag(features_field, WireType::kBytes);
  out.Varint(body.size());
  body.Write(&out);
  return slice;
}

}  // namespace

grpc::Slice SerializeStreamReply(uint64_t frame_id, const Features& features) {
  using Response = v1::DetectStreamResponse;
  return Serialize(Response::kFrameIdFieldNumber, frame_id, Response::kFeaturesFieldNumber, features);
}

grpc::Slice SerializeReply(const Features& features) {
  constexpr uint32_t kNoField = 1;
  return Serialize(kNoField, 0, v1::DetectResponse::kFeaturesFieldNumber, features);
}

}  // namespace glint
