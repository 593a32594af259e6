#include "server/wire/envelope_reply.h"

#include "server/wire/reply_writer.h"

namespace glint {

grpc::Slice SerializeTimings(const v1::Timings& timings) {
  const size_t bytes = timings.ByteSizeLong();
  grpc::Slice slice = reply::NewSlice(reply::kTagSize + reply::VarintSize(bytes) + bytes);
  reply::Writer out(reply::BytesOf(slice));
  out.Tag(kTimingsField, WireType::kBytes);
  out.Varint(bytes);
  timings.SerializeWithCachedSizesToArray(out.at());
  return slice;
}

grpc::Slice ToSlice(const google::protobuf::MessageLite& message) {
  grpc::Slice slice(message.ByteSizeLong());
  // The slice is new and not shared; its bytes are const only to readers.
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return slice;
}

}  // namespace glint
