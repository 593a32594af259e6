// Serializes parts of replies into memory of the exact size; the bytes equal those of the generated classes.
#ifndef GLINT_SERVER_WIRE_REPLY_WRITER_H_
#define GLINT_SERVER_WIRE_REPLY_WRITER_H_

#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "features/types.h"
#include "glint/v1/features.pb.h"
#include "server/base/allocations.h"
#include "server/wire/rays.h"
#include "server/wire/wire_reader.h"

namespace glint::reply {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "floats are copied as they are");

inline size_t VarintSize(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

// Varint value of an int32: protobuf sign-extends negative values to 64 bits.
inline uint64_t Int32Bits(int32_t value) { return static_cast<uint64_t>(int64_t{value}); }

// Size of the tag of a field whose number is below 16.
inline constexpr size_t kTagSize = 1;

// Of any number, which only counts from 16 on.
inline size_t BytesFieldSize(size_t bytes, uint32_t field = 1) {
  return bytes == 0 ? 0 : VarintSize(WireTag(field, WireType::kBytes)) + VarintSize(bytes) + bytes;
}
inline size_t VarintFieldSize(uint64_t value) { return value == 0 ? 0 : kTagSize + VarintSize(value); }

class Writer {
 public:
  explicit Writer(uint8_t* to) : to_(to) {}
  uint8_t* at() const { return to_; }

  void Tag(uint32_t field, WireType type) { Varint(WireTag(field, type)); }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) *to_++ = static_cast<uint8_t>(value | 0x80);
    *to_++ = static_cast<uint8_t>(value);
  }
  // Writes a varint field; proto3 omits the default 0.
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
  void Raw(const void* bytes, size_t size) {
    if (size > 0) std::memcpy(to_, bytes, size);
    to_ += size;
  }
  void FloatsField(uint32_t field, const std::vector<float>& values) {
    BytesField(field, values.data(), values.size() * sizeof(float));
  }

 private:
  uint8_t* to_;
};

// Rays as three packed fields of the numbers `first_field` and after it; null: nothing.
class RaysWriter {
 public:
  RaysWriter(uint32_t first_field, const Rays* rays) : first_field_(first_field), rays_(rays) {}

  size_t size() const {
    size_t size = 0;
    ForEachArray(
        [&size](uint32_t field, const auto& floats) { size += BytesFieldSize(floats.size() * sizeof(float), field); });
    return size;
  }
  void Write(Writer* out) const {
    ForEachArray([out](uint32_t field, const auto& floats) { out->FloatsField(field, floats); });
  }

 private:
  template <typename Visit>
  void ForEachArray(Visit visit) const {
    if (rays_ == nullptr) return;
    visit(first_field_, rays_->x);
    visit(first_field_ + 1, rays_->y);
    visit(first_field_ + 2, rays_->z);
  }

  const uint32_t first_field_;
  const Rays* const rays_;
};

// A serialized glint.v1.ImageFeatures, measured first; with rays unless they are null.
class FeaturesWriter {
 public:
  explicit FeaturesWriter(const Features& features, const Rays* rays = nullptr)
      : features_(features), rays_(v1::ImageFeatures::kRayXFieldNumber, rays) {
    for (const int32_t octave : features.octave) octaves_ += VarintSize(Int32Bits(octave));
    for (const auto* floats : {&features.x, &features.y, &features.size, &features.angle, &features.response}) {
      size_ += BytesFieldSize(floats->size() * sizeof(float));
    }
    size_ += BytesFieldSize(octaves_) + BytesFieldSize(features.descriptors.size()) +
             VarintFieldSize(static_cast<uint64_t>(features.descriptor_bytes)) + VarintFieldSize(features.truncated) +
             rays_.size();
  }

  size_t size() const { return size_; }

  void Write(Writer* out) const {
    using F = v1::ImageFeatures;
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
    rays_.Write(out);
  }

 private:
  const Features& features_;
  const RaysWriter rays_;
  size_t octaves_ = 0;  // their bytes
  size_t size_ = 0;
};

// Measures and writes one packed field of varints; `each(visit)` is called once for each of the two steps.
template <typename Each>
class PackedVarints {
 public:
  PackedVarints(uint32_t field, Each each) : field_(field), each_(each) {
    each_([this](uint64_t value) { bytes_ += VarintSize(value); });
  }
  size_t size() const { return BytesFieldSize(bytes_); }
  void Write(Writer* out) const {
    if (bytes_ == 0) return;
    out->Tag(field_, WireType::kBytes);
    out->Varint(bytes_);
    each_([out](uint64_t value) { out->Varint(value); });
  }

 private:
  const uint32_t field_;
  const Each each_;
  size_t bytes_ = 0;
};

// Size of `part`, which has size() and Write(), as a field.
template <typename Part>
size_t MessageSize(const Part& part) {
  return kTagSize + VarintSize(part.size()) + part.size();
}

template <typename Part>
void WriteMessage(uint32_t field, const Part& part, Writer* out) {
  out->Tag(field, WireType::kBytes);
  out->Varint(part.size());
  part.Write(out);
}

// Allocates a slice of gRPC.
inline grpc::Slice NewSlice(size_t bytes) {
  const FramePathPause pause;
  return grpc::Slice(bytes);
}

// The slice is new and not shared: its bytes are const only to readers.
inline uint8_t* BytesOf(const grpc::Slice& slice) { return const_cast<uint8_t*>(slice.begin()); }

// Serializes a stream's response without status and timings: `part` is field `answer`. A unary response has the same
// fields; an id of 0 is not written. `fields`: serialized, of higher numbers than the answer.
template <typename Response, typename Part>
grpc::Slice SerializeAnswer(uint64_t frame_id, uint32_t answer, const Part& part, const std::string& fields = "") {
  grpc::Slice slice = NewSlice(VarintFieldSize(frame_id) + MessageSize(part) + fields.size());
  Writer out(BytesOf(slice));
  out.VarintField(Response::kFrameIdFieldNumber, frame_id);
  WriteMessage(answer, part, &out);
  out.Raw(fields.data(), fields.size());
  return slice;
}

}  // namespace glint::reply

#endif  // GLINT_SERVER_WIRE_REPLY_WRITER_H_
