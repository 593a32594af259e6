// Ends of topics: a thread that takes what arrives, a writer, and what is to be said of both.
#ifndef GLINT_ROS2_DDS_ENDPOINTS_H_
#define GLINT_ROS2_DDS_ENDPOINTS_H_

#include <cstdint>
#include <fastdds/dds/core/condition/GuardCondition.hpp>
#include <fastdds/dds/core/condition/WaitSet.hpp>
#include <fastdds/dds/core/status/IncompatibleQosStatus.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ros2/dds/domain.h"
#include "ros2/dds/participant.h"

namespace glint::ros2 {

// Calls back from a thread of its own, so that one that is slow holds up neither others nor DDS. Samples are where DDS
// has them, not copied.
class Reader {
 public:
  using Callback = std::function<void(absl::Span<const uint8_t> bytes, const eprosima::fastdds::dds::SampleInfo& info)>;

  static absl::StatusOr<std::unique_ptr<Reader>> Create(Domain* domain, const End& end, Callback callback);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  eprosima::fastdds::dds::DataReader& dds() { return reader_; }

 private:
  Reader(Domain* domain, eprosima::fastdds::dds::DataReader* reader, Callback callback);
  void Run();
  // Whether there may be another.
  bool TakeOne();

  Domain& domain_;
  eprosima::fastdds::dds::DataReader& reader_;
  const Callback callback_;
  eprosima::fastdds::dds::GuardCondition stop_;
  eprosima::fastdds::dds::WaitSet waits_;
  std::thread thread_;
};

class Writer {
 public:
  static absl::StatusOr<std::unique_ptr<Writer>> Create(Domain* domain, const End& end,
                                                        eprosima::fastdds::dds::DataWriterListener* listener = nullptr);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Whether a message may have so many bytes.
  static absl::Status CheckSize(const std::string& topic, size_t bytes);

  eprosima::fastdds::dds::DataWriter& dds() { return writer_; }

 private:
  Writer(Domain* domain, eprosima::fastdds::dds::DataWriter* writer) : domain_(*domain), writer_(*writer) {}

  Domain& domain_;
  eprosima::fastdds::dds::DataWriter& writer_;
};

// Finds messages that are missing, by the numbers that each writer gives its own. Not thread-safe.
class Gaps {
 public:
  // How many are missing between `sample` and the last one of its writer.
  int64_t Before(const eprosima::fastrtps::rtps::SampleIdentity& sample);

 private:
  std::map<eprosima::fastrtps::rtps::GUID_t, uint64_t> last_;
};

// Says what is wrong at one end of a topic, each thing when it is new. Not thread-safe.
class Complaints {
 public:
  Complaints(std::string topic, const End& end, bool is_writer)
      : topic_(std::move(topic)), end_(end), is_writer_(is_writer) {}

  // Of other ends that DDS does not connect for their QoS; `status`: its count and policy.
  void AddIncompatible(const eprosima::fastdds::dds::IncompatibleQosStatus& status, Warnings* warnings);
  // Of other ends that have another type.
  void AddTypes(const Graph& graph, Warnings* warnings) const;
  // Of losses, again when they have doubled.
  void AddLosses(const SubscriptionCounts& counts, const ReceiveBuffer& buffer, Warnings* warnings);

 private:
  const std::string topic_;
  const End end_;
  const bool is_writer_;
  uint32_t told_incompatible_ = 0;
  int64_t told_lost_ = 0;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_DDS_ENDPOINTS_H_
