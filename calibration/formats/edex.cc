// cuVSLAM's EDEX. Its cameras and its rig have x to the right, y up and z backward; the inertial sensor has its own
// axes.
#include <Eigen/Core>
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/lines.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

// From EDEX's axes to Glint's, and back.
RigidTransform EdexAxes() { return {Eigen::Vector3d(1, -1, -1).asDiagonal(), Eigen::Vector3d::Zero()}; }

const Node* EdexCameras(const Source& source) {
  const bool is_list = source.root.kind == Node::Kind::kList && !source.root.children.empty();
  const Node* cameras = is_list ? source.root.children[0].Find("cameras") : nullptr;
  return cameras && cameras->kind == Node::Kind::kList && !cameras->children.empty() ? cameras : nullptr;
}

bool RecognisesEdex(const Source& source) {
  const Node* cameras = EdexCameras(source);
  return cameras && (cameras->children[0].Find("transform") || cameras->children[0].Find("intrinsics"));
}

absl::StatusOr<RigidTransform> ReadEdexTransform(const Source& source, const std::string& field, const Node& node) {
  if (!node.Find("transform")) return FieldError(source, field + "/transform", "is missing");
  GLINT_ASSIGN_OR_RETURN(const auto numbers, Numbers(source, node, "transform", 0));
  return Transform(source, field + "/transform", numbers);
}

absl::Status ReadEdexLens(const Source& source, const std::string& field, const Node& node, Camera* camera) {
  const std::string name = Text(node, "distortion_model");
  std::vector<double> k;
  if (node.Find("distortion_params")) {
    GLINT_ASSIGN_OR_RETURN(k, Numbers(source, node, "distortion_params", 0));
  }
  const auto has = [&](size_t count) {
    if (k.size() == count) return absl::OkStatus();
    return FieldError(source, field + "/distortion_params", absl::StrCat(k.size(), " numbers; ", name, " has ", count));
  };
  if (name == "pinhole")
    return std::all_of(k.begin(), k.end(), [](double x) { return x == 0; }) ? absl::OkStatus() : has(0);
  if (name == "fisheye" || name == "fisheye4") {
    GLINT_RETURN_IF_ERROR(has(4));
    camera->model = CameraModel::kKannalaBrandt;
    std::copy(k.begin(), k.end(), camera->lens.begin());
    return absl::OkStatus();
  }
  if (name == "brown" || name == "brown5k") {  // k1 k2 k3 p1 p2
    GLINT_RETURN_IF_ERROR(has(5));
    return SetOpenCvLens(source, field + "/distortion_params", {k[0], k[1], k[3], k[4], k[2]}, camera);
  }
  if (name == "polynomial") {
    GLINT_RETURN_IF_ERROR(has(8));
    return SetOpenCvLens(source, field + "/distortion_params", k, camera);
  }
  return FieldError(source, field + "/distortion_model",
                    absl::StrCat("'", name, "' is none of pinhole, fisheye, brown5k, polynomial"));
}

absl::StatusOr<RigCamera> ReadEdexCamera(const Source& source, const Node& node, size_t index) {
  const std::string field = absl::StrCat("cameras[", index, "]");
  RigCamera camera;
  camera.name = absl::StrCat("cam", index);
  const Node* intrinsics = node.Find("intrinsics");
  if (!intrinsics) return FieldError(source, field + "/intrinsics", "is missing");
  GLINT_ASSIGN_OR_RETURN(const auto focal, Numbers(source, *intrinsics, "focal", 2));
  GLINT_ASSIGN_OR_RETURN(const auto principal, Numbers(source, *intrinsics, "principal", 2));
  GLINT_ASSIGN_OR_RETURN(const auto size, Numbers(source, *intrinsics, "size", 2));
  camera.camera.fx = focal[0], camera.camera.fy = focal[1];
  camera.camera.cx = principal[0], camera.camera.cy = principal[1];
  GLINT_ASSIGN_OR_RETURN(camera.camera.image, ImageSize(source, field + "/intrinsics/size", size[0], size[1]));
  GLINT_RETURN_IF_ERROR(ReadEdexLens(source, field + "/intrinsics", *intrinsics, &camera.camera));
  GLINT_ASSIGN_OR_RETURN(const RigidTransform pose, ReadEdexTransform(source, field, node));
  camera.rig_from_camera = EdexAxes() * pose * EdexAxes();
  return camera;
}

absl::StatusOr<RigImu> ReadEdexImu(const Source& source, const Node& node) {
  RigImu imu;
  GLINT_ASSIGN_OR_RETURN(const RigidTransform pose, ReadEdexTransform(source, "imu", node));
  imu.rig_from_imu = EdexAxes() * pose;
  GLINT_ASSIGN_OR_RETURN(imu.rate_hz, NumberOr(source, node, "frequency", 0));
  GLINT_ASSIGN_OR_RETURN(imu.gyroscope_noise_density, NumberOr(source, node, "gyroscope_noise_density", 0));
  GLINT_ASSIGN_OR_RETURN(imu.gyroscope_random_walk, NumberOr(source, node, "gyroscope_random_walk", 0));
  GLINT_ASSIGN_OR_RETURN(imu.accelerometer_noise_density, NumberOr(source, node, "accelerometer_noise_density", 0));
  GLINT_ASSIGN_OR_RETURN(imu.accelerometer_random_walk, NumberOr(source, node, "accelerometer_random_walk", 0));
  return imu;
}

