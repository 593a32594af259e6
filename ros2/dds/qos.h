// QoS in the terms of Fast DDS.
#ifndef GLINT_ROS2_DDS_QOS_H_
#define GLINT_ROS2_DDS_QOS_H_

#include <fastdds/dds/domain/qos/DomainParticipantQos.hpp>
#include <fastdds/dds/publisher/qos/DataWriterQos.hpp>
#include <fastdds/dds/subscriber/qos/DataReaderQos.hpp>
#include <string>

#include "absl/status/status.h"
#include "ros2/dds/environment.h"
#include "ros2/qos.h"

namespace glint::ros2 {

// Over UDP alone: shared memory has a form of its own in each version of Fast DDS. Transports of a file of profiles are
// left as they are. UNAVAILABLE: a peer that has no address.
absl::Status SetNetwork(const Environment& environment, int receive_buffer_bytes,
                        eprosima::fastdds::dds::DomainParticipantQos* qos);

// `hash` is announced, unless it is empty. `type`: as DDS has it.
eprosima::fastdds::dds::DataReaderQos ReaderQosOf(const Qos& qos, const std::string& hash,
                                                  eprosima::fastdds::dds::DataReaderQos dds_qos);
eprosima::fastdds::dds::DataWriterQos WriterQosOf(const Qos& qos, const std::string& type, const std::string& hash,
                                                  eprosima::fastdds::dds::DataWriterQos dds_qos);

}  // namespace glint::ros2

#endif  // GLINT_ROS2_DDS_QOS_H_
