#include "ros2/dds/qos.h"

#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastrtps/utils/IPLocator.h>

#include <algorithm>
#include <cstdint>
#include <fastdds/rtps/flowcontrol/FlowControllerDescriptor.hpp>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/error.h"

namespace glint::ros2 {
namespace {

namespace dds = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;
using eprosima::fastrtps::Duration_t;
using eprosima::fastrtps::rtps::IPLocator;

// Samples above a history's depth: those that are being put together or read.
constexpr int kExtraSamples = 4;
// Participants of a host that are asked, where multicast does not do that.
constexpr uint32_t kMaxParticipantsOfHost = 32;
constexpr uint32_t kDatagramBytes = 65'500;
// Large messages go out in portions, 100 MB/s: faster than receivers read, their buffers run over. Fast DDS wakes a
// thread for each period, whether there is anything to send or not.
constexpr char kPaced[] = "glint_paced";
constexpr int kPortionBytes = 512 << 10;
constexpr int kPeriodMs = 5;

template <class DdsQos>
void SetCommon(const Qos& qos, const std::string& hash, DdsQos* dds_qos) {
  dds_qos->reliability().kind = qos.reliable ? dds::RELIABLE_RELIABILITY_QOS : dds::BEST_EFFORT_RELIABILITY_QOS;
  dds_qos->reliability().max_blocking_time = Duration_t(0, 100'000'000);
  dds_qos->durability().kind = qos.transient_local ? dds::TRANSIENT_LOCAL_DURABILITY_QOS : dds::VOLATILE_DURABILITY_QOS;
  dds_qos->history().kind = dds::KEEP_LAST_HISTORY_QOS;
  dds_qos->history().depth = qos.depth;
  // At this limit new samples are refused; at the depth they take the place of the oldest.
  dds_qos->resource_limits().max_samples = qos.depth + kExtraSamples;
  dds_qos->resource_limits().max_instances = 1;
  dds_qos->resource_limits().max_samples_per_instance = qos.depth;
  dds_qos->resource_limits().allocated_samples = 1;
  dds_qos->resource_limits().extra_samples = kExtraSamples;
  dds_qos->data_sharing().off();
  if (!hash.empty()) {
    const std::string text = absl::StrCat("typehash=", hash, ";");
    dds_qos->user_data().data_vec({text.begin(), text.end()});
  }
}

// Whether messages of this type are as a rule larger than a datagram. Others go out as they are published, from the
// thread that does it.
bool IsLarge(absl::string_view type) {
  return absl::EndsWith(type, "::Image_") || absl::EndsWith(type, "::CompressedImage_") ||
         absl::EndsWith(type, "::PointCloud2_") || absl::EndsWith(type, "::DisparityImage_");
}

}  // namespace

absl::Status SetNetwork(const Environment& environment, int receive_buffer_bytes, dds::DomainParticipantQos* qos) {
  auto paced = std::make_shared<eprosima::fastdds::rtps::FlowControllerDescriptor>();
  paced->name = kPaced;
  paced->scheduler = eprosima::fastdds::rtps::FlowControllerSchedulerPolicy::ROUND_ROBIN;
  paced->max_bytes_per_period = kPortionBytes;
  paced->period_ms = kPeriodMs;
  qos->flow_controllers().push_back(paced);

  const bool localhost = environment.range == DiscoveryRange::kLocalhost;
  if (qos->transport().use_builtin_transports && qos->transport().user_transports.empty()) {
    auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
    udp->receiveBufferSize = static_cast<uint32_t>(receive_buffer_bytes);
    udp->sendBufferSize = static_cast<uint32_t>(receive_buffer_bytes);
    udp->maxMessageSize = kDatagramBytes;
    if (localhost || !environment.peers.empty()) udp->maxInitialPeersRange = kMaxParticipantsOfHost;
    qos->transport().use_builtin_transports = false;
    qos->transport().user_transports.push_back(udp);
  }

  auto& builtin = qos->wire_protocol().builtin;
  builtin.readerHistoryMemoryPolicy = rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
  builtin.writerHistoryMemoryPolicy = rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
  const auto add_peer = [&](const std::string& address) {
    rtps::Locator_t peer;  // without a port: those of all participants of a host
    IPLocator::setIPv4(peer, address);
    builtin.initialPeersList.push_back(peer);
  };
  switch (environment.range) {
    case DiscoveryRange::kOff:
      builtin.discovery_config.discoveryProtocol = rtps::DiscoveryProtocol_t::NONE;
      return absl::OkStatus();
    case DiscoveryRange::kSystemDefault:
      return absl::OkStatus();
    case DiscoveryRange::kLocalhost:
      builtin.metatrafficMulticastLocatorList.clear();
      builtin.metatrafficUnicastLocatorList.push_back(rtps::Locator_t());  // or else multicast is added
      add_peer("127.0.0.1");
      break;
    case DiscoveryRange::kSubnet:
      if (!environment.peers.empty()) add_peer("239.255.0.1");  // what is asked without peers
      break;
  }
  for (const std::string& peer : environment.peers) {
    const auto addresses = IPLocator::resolveNameDNS(peer);
    if (addresses.first.empty()) {
      return absl::UnavailableError(absl::StrCat("ROS_STATIC_PEERS: no address of host \"", Echo(peer), "\""));
    }
    add_peer(*addresses.first.begin());
  }
  return absl::OkStatus();
}

dds::DataReaderQos ReaderQosOf(const Qos& qos, const std::string& hash, dds::DataReaderQos dds_qos) {
  SetCommon(qos, hash, &dds_qos);
  // Memory of a sample is of the type's size, which is the most that any may have: what is larger is refused. Pages
  // that no sample has touched do not count.
  dds_qos.endpoint().history_memory_policy = rtps::PREALLOCATED_MEMORY_MODE;
  return dds_qos;
}

dds::DataWriterQos WriterQosOf(const Qos& qos, const std::string& type, const std::string& hash,
                               dds::DataWriterQos dds_qos) {
  SetCommon(qos, hash, &dds_qos);
  dds_qos.endpoint().history_memory_policy = rtps::DYNAMIC_REUSABLE_MEMORY_MODE;
  if (IsLarge(type)) {
    dds_qos.publish_mode().kind = dds::ASYNCHRONOUS_PUBLISH_MODE;
    dds_qos.publish_mode().flow_controller_name = kPaced;
  }
  dds_qos.reliable_writer_qos().times.heartbeatPeriod = Duration_t(0, 100'000'000);
  dds_qos.durability_service().history_kind = dds::KEEP_LAST_HISTORY_QOS;
  dds_qos.durability_service().history_depth = qos.depth;
  return dds_qos;
}

}  // namespace glint::ros2