absl::StatusOr<Calibration> ReadEdex(absl::Span<const Source> sources, const ReadOptions&) {
  const Source& source = sources[0];
  if (sources.size() > 1) return FieldError(sources[1], "cameras", "one file has all cameras of EDEX");
  const Node& cameras = *EdexCameras(source);
  Calibration calibration;
  for (size_t i = 0; i < cameras.children.size(); ++i) {
    GLINT_ASSIGN_OR_RETURN(calibration.rig.cameras.emplace_back(), ReadEdexCamera(source, cameras.children[i], i));
  }
  if (const Node* imu = source.root.children[0].Find("imu"); imu && imu->Find("transform")) {
    GLINT_ASSIGN_OR_RETURN(calibration.rig.imu, ReadEdexImu(source, *imu));
  }
  FindWhetherRectified(&calibration);
  return calibration;
}

std::string EdexTransform(const RigidTransform& pose) {
  std::vector<std::string> rows;
  for (int row = 0; row < 3; ++row) {
    const Eigen::RowVector3d r = pose.rotation.row(row);
    rows.push_back(absl::StrCat("[", Digits({r[0], r[1], r[2], pose.translation[row]}, ", "), "]"));
  }
  return absl::StrCat("[", absl::StrJoin(rows, ", "), "]");
}

absl::StatusOr<std::string> EdexCamera(const RigCamera& from) {
  const Camera& camera = from.camera;
  const auto& k = camera.lens;
  std::optional<std::pair<const char*, std::vector<double>>> lens;
  if (camera.model == CameraModel::kPinhole) lens = {"pinhole", {}};
  if (camera.model == CameraModel::kKannalaBrandt) lens = {"fisheye", {k[0], k[1], k[2], k[3]}};
  if (camera.model == CameraModel::kRadialTangential) lens = {"brown5k", {k[0], k[1], k[4], k[2], k[3]}};
  if (camera.model == CameraModel::kRational) lens = {"polynomial", {k.begin(), k.begin() + 8}};
  if (!lens) {
    return absl::InvalidArgumentError(
        absl::StrCat("EDEX has no camera model ", NameOf(camera.model), " of ", from.name));
  }
  return absl::StrFormat(
      "{\"transform\": %s, \"intrinsics\": {\"distortion_model\": \"%s\", \"distortion_params\": [%s], "
      "\"focal\": [%s], \"principal\": [%s], \"size\": [%d, %d]}}",
      EdexTransform(EdexAxes() * from.rig_from_camera * EdexAxes()), lens->first, Digits(lens->second, ", "),
      Digits({camera.fx, camera.fy}, ", "), Digits({camera.cx, camera.cy}, ", "), camera.image.width,
      camera.image.height);
}

std::string EdexImu(const RigImu& imu) {
  return absl::StrCat(",\n    \"imu\": {\"g\": [0, -9.81, 0], \"measurements\": \"imu.jsonl\", \"transform\": ",
                      EdexTransform(EdexAxes() * imu.rig_from_imu), ", \"frequency\": ", Digits({imu.rate_hz}),
                      ",\n      \"gyroscope_noise_density\": ", Digits({imu.gyroscope_noise_density}),
                      ", \"gyroscope_random_walk\": ", Digits({imu.gyroscope_random_walk}),
                      ",\n      \"accelerometer_noise_density\": ", Digits({imu.accelerometer_noise_density}),
                      ", \"accelerometer_random_walk\": ", Digits({imu.accelerometer_random_walk}), "}");
}

absl::StatusOr<std::vector<NamedText>> WriteEdex(const Calibration& calibration) {
  GLINT_RETURN_IF_ERROR(RequireSizes(calibration.rig, "cuVSLAM"));
  std::vector<std::string> cameras;
  for (const RigCamera& camera : calibration.rig.cameras) {
    GLINT_ASSIGN_OR_RETURN(cameras.emplace_back(), EdexCamera(camera));
  }
  const std::string text = absl::StrCat(
      "[\n  {\n    \"version\": \"0.9\",\n    \"frame_start\": 0,\n    \"frame_end\": 0,\n    \"cameras\": [\n      ",
      absl::StrJoin(cameras, ",\n      "), "\n    ]", calibration.rig.imu ? EdexImu(*calibration.rig.imu) : "",
      "\n  },\n  {\"sequence\": []}\n]\n");
  return std::vector<NamedText>{{"stereo.edex", text}};
}

}  // namespace

const Format kEdex = {"edex", "cuVSLAM EDEX", RecognisesEdex, ReadEdex, WriteEdex, /*writes_imu=*/true};

}  // namespace glint::calibration
