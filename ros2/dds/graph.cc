#include "ros2/dds/graph.h"

#include <fastdds/rtps/reader/ReaderDiscoveryInfo.h>
#include <fastdds/rtps/writer/WriterDiscoveryInfo.h>

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace glint::ros2 {
namespace {

namespace dds = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;

// Of "typehash=RIHS01_...;" among others.
std::string HashOf(const std::vector<rtps::octet>& user_data) {
  const absl::string_view text(reinterpret_cast<const char*>(user_data.data()), user_data.size());
  for (absl::string_view part : absl::StrSplit(text, ';')) {
    if (absl::ConsumePrefix(&part, "typehash=")) return std::string(part.substr(0, 100));
  }
  return "";
}

template <class Data>
RemoteEnd EndOf(const Data& data, bool is_writer) {
  RemoteEnd end;
  end.is_writer = is_writer;
  end.reliable = data.m_qos.m_reliability.kind == dds::RELIABLE_RELIABILITY_QOS;
  end.transient_local = data.m_qos.m_durability.kind != dds::VOLATILE_DURABILITY_QOS;
  end.topic = data.topicName().to_string();
  end.type = data.typeName().to_string();
  end.hash = HashOf(data.m_qos.m_userData.getValue());
  return end;
}

}  // namespace

std::vector<RemoteEnd> Graph::EndsOf(const std::string& dds_topic) const {
  std::vector<RemoteEnd> ends;
  const absl::MutexLock lock(&mutex_);
  for (const auto& [guid, end] : ends_) {
    if (end.topic == dds_topic) ends.push_back(end);
  }
  return ends;
}

void Graph::on_publisher_discovery(dds::DomainParticipant* self, rtps::WriterDiscoveryInfo&& info) {
  if (info.info.guid().guidPrefix == self->guid().guidPrefix) return;
  if (info.status == rtps::WriterDiscoveryInfo::REMOVED_WRITER) return Erase(info.info.guid());
  Set(info.info.guid(), EndOf(info.info, /*is_writer=*/true));
}

void Graph::on_subscriber_discovery(dds::DomainParticipant* self, rtps::ReaderDiscoveryInfo&& info) {
  if (info.info.guid().guidPrefix == self->guid().guidPrefix) return;
  if (info.status == rtps::ReaderDiscoveryInfo::REMOVED_READER) return Erase(info.info.guid());
  Set(info.info.guid(), EndOf(info.info, /*is_writer=*/false));
}

void Graph::Set(const rtps::GUID_t& guid, RemoteEnd end) {
  const absl::MutexLock lock(&mutex_);
  if (ends_.size() < kMost || ends_.count(guid) != 0) ends_[guid] = std::move(end);
}

void Graph::Erase(const rtps::GUID_t& guid) {
  const absl::MutexLock lock(&mutex_);
  ends_.erase(guid);
}

}  // namespace glint::ros2
