// ROS's sensor_msgs/CameraInfo, a file for each camera: as camera_calibration writes it to YAML, and as `rostopic echo`
// (D K R P) and `ros2 topic echo` (d k r p) print the message; and the calibrator's .ini, of one or of both cameras.
// https://docs.ros.org/en/noetic/api/sensor_msgs/html/msg/CameraInfo.html
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/format.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/lines.h"
#include "calibration/formats/matrices.h"
#include "calibration/formats/named_lens.h"
#include "calibration/formats/ros_ini.h"
#include "features/camera/rectification.h"
#include "features/camera/rig.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

// The names of one field: in a file, in ROS 1's message and in ROS 2's.
using Names = absl::Span<const char* const>;
constexpr const char* kNamesOfK[] = {"camera_matrix", "K", "k"};
constexpr const char* kNamesOfD[] = {"distortion_coefficients", "distortion_coefficents", "D", "d"};  // a common slip
constexpr const char* kNamesOfR[] = {"rectification_matrix", "R", "r"};
constexpr const char* kNamesOfP[] = {"projection_matrix", "P", "p"};

const Node* FindAny(const Node& root, Names names) {
  for (const char* name : names) {
    if (const Node* found = root.Find(name); found != nullptr && found->kind != Node::Kind::kEmpty) return found;
  }
  return nullptr;
}

bool RecognisesRos(const Source& source) {
  if (IsRosIni(source)) return true;
  const Node& root = source.root;
  // rtabmap has the same names in a file of OpenCV's.
  if (absl::StartsWith(source.text, "%YAML") || absl::StrContains(source.text, "opencv-matrix")) return false;
  const bool is_message = root.Find("camera_matrix") == nullptr;
  if (is_message && root.Find("height") == nullptr) return false;
  const bool has_p = FindAny(root, kNamesOfP) != nullptr, has_r = FindAny(root, kNamesOfR) != nullptr;
  return FindAny(root, kNamesOfK) != nullptr && (has_p || (has_r && !is_message)) &&
         root.Find("local_transform") == nullptr;
}

// The numbers of a field: none if it is missing or all 0, which says as much.
absl::StatusOr<std::vector<double>> ReadMatrix(const Source& source, Names names, int count,
                                               std::vector<std::string>* warnings) {
  const Node* node = FindAny(source.root, names);
  if (node == nullptr) return std::vector<double>();
  GLINT_ASSIGN_OR_RETURN(std::vector<double> numbers, Numbers(source, source.root, node->name, count));
  if (node->Find("rows") != nullptr && node->Find("cols") != nullptr) {
    GLINT_ASSIGN_OR_RETURN(const double rows, Number(source, source.root, absl::StrCat(node->name, "/rows")));
    GLINT_ASSIGN_OR_RETURN(const double columns, Number(source, source.root, absl::StrCat(node->name, "/cols")));
    if (rows * columns != static_cast<double>(numbers.size())) {
      warnings->push_back(
          FieldWarning(source, node->name,
                       absl::StrCat(rows, " x ", columns, " by rows and cols, but has ", numbers.size(), " numbers")));
    }
  }
  const bool zero = std::all_of(numbers.begin(), numbers.end(), [](double x) { return x == 0; });
  if (zero && count != 0) numbers.clear();
  return numbers;
}

// The model's name, where the file has it or where others write it, or by the number of coefficients.
std::string ModelName(const Source& source, size_t coefficients, std::vector<std::string>* warnings) {
  std::string model = Text(source.root, "distortion_model");
  if (!model.empty()) return model;
  model = Text(source.root, "camera_model");
  if (model.empty() || model == "pinhole") model = coefficients == 8 ? "rational_polynomial" : "plumb_bob";
  warnings->push_back(FieldWarning(source, "distortion_model", absl::StrCat("is missing: ", model, " was taken")));
  return model;
}

absl::Status ReadSize(const Source& source, const ReadOptions& options, Shape* image) {
  const bool in_file = source.root.Find("image_width") != nullptr;
  const char *width_name = in_file ? "image_width" : "width", *height_name = in_file ? "image_height" : "height";
  GLINT_ASSIGN_OR_RETURN(const double width, NumberOr(source, source.root, width_name, 0));
  GLINT_ASSIGN_OR_RETURN(const double height, NumberOr(source, source.root, height_name, 0));
  *image = options.image;
  if (width == 0 && height == 0) return absl::OkStatus();
  GLINT_ASSIGN_OR_RETURN(*image, ImageSize(source, absl::StrCat(width_name, ", ", height_name), width, height));
  return absl::OkStatus();
}

