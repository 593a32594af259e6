#include "server/rpc/reply.h"

#include <cstring>
#include <vector>

#include "glint/v1/feature_detection.pb.h"
#include "server/metrics/allocations.h"
#include "server/rpc/wire_reader.h"

namespace glint {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "floats are copied as they are");

size_t VarintSize(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

// As protobuf writes an int32: negative ones as 64 bits.
uint64_t Int32Bits(int32_t value) { return static_cast<uint64_t>(int64_t{value}); }

// All fields here have numbers below 16, so tags are one byte.
constexpr size_t kTagSize = 1;

size_t BytesFieldSize(size_t bytes) { return bytes == 0 ? 0 : kTagSize + VarintSize(bytes) + bytes; }
size_t VarintFieldSize(uint64_t value) { return value == 0 ? 0 : kTagSize + VarintSize(value); }

class Writer {
 public:
  explicit Writer(uint8_t* to) : to_(to) {}
  uint8_t* at() const { return to_; }

  void Tag(uint32_t field, WireType type) { *to_++ = static_cast<uint8_t>(WireTag(field, type)); }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) *to_++ = static_cast<uint8_t>(value | 0x80);
    *to_++ = static_cast<uint8_t>(value);
  }
  // The default of proto3 is not written.
  void VarintField(uint32_t field, uint64_t value) {
    if (value == 0) return;
    Tag(field, WireType::kVarint);
    Varint(value);
  }
  void BytesField(uint32_t field, const void* bytes, size_t size) {
    if (size == 0) return;
    Tag(field, WireType::kBytes);
    Varint(size);
    std::memcpy(to_, bytes, size);
    to_ += size;
  }
  void FloatsField(uint32_t field, const std::vector<float>& values) {
    BytesField(field, values.data(), values.size() * sizeof(float));
  }

 private:
  uint8_t* to_;
};

// A serialized glint.v1.Features, measured first.
class FeaturesWriter {
 public:
  explicit FeaturesWriter(const Features& features) : features_(features) {
    for (const int32_t octave : features.octave) octaves_ += VarintSize(Int32Bits(octave));
    for (const auto* floats : {&features.x, &features.y, &features.size, &features.angle, &features.response}) {
      size_ += BytesFieldSize(floats->size() * sizeof(float));
    }
    size_ += BytesFieldSize(octaves_) + BytesFieldSize(features.descriptors.size()) +
             VarintFieldSize(static_cast<uint64_t>(features.descriptor_bytes)) + VarintFieldSize(features.truncated);
  }

  size_t size() const { return size_; }

  void Write(Writer* out) const {
    using F = v1::Features;
    out->FloatsField(F::kXFieldNumber, features_.x);
    out->FloatsField(F::kYFieldNumber, features_.y);
    out->FloatsField(F::kSizeFieldNumber, features_.size);
    out->FloatsField(F::kAngleFieldNumber, features_.angle);
    out->FloatsField(F::kResponseFieldNumber, features_.response);
    if (octaves_ > 0) {
      out->Tag(F::kOctaveFieldNumber, WireType::kBytes);
      out->Varint(octaves_);
      for (const int32_t octave : features_.octave) out->Varint(Int32Bits(octave));
    }
    out->BytesField(F::kDescriptorsFieldNumber, features_.descriptors.data(), features_.descriptors.size());
    out->VarintField(F::kDescriptorBytesFieldNumber, static_cast<uint64_t>(features_.descriptor_bytes));
    out->VarintField(F::kTruncatedFieldNumber, features_.truncated);
  }

 private:
  const Features& features_;
  size_t octaves_ = 0;  // their bytes
  size_t size_ = 0;
};

// Memory of gRPC's.
grpc::Slice NewSlice(size_t bytes) {
  const FramePathPause pause;
  return grpc::Slice(bytes);
}

// The slice is new and not shared: its bytes are const only to readers.
uint8_t* BytesOf(const grpc::Slice& slice) { return const_cast<uint8_t*>(slice.begin()); }

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

grpc::Slice SerializeTimings(uint32_t field, const v1::Timings& timings) {
  const size_t bytes = timings.ByteSizeLong();
  grpc::Slice slice = NewSlice(kTagSize + VarintSize(bytes) + bytes);
  Writer out(BytesOf(slice));
  out.Tag(field, WireType::kBytes);
  out.Varint(bytes);
  timings.SerializeWithCachedSizesToArray(out.at());
  return slice;
}

}  // namespace glint
