// Calibrations of OAK cameras (depthai's JSON, versions 6 and 7).
#include <Eigen/Geometry>
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

using OakSockets = std::map<int, const Node*>;

bool RecognisesDepthAi(const Source& source) {
  const Node* cameras = source.root.Find("cameraData");
  return cameras && cameras->kind == Node::Kind::kList;
}

// The number of a socket; -1 is none.
absl::StatusOr<int> OakSocket(const Source& source, const std::string& field, const absl::StatusOr<double>& number) {
  if (!number.ok()) return number.status();
  if (*number >= -1 && *number <= 255) return static_cast<int>(*number);
  return FieldError(source, field, absl::StrFormat("%g is not a socket, -1 to 255", *number));
}

// The cameras of `cameraData`, [socket, camera] each, less those without a calibration.
absl::StatusOr<OakSockets> OakCameras(const Source& source) {
  OakSockets sockets;
  for (const Node& entry : source.root.Find("cameraData")->children) {
    if (entry.kind != Node::Kind::kList || entry.children.size() != 2 || entry.children[1].kind != Node::Kind::kMap) {
      return FieldError(source, "cameraData", "not a list of [socket, camera]");
    }
    GLINT_ASSIGN_OR_RETURN(const int socket, OakSocket(source, "cameraData", NumberOf(entry.children[0])));
    GLINT_ASSIGN_OR_RETURN(const double width, NumberOr(source, entry.children[1], "width", 0));
    if (width > 0) sockets[socket] = &entry.children[1];
  }
  return sockets;
}

// "CAM_B": depthai's name of socket 1.
std::string OakName(int socket) {
  return socket >= 0 && socket < 26 ? absl::StrFormat("CAM_%c", 'A' + socket) : absl::StrCat("socket ", socket);
}

// Metres in a unit of an extrinsics' translation.
absl::StatusOr<double> OakMetres(const Source& source, const std::string& field, const Node& extrinsics) {
  constexpr double kMetres[] = {1, 0.01, 0.001, 0.0254, 0.3048};  // depthai's LengthUnit
  GLINT_ASSIGN_OR_RETURN(const double unit, NumberOr(source, extrinsics, "lengthUnit", 1));
  if (!(unit >= 0 && unit <= 4)) {
    return FieldError(source, field + "/lengthUnit", absl::StrFormat("%g is not 0 to 4: m, cm, mm, inch, foot", unit));
  }
  return kMetres[static_cast<int>(unit)];
}

// Takes coordinates of the sensor to those of the socket that `extrinsics` names.
absl::StatusOr<RigidTransform> OakExtrinsics(const Source& source, const std::string& field, const Node& extrinsics) {
  GLINT_ASSIGN_OR_RETURN(const auto rotation, Numbers(source, extrinsics, "rotationMatrix", 9));
  Eigen::Vector3d t;
  GLINT_ASSIGN_OR_RETURN(t[0], Number(source, extrinsics, "translation/x"));
  GLINT_ASSIGN_OR_RETURN(t[1], Number(source, extrinsics, "translation/y"));
  GLINT_ASSIGN_OR_RETURN(t[2], Number(source, extrinsics, "translation/z"));
  GLINT_ASSIGN_OR_RETURN(const double metres, OakMetres(source, field, extrinsics));
  return Transform(source, field + "/rotationMatrix", rotation, t * metres);
}

struct OakPose {
  int root = -1;
  RigidTransform root_from_camera;
};

// Follows toCameraSocket from `socket` to the one that has -1. The root's own extrinsics say nothing.
absl::StatusOr<OakPose> OakChain(const Source& source, const OakSockets& sockets, int socket) {
  OakPose pose;
  std::set<int> seen;
  while (true) {
    const std::string field = absl::StrCat("cameraData[", socket, "]/extrinsics");
    const auto found = sockets.find(socket);
    if (found == sockets.end()) return FieldError(source, field, "leads to a socket without a calibration");
    if (!seen.insert(socket).second) return FieldError(source, field, "leads back to itself by toCameraSocket");
    const Node* extrinsics = found->second->Find("extrinsics");
    if (!extrinsics) return FieldError(source, field, "is missing");
    GLINT_ASSIGN_OR_RETURN(const int next, OakSocket(source, field + "/toCameraSocket",
                                                     NumberOr(source, *extrinsics, "toCameraSocket", -1)));
    pose.root = socket;
    if (next < 0) return pose;
    GLINT_ASSIGN_OR_RETURN(const RigidTransform next_from_this, OakExtrinsics(source, field, *extrinsics));
    pose.root_from_camera = next_from_this * pose.root_from_camera;
    socket = next;
  }
}