std::string FileName(const Source& source) {
  const std::vector<absl::string_view> parts = absl::StrSplit(source.path, '/');
  return std::string(parts.back().substr(0, parts.back().rfind('.')));
}

// "narrow_stereo/left"; else the frame of the message, or the file's name.
std::string CameraName(const Source& source) {
  for (const char* path : {"camera_name", "header/frame_id"}) {
    if (std::string name = Text(source.root, path); !name.empty()) return name;
  }
  return FileName(source);
}

bool AreSame(const RigCamera& a, const RigCamera& b) {
  const Camera &c = a.camera, &d = b.camera;
  return c.fx == d.fx && c.fy == d.fy && c.cx == d.cx && c.cy == d.cy && c.lens == d.lens &&
         a.projection == b.projection && a.rectified_from_camera == b.rectified_from_camera;
}

absl::StatusOr<RigCamera> ReadRosCamera(const Source& source, const ReadOptions& options,
                                        std::vector<std::string>* warnings) {
  RigCamera camera;
  camera.name = CameraName(source);
  GLINT_ASSIGN_OR_RETURN(const std::vector<double> k, ReadMatrix(source, kNamesOfK, 9, warnings));
  GLINT_ASSIGN_OR_RETURN(const std::vector<double> r, ReadMatrix(source, kNamesOfR, 9, warnings));
  GLINT_ASSIGN_OR_RETURN(const std::vector<double> p, ReadMatrix(source, kNamesOfP, 12, warnings));
  GLINT_ASSIGN_OR_RETURN(const std::vector<double> d, ReadMatrix(source, kNamesOfD, 0, warnings));
  const Node* const k_node = FindAny(source.root, kNamesOfK);
  if (k_node == nullptr) {
    return FieldError(source, "camera_matrix", absl::StrCat("of ", camera.name, " is missing"));
  }
  const std::string& k_name = k_node->name;
  const Node *r_node = FindAny(source.root, kNamesOfR), *p_node = FindAny(source.root, kNamesOfP);
  if (r.empty() && r_node != nullptr) {
    warnings->push_back(FieldWarning(source, r_node->name, "is all 0: no rotation was taken"));
  }
  if (!p.empty()) {
    GLINT_RETURN_IF_ERROR(
        SetRectification(source, r_node == nullptr ? "R" : r_node->name, r, p_node->name, p, &camera));
  }
  if (!k.empty()) {
    GLINT_RETURN_IF_ERROR(SetIntrinsics(source, k_name, k, &camera.camera));
    const std::string model = ModelName(source, d.size(), warnings);
    const Node* d_node = FindAny(source.root, kNamesOfD);
    GLINT_RETURN_IF_ERROR(
        SetNamedLens(source, "distortion_model", model, d_node == nullptr ? "D" : d_node->name, d, &camera.camera));
  } else if (camera.projection) {
    warnings->push_back(
        FieldWarning(source, k_name, absl::StrCat("is all 0: the images are taken for rectified, by ", p_node->name)));
    camera.camera = PinholeOf(*camera.projection);
    camera.rectified_from_camera = Eigen::Matrix3d::Identity();
  } else {
    return FieldError(source, k_name, "is all 0: the camera is not calibrated");
  }
  GLINT_RETURN_IF_ERROR(ReadSize(source, options, &camera.camera.image));
  return camera;
}

absl::StatusOr<Calibration> ReadRos(absl::Span<const Source> files, const ReadOptions& options) {
  std::vector<Source> sources;  // one for each camera
  for (const Source& file : files) {
    const std::vector<Source> cameras = IsRosIni(file) ? CamerasOfRosIni(file) : std::vector<Source>{file};
    sources.insert(sources.end(), cameras.begin(), cameras.end());
  }
  Calibration calibration;
  std::vector<RigCamera>& cameras = calibration.rig.cameras;
  for (const Source& source : sources) {
    GLINT_ASSIGN_OR_RETURN(RigCamera camera, ReadRosCamera(source, options, &calibration.warnings));
    const auto same =
        std::find_if(cameras.begin(), cameras.end(), [&](const RigCamera& other) { return other.name == camera.name; });
    if (files.size() == 1 && same != cameras.end()) {  // what the calibrator prints, twice in one file
      if (!AreSame(*same, camera)) {
        calibration.warnings.push_back(
            FieldWarning(source, camera.name, "is in the file twice, with other numbers; the first is taken"));
      }
      continue;
    }
    if (same != cameras.end()) {  // "narrow_stereo" in both files
      same->name = FileName(sources[static_cast<size_t>(same - cameras.begin())]);
      camera.name = FileName(source);
    }
    cameras.push_back(std::move(camera));
  }
  calibration.file_for_each = files.size() == cameras.size();
  for (size_t i = 1; i < cameras.size(); ++i) {
    if (!cameras[0].projection || !cameras[i].projection) {
      return FieldError(sources[cameras[0].projection ? i : 0], "projection_matrix",
                        "is missing: nothing says where the cameras are");
    }
    const RigidTransform camera_from_first = RightFromLeft(cameras[0], cameras[i]);
    if (camera_from_first.translation.norm() == 0) {
      return FieldError(
          sources[i], "projection_matrix",
          absl::StrCat("has the centre of ", sources[0].path,
                       ": no baseline, since the last column (-fx * baseline, 0, 0) is the same in both"));
    }
    cameras[i].rig_from_camera = camera_from_first.Inverse();
  }
  FindWhetherRectified(&calibration);
  return calibration;
}

