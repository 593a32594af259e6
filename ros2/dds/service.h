// A service as rmw_fastrtps_cpp has it: a topic of requests and one of replies, which say what request they are of.
#ifndef GLINT_ROS2_DDS_SERVICE_H_
#define GLINT_ROS2_DDS_SERVICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "ros2/dds/domain.h"
#include "ros2/dds/participant.h"

namespace glint::ros2 {

absl::StatusOr<std::unique_ptr<Service>> NewService(Domain* domain, const std::string& name, const ServiceInfo& type,
                                                    RequestCallback callback);

}  // namespace glint::ros2

#endif  // GLINT_ROS2_DDS_SERVICE_H_
