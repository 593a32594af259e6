#include "server/wire/envelope_reply.h"

#include "server/base/allocations.h"
#include "server/wire/reply_writer.h"
#include "server/wire/wire_writer.h"

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

std::string SerializeWarnings(int field, const std::vector<Warning>& warnings) {
  std::string fields;
  if (warnings.empty()) return fields;
  const FramePathPause pause;
  for (const Warning& warning : warnings) {
    v1::Warning message;
    message.set_kind(static_cast<v1::WarningKind>(warning.kind));
    message.set_figure(warning.figure);
    message.set_unit(warning.unit);
    message.set_text(warning.text);
    AppendBytesField(static_cast<uint32_t>(field), message.SerializeAsString(), &fields);
  }
  return fields;
}

grpc::Slice ToSlice(const google::protobuf::MessageLite& message) {
  grpc::Slice slice(message.ByteSizeLong());
  // The slice is new and not shared; its bytes are const only to readers.
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return slice;
}

}  // namespace glint