std::string RosMatrixText(absl::string_view name, int rows, int columns, absl::Span<const double> numbers) {
  return absl::StrCat(name, ":\n  rows: ", rows, "\n  cols: ", columns, "\n  data: [", Digits(numbers, ", "), "]\n");
}

std::string RosMatrixText(absl::string_view name, const Eigen::MatrixXd& matrix) {
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = matrix;
  return RosMatrixText(name, static_cast<int>(matrix.rows()), static_cast<int>(matrix.cols()),
                       absl::MakeConstSpan(rows.data(), static_cast<size_t>(rows.size())));
}

absl::StatusOr<std::string> RosCameraText(const RigCamera& rig_camera) {
  const Camera& camera = rig_camera.camera;
  const char* model = "plumb_bob";
  int coefficients = 5;
  if (camera.model == CameraModel::kRational) {
    model = "rational_polynomial";
    coefficients = 8;
  } else if (camera.model == CameraModel::kKannalaBrandt) {
    model = "equidistant";
    coefficients = 4;
  } else if (camera.model != CameraModel::kPinhole && camera.model != CameraModel::kRadialTangential) {
    return absl::InvalidArgumentError(absl::StrCat("model: ROS has no ", NameOf(camera.model), " lens"));
  }
  return absl::StrCat(
      "image_width: ", camera.image.width, "\nimage_height: ", camera.image.height, "\ncamera_name: ", rig_camera.name,
      "\n", RosMatrixText("camera_matrix", 3, 3, {camera.fx, 0, camera.cx, 0, camera.fy, camera.cy, 0, 0, 1}),
      "distortion_model: ", model, "\n",
      RosMatrixText("distortion_coefficients", 1, coefficients, absl::MakeConstSpan(camera.lens.data(), coefficients)),
      RosMatrixText("rectification_matrix", *rig_camera.rectified_from_camera),
      RosMatrixText("projection_matrix", *rig_camera.projection));
}

// Rectifications of a camera alone, or of a pair, that have none.
absl::Status Rectify(Rig* rig) {
  RigCamera& left = rig->cameras[0];
  if (rig->cameras.size() == 1) {
    left.rectified_from_camera = Eigen::Matrix3d::Identity();
    left.projection = ProjectionOf(left.camera, 0);
    return absl::OkStatus();
  }
  RigCamera& right = rig->cameras[1];
  GLINT_ASSIGN_OR_RETURN(const RectifiedPair pair,
                         RectifyPair(left.camera, right.camera, RightFromLeft(*rig), RectifyOptions()));
  left.rectified_from_camera = pair.rectified_from_left;
  right.rectified_from_camera = pair.rectified_from_right;
  left.projection = ProjectionOf(pair.camera, 0);
  right.projection = ProjectionOf(pair.camera, pair.baseline);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NamedText>> WriteRos(const Calibration& calibration) {
  Rig rig = calibration.rig;
  if (rig.cameras.empty() || rig.cameras.size() > 2) {
    return absl::InvalidArgumentError(absl::StrCat("cameras: ", rig.cameras.size(), " are not one or two"));
  }
  const bool has_rectification = std::all_of(rig.cameras.begin(), rig.cameras.end(), [](const RigCamera& camera) {
    return camera.rectified_from_camera && camera.projection;
  });
  if (!has_rectification) GLINT_RETURN_IF_ERROR(Rectify(&rig));
  std::vector<NamedText> files;
  for (size_t i = 0; i < rig.cameras.size(); ++i) {
    GLINT_ASSIGN_OR_RETURN(std::string text, RosCameraText(rig.cameras[i]));
    files.push_back({i == 0 ? "left.yaml" : "right.yaml", std::move(text)});
  }
  return files;
}

}  // namespace

const Format kRos = {"ros", "ROS CameraInfo, oST .ini", RecognisesRos, ReadRos, WriteRos};

}  // namespace glint::calibration
