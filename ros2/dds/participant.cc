#include "ros2/dds/participant.h"

#include <algorithm>
#include <atomic>
#include <fastdds/dds/core/status/PublicationMatchedStatus.hpp>
#include <fastdds/dds/core/status/SubscriptionMatchedStatus.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "features/error.h"
#include "ros2/dds/bytes_type.h"
#include "ros2/dds/domain.h"
#include "ros2/dds/endpoints.h"
#include "ros2/dds/environment.h"
#include "ros2/dds/log.h"
#include "ros2/dds/service.h"
#include "ros2/names.h"

namespace glint::ros2 {
namespace {

namespace dds = eprosima::fastdds::dds;
using eprosima::fastrtps::types::ReturnCode_t;

// What has something to say of itself.
class Complainer {
 public:
  virtual ~Complainer() = default;
  virtual void Complain() = 0;
  virtual const std::string& topic() const = 0;
};

// Those that there are now.
class Complainers {
 public:
  void Add(Complainer* one) {
    const absl::MutexLock lock(&mutex_);
    all_.push_back(one);
  }
  void Remove(Complainer* one) {
    const absl::MutexLock lock(&mutex_);
    all_.erase(std::remove(all_.begin(), all_.end(), one), all_.end());
  }
  void Complain() {
    const absl::MutexLock lock(&mutex_);
    for (Complainer* one : all_) one->Complain();
  }
  std::vector<std::string> Topics() const {
    const absl::MutexLock lock(&mutex_);
    std::vector<std::string> topics;
    topics.reserve(all_.size());
    for (const Complainer* one : all_) topics.push_back(one->topic());
    return topics;
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<Complainer*> all_ ABSL_GUARDED_BY(mutex_);
};

End EndOf(const std::string& topic, const TypeInfo& type, const Qos& qos) {
  return {DdsTopic(topic), DdsType(type.name), type.hash, qos};
}

class DdsSubscription : public Subscription, public Complainer {
 public:
  DdsSubscription(Domain* domain, Complainers* all, const std::string& topic, const End& end)
      : domain_(*domain), all_(*all), topic_(topic), complaints_(topic, end, /*is_writer=*/false) {}
  ~DdsSubscription() override {
    if (reader_ != nullptr) all_.Remove(this);
  }
  absl::Status Start(const End& end, MessageCallback callback) {
    absl::StatusOr<std::unique_ptr<Reader>> reader = Reader::Create(
        &domain_, end, [this, callback = std::move(callback)](BytesType::Sample bytes, const dds::SampleInfo& info) {
          received_.fetch_add(1, std::memory_order_relaxed);
          lost_.fetch_add(gaps_.Before(info.sample_identity), std::memory_order_relaxed);
          callback(bytes, {info.source_timestamp.to_ns(), info.reception_timestamp.to_ns()});
        });
    if (!reader.ok()) return reader.status();
    reader_ = *std::move(reader);
    all_.Add(this);
    return absl::OkStatus();
  }

  const std::string& topic() const override { return topic_; }
  SubscriptionCounts counts() const override {
    SubscriptionCounts counts;
    counts.received = received_.load(std::memory_order_relaxed);
    counts.lost = lost_.load(std::memory_order_relaxed);
    dds::RequestedIncompatibleQosStatus incompatible;
    reader_->dds().get_requested_incompatible_qos_status(incompatible);
    counts.incompatible = incompatible.total_count;
    dds::SubscriptionMatchedStatus matched;
    reader_->dds().get_subscription_matched_status(matched);
    counts.matched = matched.current_count;
    return counts;
  }
  void Complain() override {
    dds::RequestedIncompatibleQosStatus incompatible;
    reader_->dds().get_requested_incompatible_qos_status(incompatible);
    complaints_.AddIncompatible(incompatible, &domain_.warnings());
    complaints_.AddTypes(domain_.graph(), &domain_.warnings());
    complaints_.AddLosses(counts(), domain_.receive_buffer(), &domain_.warnings());
  }

 private:
  Domain& domain_;
  Complainers& all_;
  const std::string topic_;
  Complaints complaints_;  // of who complains
  Gaps gaps_;              // of the reader's thread
  std::atomic<int64_t> received_ = 0;
  std::atomic<int64_t> lost_ = 0;
  std::unique_ptr<Reader> reader_;  // its thread ends before what it uses
};

class DdsPublisher : public Publisher, public Complainer {
 public:
  DdsPublisher(Domain* domain, Complainers* all, const std::string& topic, const End& end,
               std::unique_ptr<Writer> writer)
      : domain_(*domain),
        all_(*all),
        topic_(topic),
        complaints_(topic, end, /*is_writer=*/true),
        writer_(std::move(writer)) {
    all_.Add(this);
  }
  ~DdsPublisher() override { all_.Remove(this); }

