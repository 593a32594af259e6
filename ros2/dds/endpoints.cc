#include "ros2/dds/endpoints.h"

#include <fastdds/dds/core/LoanableSequence.hpp>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "ros2/dds/bytes_type.h"

namespace glint::ros2 {

namespace dds = eprosima::fastdds::dds;
using eprosima::fastrtps::types::ReturnCode_t;

absl::StatusOr<std::unique_ptr<Reader>> Reader::Create(Domain* domain, const End& end, Callback callback) {
  absl::StatusOr<dds::DataReader*> reader = domain->NewReader(end);
  if (!reader.ok()) return reader.status();
  return std::unique_ptr<Reader>(new Reader(domain, *reader, std::move(callback)));
}

Reader::Reader(Domain* domain, dds::DataReader* reader, Callback callback)
    : domain_(*domain), reader_(*reader), callback_(std::move(callback)) {
  dds::StatusCondition& arrival = reader_.get_statuscondition();
  arrival.set_enabled_statuses(dds::StatusMask::data_available());
  waits_.attach_condition(arrival);
  waits_.attach_condition(stop_);
  thread_ = std::thread([this] { Run(); });
}

Reader::~Reader() {
  stop_.set_trigger_value(true);
  thread_.join();
  waits_.detach_condition(stop_);
  waits_.detach_condition(reader_.get_statuscondition());
  domain_.Delete(&reader_);
}

void Reader::Run() {
  dds::ConditionSeq active;
  while (!stop_.get_trigger_value()) {
    waits_.wait(active, eprosima::fastrtps::c_TimeInfinite);
    while (!stop_.get_trigger_value() && TakeOne()) {
    }
  }
}

bool Reader::TakeOne() {
  dds::LoanableSequence<BytesType::Sample> samples;
  dds::SampleInfoSeq infos;
  if (reader_.take(samples, infos, 1) != ReturnCode_t::RETCODE_OK) return false;
  for (dds::LoanableCollection::size_type i = 0; i < infos.length(); ++i) {
    if (infos[i].valid_data) callback_(samples[i], infos[i]);
  }
  reader_.return_loan(samples, infos);
  return true;
}

absl::StatusOr<std::unique_ptr<Writer>> Writer::Create(Domain* domain, const End& end,
                                                       dds::DataWriterListener* listener) {
  absl::StatusOr<dds::DataWriter*> writer = domain->NewWriter(end, listener);
  if (!writer.ok()) return writer.status();
  return std::unique_ptr<Writer>(new Writer(domain, *writer));
}

Writer::~Writer() { domain_.Delete(&writer_); }

int64_t Gaps::Before(const eprosima::fastrtps::rtps::SampleIdentity& sample) {
  constexpr size_t kMaxWriters = 1000;
  const uint64_t number = sample.sequence_number().to64long();
  if (last_.size() >= kMaxWriters) last_.clear();  // most are gone
  const auto [found, is_new] = last_.emplace(sample.writer_guid(), number);
  const uint64_t last = std::exchange(found->second, number);
  return is_new || number <= last ? 0 : static_cast<int64_t>(number - last - 1);
}

absl::Status Writer::CheckSize(const std::string& topic, size_t bytes) {
  return CheckRange(absl::StrCat("topic ", topic, ": bytes"), bytes, size_t{4}, size_t{kMaxMessageBytes});
}

}  // namespace glint::ros2
