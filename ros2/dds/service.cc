#include "ros2/dds/service.h"

#include <fastdds/rtps/common/WriteParams.h>

#include <cstdint>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "ros2/dds/bytes_type.h"
#include "ros2/dds/endpoints.h"
#include "ros2/names.h"

namespace glint::ros2 {
namespace {

namespace dds = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;

constexpr Qos kServiceQos = {true, false, 10};
// How long a client's reader may take to be found before its reply goes out.
constexpr absl::Duration kMatchTime = absl::Milliseconds(100);

class DdsService : public Service, public dds::DataWriterListener {
 public:
  static absl::StatusOr<std::unique_ptr<Service>> Create(Domain* domain, const std::string& name,
                                                         const ServiceInfo& type, RequestCallback callback) {
    auto service = std::make_unique<DdsService>(std::move(callback));
    absl::StatusOr<std::unique_ptr<Writer>> writer = Writer::Create(
        domain, {DdsReplyTopic(name), DdsType(type.response.name), type.response.hash, kServiceQos}, service.get());
    if (!writer.ok()) return writer.status();
    service->writer_ = *std::move(writer);
    absl::StatusOr<std::unique_ptr<Reader>> reader =
        Reader::Create(domain, {DdsRequestTopic(name), DdsType(type.request.name), type.request.hash, kServiceQos},
                       [service = service.get()](BytesType::Sample request, const dds::SampleInfo& info) {
                         service->Answer(request, info);
                       });
    if (!reader.ok()) return reader.status();
    service->reader_ = *std::move(reader);
    return service;
  }
  explicit DdsService(RequestCallback callback) : callback_(std::move(callback)) {}

 private:
  void Answer(BytesType::Sample request, const dds::SampleInfo& info) {
    response_.clear();
    callback_(request, &response_);
    if (response_.empty() || response_.size() > kMaxMessageBytes) return;
    rtps::WriteParams params;
    params.related_sample_identity() = info.sample_identity;
    // A client says here where it reads replies; without that it knows the request's writer.
    const rtps::GUID_t& reader = info.related_sample_identity.writer_guid();
    if (reader != rtps::GUID_t::unknown()) {
      params.related_sample_identity().writer_guid() = reader;
      AwaitMatch(reader);
    }
    BytesType::Sample sample(response_);
    writer_->dds().write(&sample, params);
  }
  void AwaitMatch(const rtps::GUID_t& reader) {
    const rtps::InstanceHandle_t handle(reader);
    const absl::MutexLock lock(&mutex_);
    const auto matched = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return clients_.count(handle) != 0; };
    mutex_.AwaitWithTimeout(absl::Condition(&matched), kMatchTime);
  }
  void on_publication_matched(dds::DataWriter*, const dds::PublicationMatchedStatus& status) override {
    const absl::MutexLock lock(&mutex_);
    if (status.current_count_change < 0) {
      clients_.erase(status.last_subscription_handle);
    } else {
      clients_.insert(status.last_subscription_handle);
    }
  }

  const RequestCallback callback_;
  std::vector<uint8_t> response_;  // of the reader's thread
  absl::Mutex mutex_;
  std::set<rtps::InstanceHandle_t> clients_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<Reader> reader_;  // its thread ends before what it uses
};

}  // namespace

absl::StatusOr<std::unique_ptr<Service>> NewService(Domain* domain, const std::string& name, const ServiceInfo& type,
                                                    RequestCallback callback) {
  return DdsService::Create(domain, name, type, std::move(callback));
}

}  // namespace glint::ros2