absl::StatusOr<Camera> ReadOakCamera(const Source& source, int socket, const Node& node) {
  const std::string field = absl::StrCat("cameraData[", socket, "]/");
  Camera camera;
  GLINT_ASSIGN_OR_RETURN(const double width, Number(source, node, "width"));
  GLINT_ASSIGN_OR_RETURN(const double height, Number(source, node, "height"));
  GLINT_ASSIGN_OR_RETURN(const auto k, Numbers(source, node, "intrinsicMatrix", 9));
  GLINT_ASSIGN_OR_RETURN(const auto d, Numbers(source, node, "distortionCoeff", 0));
  GLINT_ASSIGN_OR_RETURN(const double type, NumberOr(source, node, "cameraType", 0));
  GLINT_ASSIGN_OR_RETURN(camera.image, ImageSize(source, field + "width, height", width, height));
  camera.fx = k[0], camera.fy = k[4], camera.cx = k[2], camera.cy = k[5];
  if (type == 0) {
    GLINT_RETURN_IF_ERROR(SetOpenCvLens(source, field + "distortionCoeff", d, &camera));
  } else if (type == 1 && d.size() >= 4) {
    camera.model = CameraModel::kKannalaBrandt;
    std::copy(d.begin(), d.begin() + 4, camera.lens.begin());
  } else {
    return FieldError(source, field + "cameraType",
                      absl::StrFormat("%g with %d coefficients; 0 (perspective) and 1 (fisheye) are read", type,
                                      static_cast<int>(d.size())));
  }
  return camera;
}

// Left and right of the stereo pair first, then the others by their sockets.
absl::StatusOr<std::vector<int>> OakOrder(const Source& source, const OakSockets& sockets) {
  std::vector<int> order;
  for (const char* key : {"leftCameraSocket", "rightCameraSocket"}) {
    const std::string path = absl::StrCat("stereoRectificationData/", key);
    GLINT_ASSIGN_OR_RETURN(const int socket, OakSocket(source, path, NumberOr(source, source.root, path, -1)));
    if (sockets.count(socket)) order.push_back(socket);
  }
  if (order.size() < 2 || order[0] == order[1]) order.clear();
  if (order.empty() && sockets.count(1) && sockets.count(2)) order = {1, 2};  // CAM_B and CAM_C
  for (const auto& [socket, node] : sockets) {
    if (std::find(order.begin(), order.end(), socket) == order.end()) order.push_back(socket);
  }
  return order;
}

// In the frame of the camera whose chain is `first`.
absl::StatusOr<RigCamera> ReadOakRigCamera(const Source& source, const OakSockets& sockets, int socket,
                                           const OakPose& first) {
  RigCamera camera;
  camera.name = OakName(socket);
  GLINT_ASSIGN_OR_RETURN(const OakPose pose, OakChain(source, sockets, socket));
  if (pose.root != first.root) {
    return FieldError(
        source, absl::StrCat("cameraData[", socket, "]/extrinsics/toCameraSocket"),
        absl::StrCat("leads to ", OakName(pose.root), ", but the first camera's to ", OakName(first.root)));
  }
  camera.rig_from_camera = first.root_from_camera.Inverse() * pose.root_from_camera;
  GLINT_ASSIGN_OR_RETURN(camera.camera, ReadOakCamera(source, socket, *sockets.at(socket)));
  return camera;
}

absl::StatusOr<Calibration> ReadDepthAi(absl::Span<const Source> sources, const ReadOptions&) {
  const Source& source = sources[0];
  if (sources.size() > 1) return FieldError(sources[1], "cameraData", "one file has all cameras of an OAK");
  GLINT_ASSIGN_OR_RETURN(const OakSockets sockets, OakCameras(source));
  if (sockets.empty()) return FieldError(source, "cameraData", "has no calibrated camera");
  GLINT_ASSIGN_OR_RETURN(const std::vector<int> order, OakOrder(source, sockets));
  GLINT_ASSIGN_OR_RETURN(const OakPose first, OakChain(source, sockets, order[0]));
  Calibration calibration;
  calibration.first_is_left = true;
  for (const int socket : order) {
    auto camera = ReadOakRigCamera(source, sockets, socket, first);
    if (camera.ok()) {
      calibration.rig.cameras.push_back(*std::move(camera));
    } else if (calibration.rig.cameras.size() < 2) {
      return camera.status();
    } else {  // the pair can do without it
      calibration.warnings.push_back(absl::StrCat(camera.status().message(), "; ", OakName(socket), " is left out"));
    }
  }
  const Node* imu = source.root.Find("imuExtrinsics");
  const std::string imu_path = "imuExtrinsics/toCameraSocket";
  GLINT_ASSIGN_OR_RETURN(const int imu_to, OakSocket(source, imu_path, NumberOr(source, source.root, imu_path, -1)));
  if (imu && sockets.count(imu_to)) {
    GLINT_ASSIGN_OR_RETURN(const RigidTransform socket_from_imu, OakExtrinsics(source, "imuExtrinsics", *imu));
    GLINT_ASSIGN_OR_RETURN(const OakPose pose, OakChain(source, sockets, imu_to));
    if (pose.root == first.root) {
      calibration.rig.imu.emplace().rig_from_imu =
          first.root_from_camera.Inverse() * pose.root_from_camera * socket_from_imu;
    }
  }
  FindWhetherRectified(&calibration);
  return calibration;
}

}  // namespace

const Format kDepthAi = {"depthai", "OAK (depthai) JSON", RecognisesDepthAi, ReadDepthAi, nullptr};

}  // namespace glint::calibration