  const std::string& topic() const override { return topic_; }
  absl::Status Publish(absl::Span<const uint8_t> cdr) override {
    if (absl::Status status = Writer::CheckSize(topic_, cdr.size()); !status.ok()) return status;
    BytesType::Sample sample = cdr;
    if (writer_->dds().write(&sample, dds::HANDLE_NIL) != ReturnCode_t::RETCODE_OK) {
      failed_.fetch_add(1, std::memory_order_relaxed);
      return ExhaustedError(absl::StrCat("topic ", topic_), "DDS has no room; subscriptions are too slow", "", "");
    }
    published_.fetch_add(1, std::memory_order_relaxed);
    return absl::OkStatus();
  }
  PublisherCounts counts() const override {
    PublisherCounts counts;
    counts.published = published_.load(std::memory_order_relaxed);
    counts.failed = failed_.load(std::memory_order_relaxed);
    dds::OfferedIncompatibleQosStatus incompatible;
    writer_->dds().get_offered_incompatible_qos_status(incompatible);
    counts.incompatible = incompatible.total_count;
    dds::PublicationMatchedStatus matched;
    writer_->dds().get_publication_matched_status(matched);
    counts.matched = matched.current_count;
    return counts;
  }
  void Complain() override {
    dds::OfferedIncompatibleQosStatus incompatible;
    writer_->dds().get_offered_incompatible_qos_status(incompatible);
    complaints_.AddIncompatible(incompatible, &domain_.warnings());
    complaints_.AddTypes(domain_.graph(), &domain_.warnings());
  }

 private:
  Domain& domain_;
  Complainers& all_;
  const std::string topic_;
  Complaints complaints_;  // of who complains
  std::atomic<int64_t> published_ = 0;
  std::atomic<int64_t> failed_ = 0;
  std::unique_ptr<Writer> writer_;
};

class DdsParticipant : public Participant {
 public:
  explicit DdsParticipant(std::unique_ptr<Domain> domain) : domain_(std::move(domain)) {}

  absl::StatusOr<std::unique_ptr<Subscription>> Subscribe(const std::string& topic, const TypeInfo& type,
                                                          const Qos& qos, MessageCallback callback) override {
    const End end = EndOf(topic, type, qos);
    auto subscription = std::make_unique<DdsSubscription>(domain_.get(), &complainers_, topic, end);
    if (absl::Status status = subscription->Start(end, std::move(callback)); !status.ok()) return status;
    return subscription;
  }
  absl::StatusOr<std::unique_ptr<Publisher>> Advertise(const std::string& topic, const TypeInfo& type,
                                                       const Qos& qos) override {
    const End end = EndOf(topic, type, qos);
    absl::StatusOr<std::unique_ptr<Writer>> writer = Writer::Create(domain_.get(), end);
    if (!writer.ok()) return writer.status();
    return std::make_unique<DdsPublisher>(domain_.get(), &complainers_, topic, end, *std::move(writer));
  }
  absl::StatusOr<std::unique_ptr<Service>> Serve(const std::string& name, const ServiceInfo& type,
                                                 RequestCallback callback) override {
    return NewService(domain_.get(), name, type, std::move(callback));
  }
  std::vector<std::string> OpenTopics() const override { return complainers_.Topics(); }
  std::vector<std::string> TakeWarnings() override {
    complainers_.Complain();
    std::vector<std::string> warnings = domain_->warnings().Take();
    for (std::string& text : TakeFastDdsErrors()) warnings.push_back(std::move(text));
    return warnings;
  }

 private:
  std::unique_ptr<Domain> domain_;
  Complainers complainers_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Participant>> Participant::Create(const ParticipantOptions& options) {
  if (absl::Status status = CheckNamespace(options.node_namespace); !status.ok()) return status;
  if (absl::Status status = CheckNodeName(options.node_name); !status.ok()) return status;
  absl::StatusOr<Environment> environment = ReadEnvironment();
  if (!environment.ok()) return environment.status();
  absl::StatusOr<std::unique_ptr<Domain>> domain = Domain::Join(*environment, options);
  if (!domain.ok()) return domain.status();
  return std::make_unique<DdsParticipant>(*std::move(domain));
}

}  // namespace glint::ros2
