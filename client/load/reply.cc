#include "client/load/reply.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

namespace glint::load {
namespace {

using google::protobuf::MessageLite;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr auto kLengthDelimited = WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
constexpr uint32_t kId = WireFormatLite::MakeTag(v1::DetectStreamResponse::kFrameIdFieldNumber,  //
                                                 WireFormatLite::WIRETYPE_VARINT);
constexpr uint32_t kStatus = WireFormatLite::MakeTag(v1::DetectStreamResponse::kStatusFieldNumber, kLengthDelimited);
constexpr uint32_t kFeatures =
    WireFormatLite::MakeTag(v1::DetectStreamResponse::kFeaturesFieldNumber, kLengthDelimited);
constexpr uint32_t kTimings = WireFormatLite::MakeTag(v1::DetectStreamResponse::kTimingsFieldNumber, kLengthDelimited);
constexpr uint32_t kX = WireFormatLite::MakeTag(v1::Features::kXFieldNumber, kLengthDelimited);

// Calls `read` with the stream limited to the next length-delimited field, which it must consume.
template <typename Read>
bool ReadInside(CodedInputStream* in, Read read) {
  uint32_t length = 0;
  if (!in->ReadVarint32(&length)) return false;
  const auto limit = in->PushLimit(static_cast<int>(length));
  const bool good = read() && in->BytesUntilLimit() == 0;  // 0 only if the bytes did not end before
  in->PopLimit(limit);
  return good;
}

bool CountKeypoints(CodedInputStream* in, int64_t* keypoints) {
  while (const uint32_t tag = in->ReadTag()) {
    if (tag == kX) {
      uint32_t length = 0;
      if (!in->ReadVarint32(&length) || !in->Skip(static_cast<int>(length))) return false;
      *keypoints += length / sizeof(float);
    } else if (!WireFormatLite::SkipField(in, tag)) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool ReadReply(grpc::ByteBuffer* bytes, Reply* reply) {
  reply->frame_id = 0;
  reply->status.Clear();
  reply->timings.Clear();
  reply->keypoints = 0;
  grpc::ProtoBufferReader slices(bytes);
  if (!slices.status().ok()) return false;
  CodedInputStream in(&slices);
  const auto merge = [&in](MessageLite* message) { return message->MergePartialFromCodedStream(&in); };
  while (const uint32_t tag = in.ReadTag()) {
    bool good = false;
    switch (tag) {
      case kId:
        good = in.ReadVarint64(&reply->frame_id);
        break;
      case kStatus:
        good = ReadInside(&in, [&] { return merge(&reply->status); });
        break;
      case kFeatures:
        good = ReadInside(&in, [&] { return CountKeypoints(&in, &reply->keypoints); });
        break;
      case kTimings:
        good = ReadInside(&in, [&] { return merge(&reply->timings); });
        break;
      default:
        good = WireFormatLite::SkipField(&in, tag);
    }
    if (!good) return false;
  }
  return in.ConsumedEntireMessage();
}

}  // namespace glint::load
