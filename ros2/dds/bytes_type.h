// A type of DDS that carries bytes as they are, under the name of any type.
#ifndef GLINT_ROS2_DDS_BYTES_TYPE_H_
#define GLINT_ROS2_DDS_BYTES_TYPE_H_

#include <fastdds/rtps/common/SerializedPayload.h>

#include <cstdint>
#include <cstring>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <functional>
#include <string>

#include "absl/types/span.h"

namespace glint::ros2 {

// CDR with encapsulation. What arrives is larger never, what is published must not be.
inline constexpr uint32_t kMaxMessageBytes = 64 << 20;

// Samples are absl::Span<const uint8_t>. One that is read points to where DDS has it: take it by loan.
class BytesType : public eprosima::fastdds::dds::TopicDataType {
 public:
  using Sample = absl::Span<const uint8_t>;
  using Payload = eprosima::fastrtps::rtps::SerializedPayload_t;
  using TopicDataType::getSerializedSizeProvider;  // later versions have more of them
  using TopicDataType::serialize;

  explicit BytesType(const std::string& name) {
    setName(name.c_str());
    m_typeSize = kMaxMessageBytes;
    // What peers would match by and look up; without it they go by the name.
    auto_fill_type_object(false);
    auto_fill_type_information(false);
  }
  bool serialize(void* data, Payload* payload) override {
    const Sample& sample = *static_cast<const Sample*>(data);
    if (sample.size() > payload->max_size) return false;
    std::memcpy(payload->data, sample.data(), sample.size());
    payload->encapsulation = CDR_LE;
    payload->length = static_cast<uint32_t>(sample.size());
    return true;
  }
  bool deserialize(Payload* payload, void* data) override {
    *static_cast<Sample*>(data) = Sample(payload->data, payload->length);
    return true;
  }
  std::function<uint32_t()> getSerializedSizeProvider(void* data) override {
    return [data] { return static_cast<uint32_t>(static_cast<const Sample*>(data)->size()); };
  }
  void* createData() override { return new Sample; }
  void deleteData(void* data) override { delete static_cast<Sample*>(data); }
  bool getKey(void*, eprosima::fastrtps::rtps::InstanceHandle_t*, bool) override { return false; }
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_DDS_BYTES_TYPE_H_
