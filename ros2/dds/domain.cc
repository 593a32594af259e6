#include "ros2/dds/domain.h"

#include <fastrtps/attributes/LibrarySettingsAttributes.h>
#include <fastrtps/xmlparser/XMLProfileManager.h>

#include <algorithm>
#include <cstring>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "features/error.h"
#include "ros/cdr.h"
#include "ros2/dds/bytes_type.h"
#include "ros2/dds/log.h"
#include "ros2/dds/qos.h"
#include "ros2/names.h"

namespace glint::ros2 {
namespace {

namespace dds = eprosima::fastdds::dds;
using eprosima::fastrtps::rtps::GUID_t;
using eprosima::fastrtps::types::ReturnCode_t;

constexpr int kMaxDepth = 1000;
constexpr int kMinReceiveBufferBytes = 65'536;  // Fast DDS: no less than a datagram
constexpr int kMaxReceiveBufferBytes = 1 << 30;
constexpr char kEnclave[] = "enclave=/;";

ros::Gid GidOf(const GUID_t& guid) {
  ros::Gid gid;
  static_assert(sizeof(guid.guidPrefix.value) + sizeof(guid.entityId.value) == sizeof(gid.data));
  std::memcpy(gid.data.data(), guid.guidPrefix.value, sizeof(guid.guidPrefix.value));
  std::memcpy(gid.data.data() + sizeof(guid.guidPrefix.value), guid.entityId.value, sizeof(guid.entityId.value));
  return gid;
}

void Erase(const GUID_t& guid, std::vector<ros::Gid>* gids) {
  const ros::Gid gid = GidOf(guid);
  gids->erase(std::remove_if(gids->begin(), gids->end(), [&](const ros::Gid& other) { return other.data == gid.data; }),
              gids->end());
}

// The most that the system gives a socket, if it says so.
ReceiveBuffer ReceiveBufferOf(int wanted) {
  int64_t most = 0;
  std::ifstream("/proc/sys/net/core/rmem_max") >> most;
  return {most > 0 ? std::min<int64_t>(most, wanted) : wanted, wanted};
}

absl::Status LoadProfiles(const std::string& file) {
  auto* const factory = dds::DomainParticipantFactory::get_instance();
  if (!file.empty() && factory->load_XML_profiles_file(file) != ReturnCode_t::RETCODE_OK) {
    return absl::InvalidArgumentError(absl::StrCat("FASTRTPS_DEFAULT_PROFILES_FILE: \"", Echo(file),
                                                   "\": ", absl::StrJoin(TakeFastDdsErrors(/*flush=*/true), "; ")));
  }
  factory->load_profiles();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Domain>> Domain::Join(const Environment& environment,
                                                     const ParticipantOptions& options) {
  std::unique_ptr<Domain> domain(new Domain);
  if (absl::Status status = domain->Start(environment, options); !status.ok()) return status;
  return domain;
}

absl::Status Domain::Start(const Environment& environment, const ParticipantOptions& options) {
  TakeFastDdsErrors();  // of others before
  if (absl::Status status = LoadProfiles(environment.profiles); !status.ok()) return status;
  // Messages between participants of one process go the same way as all others.
  eprosima::fastrtps::LibrarySettingsAttributes settings;
  settings.intraprocess_delivery = eprosima::fastrtps::INTRAPROCESS_OFF;
  eprosima::fastrtps::xmlparser::XMLProfileManager::library_settings(settings);

  if (absl::Status status = CheckRange("receive_buffer_bytes", options.receive_buffer_bytes, kMinReceiveBufferBytes,
                                       kMaxReceiveBufferBytes);
      !status.ok()) {
    return status;
  }
  receive_buffer_ = ReceiveBufferOf(options.receive_buffer_bytes);
  auto* const factory = dds::DomainParticipantFactory::get_instance();
  dds::DomainParticipantQos qos = factory->get_default_participant_qos();
  const std::string enclave = kEnclave;
  qos.user_data().data_vec({enclave.begin(), enclave.end()});
  qos.name(absl::StrCat(options.node_namespace == "/" ? "" : options.node_namespace, "/", options.node_name));
  if (absl::Status status = SetNetwork(environment, static_cast<int>(receive_buffer_.bytes), &qos); !status.ok()) {
    return status;
  }
  participant_ =
      factory->create_participant(static_cast<uint32_t>(environment.domain), qos, &graph_, dds::StatusMask::none());
  if (participant_ != nullptr) {
    publisher_ = participant_->create_publisher(dds::PUBLISHER_QOS_DEFAULT);
    subscriber_ = participant_->create_subscriber(dds::SUBSCRIBER_QOS_DEFAULT);
  }
  if (publisher_ == nullptr || subscriber_ == nullptr) {
    return absl::UnavailableError(absl::StrCat("ros2: Fast DDS does not begin on domain ", environment.domain, ": ",
                                               absl::StrJoin(TakeFastDdsErrors(/*flush=*/true), "; ")));
  }
  absl::StatusOr<dds::DataWriter*> announcer =
      NewWriter({"ros_discovery_info", DdsType(ros::ParticipantEntitiesInfo::kName),
                 ros::TypeHash<ros::ParticipantEntitiesInfo>(), kLatched});
  if (!announcer.ok()) return announcer.status();
  const absl::MutexLock lock(&mutex_);
  announcer_ = *announcer;
  node_.node_namespace = options.node_namespace;
  node_.node_name = options.node_name;
  node_.writer_gid_seq.clear();
  Announce();
  return absl::OkStatus();
}

Domain::~Domain() {
  if (participant_ == nullptr) return;
  participant_->set_listener(nullptr);
  participant_->delete_contained_entities();
  dds::DomainParticipantFactory::get_instance()->delete_participant(participant_);
}

absl::StatusOr<dds::Topic*> Domain::TopicOf(const End& end) {
  if (absl::Status status = CheckRange("qos.depth", end.qos.depth, 1, kMaxDepth); !status.ok()) return status;
  if (auto* const known = dynamic_cast<dds::Topic*>(participant_->lookup_topicdescription(end.topic))) {
    if (known->get_type_name() == end.type) return known;
    if (participant_->delete_topic(known) != ReturnCode_t::RETCODE_OK) {  // it has ends
      return absl::InvalidArgumentError(absl::StrCat("topic ", Echo(end.topic), ": has type ", known->get_type_name(),
                                                     " in this node already, not ", Echo(end.type)));
    }
  }
  const dds::TypeSupport type(new BytesType(end.type));
  dds::Topic* topic = nullptr;
  if (type.register_type(participant_) == ReturnCode_t::RETCODE_OK) {
    topic = participant_->create_topic(end.topic, end.type, dds::TOPIC_QOS_DEFAULT);
  }
  if (topic == nullptr) return absl::UnavailableError(absl::StrCat("topic ", Echo(end.topic), ": Fast DDS refuses it"));
  return topic;
}

absl::StatusOr<dds::DataReader*> Domain::NewReader(const End& end) {
  const absl::MutexLock lock(&mutex_);
  absl::StatusOr<dds::Topic*> topic = TopicOf(end);
  if (!topic.ok()) return topic.status();
  auto* const reader =
      subscriber_->create_datareader(*topic, ReaderQosOf(end.qos, end.hash, subscriber_->get_default_datareader_qos()));
  if (reader == nullptr) return absl::UnavailableError(absl::StrCat("topic ", Echo(end.topic), ": no reader"));
  node_.reader_gid_seq.push_back(GidOf(reader->guid()));
  Announce();
  return reader;
}

absl::StatusOr<dds::DataWriter*> Domain::NewWriter(const End& end, dds::DataWriterListener* listener) {
  const absl::MutexLock lock(&mutex_);
  absl::StatusOr<dds::Topic*> topic = TopicOf(end);
  if (!topic.ok()) return topic.status();
  auto* const writer = publisher_->create_datawriter(
      *topic, WriterQosOf(end.qos, end.type, end.hash, publisher_->get_default_datawriter_qos()), listener,
      dds::StatusMask::publication_matched());
  if (writer == nullptr) return absl::UnavailableError(absl::StrCat("topic ", Echo(end.topic), ": no writer"));
  node_.writer_gid_seq.push_back(GidOf(writer->guid()));
  Announce();
  return writer;
}

void Domain::Delete(dds::DataReader* reader) {
  const absl::MutexLock lock(&mutex_);
  Erase(reader->guid(), &node_.reader_gid_seq);
  subscriber_->delete_datareader(reader);
  Announce();
}

void Domain::Delete(dds::DataWriter* writer) {
  const absl::MutexLock lock(&mutex_);
  Erase(writer->guid(), &node_.writer_gid_seq);
  publisher_->delete_datawriter(writer);
  Announce();
}

void Domain::Announce() {
  if (announcer_ == nullptr) return;
  std::vector<uint8_t> bytes;
  ros::WriteCdr(ros::ParticipantEntitiesInfo{GidOf(participant_->guid()), {node_}}, &bytes);
  BytesType::Sample sample(bytes);
  announcer_->write(&sample);
}

}  // namespace glint::ros2
