// COLMAP's cameras.txt, with rigs.txt or images.txt for the poses of a rig's cameras.
//
// Centres are taken as they stand. COLMAP counts pixels from the corner of the first one, so that a camera it has
// calibrated itself has its centre half a pixel less to the right and below; but most files repeat numbers that another
// program counts from the first pixel's centre, and do not say which.
#include <Eigen/Geometry>
#include <Eigen/SVD>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/lines.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

// A model: its parameters are f or fx fy, cx cy, then the lens's.
struct ColmapModel {
  const char* name;
  CameraModel model;
  int focal_lengths;
  int coefficients;
};
constexpr ColmapModel kColmapModels[] = {
    {"SIMPLE_PINHOLE", CameraModel::kPinhole, 1, 0},
    {"PINHOLE", CameraModel::kPinhole, 2, 0},
    {"SIMPLE_RADIAL", CameraModel::kRadialTangential, 1, 1},
    {"RADIAL", CameraModel::kRadialTangential, 1, 2},
    {"OPENCV", CameraModel::kRadialTangential, 2, 4},
    {"FULL_OPENCV", CameraModel::kRational, 2, 8},
    {"SIMPLE_RADIAL_FISHEYE", CameraModel::kKannalaBrandt, 1, 1},
    {"RADIAL_FISHEYE", CameraModel::kKannalaBrandt, 1, 2},
    {"OPENCV_FISHEYE", CameraModel::kKannalaBrandt, 2, 4},
    {"FOV", CameraModel::kFov, 2, 1},
    {"EUCM", CameraModel::kEucm, 2, 2},
};

enum class ColmapFile { kNone, kCameras, kRigs, kImages };

bool AreColmapNumbers(absl::Span<const absl::string_view> words) {
  return NumbersIn(absl::StrJoin(words, " ")).has_value();
}

ColmapFile ColmapKind(const Source& source) {
  const std::vector<Line> lines = LinesOf(absl::string_view(source.text).substr(0, kMaxLinesBytes));
  if (lines.empty()) return ColmapFile::kNone;
  const std::vector<absl::string_view> words = WordsOf(lines[0].text);
  int number;
  if (words.size() < 4 || !absl::SimpleAtoi(words[0], &number)) return ColmapFile::kNone;
  const absl::Span<const absl::string_view> rest(words);
  const bool upper = words[1].find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == absl::string_view::npos;
  if (upper && words.size() >= 7 && AreColmapNumbers(rest.subspan(2))) return ColmapFile::kCameras;
  if (words[2] == "CAMERA" || words[2] == "IMU") return ColmapFile::kRigs;
  if (words.size() >= 10 && AreColmapNumbers(rest.subspan(1, 8)) && !AreColmapNumbers(rest.subspan(9, 1)))
    return ColmapFile::kImages;
  return ColmapFile::kNone;
}

absl::Status ColmapError(const Source& source, const Line& line, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(source.path, ":", line.number, ": ", text));
}

absl::StatusOr<RigCamera> ReadColmapCamera(const Source& source, const Line& line) {
  const std::vector<absl::string_view> words = WordsOf(line.text);
  const ColmapModel* model = nullptr;
  for (const ColmapModel& known : kColmapModels) {
    if (words.size() > 1 && words[1] == known.name) model = &known;
  }
  if (!model) {
    return ColmapError(source, line,
                       absl::StrCat("\"", Echo(words.size() > 1 ? words[1] : ""),
                                    "\": no camera's CAMERA_ID MODEL WIDTH HEIGHT PARAMS of one of the models ",
                                    absl::StrJoin(kColmapModels, ", ", [](std::string* text, const ColmapModel& m) {
                                      absl::StrAppend(text, m.name);
                                    })));
  }
  const auto numbers = NumbersIn(absl::StrJoin(absl::MakeSpan(words).subspan(2), " "));
  const size_t count = 2 + model->focal_lengths + 2 + model->coefficients;
  if (!numbers || numbers->size() != count) {
    return ColmapError(source, line, absl::StrCat(model->name, " has WIDTH HEIGHT and ", count - 2, " parameters"));
  }
  RigCamera camera;
  camera.name = std::string(words[0]);
  GLINT_ASSIGN_OR_RETURN(camera.camera.image,
                         ImageSize(source, absl::StrCat("line ", line.number), (*numbers)[0], (*numbers)[1]));
  const double* next = numbers->data() + 2;
  camera.camera.fx = camera.camera.fy = *next++;
  if (model->focal_lengths == 2) camera.camera.fy = *next++;
  camera.camera.cx = *next++, camera.camera.cy = *next++;
  camera.camera.model = model->model;
  const bool is_of_opencv = model->model == CameraModel::kRadialTangential || model->model == CameraModel::kRational;
  if (is_of_opencv) {
    std::vector<double> d(next, next + model->coefficients);
    if (d.size() < 4) d.resize(4);
    GLINT_RETURN_IF_ERROR(SetOpenCvLens(source, model->name, d, &camera.camera));
  } else {
    std::copy(next, next + model->coefficients, camera.camera.lens.begin());
  }
  return camera;
}

// Of w x y z and a translation, as COLMAP writes it.
absl::StatusOr<RigidTransform> ReadColmapPose(const Source& source, const Line& line, const double* p) {
  const Eigen::Quaterniond q(p[0], p[1], p[2], p[3]);
  if (!(std::abs(q.norm() - 1) <= 1e-2)) {
    return ColmapError(source, line, absl::StrFormat("QW QX QY QZ have the norm %g, not 1", q.norm()));
  }
  return RigidTransform{q.normalized().toRotationMatrix(), Eigen::Vector3d(p[4], p[5], p[6])};
}

using ColmapPoses = std::vector<std::pair<std::string, RigidTransform>>;  // camera's name, rig from camera

// The first rig of several cameras whose poses are known.
absl::StatusOr<ColmapPoses> ReadColmapRigs(const Source& source) {
  for (const Line& line : LinesOf(source.text)) {
    const std::vector<absl::string_view> words = WordsOf(line.text);
    ColmapPoses poses;
    for (size_t i = 2; i + 1 < words.size();) {
      const bool is_camera = words[i] == "CAMERA", is_reference = i == 2;
      RigidTransform sensor_from_rig;
      bool has_pose = is_reference;
      const std::string name(words[i + 1]);
      i += 2;
      if (!is_reference) {
        has_pose = i < words.size() && words[i] == "1";
        const size_t end = i + (has_pose ? 8 : 1);
        if (end > words.size()) return ColmapError(source, line, "a sensor without its HAS_POSE QW QX QY QZ TX TY TZ");
        if (has_pose) {
          const auto numbers = NumbersIn(absl::StrJoin(absl::MakeSpan(words).subspan(i + 1, 7), " "));
          if (!numbers) return ColmapError(source, line, "a pose that is not QW QX QY QZ TX TY TZ");
          GLINT_ASSIGN_OR_RETURN(sensor_from_rig, ReadColmapPose(source, line, numbers->data()));
        }
        i = end;
      }
      if (is_camera && has_pose) poses.emplace_back(name, sensor_from_rig.Inverse());
    }
    if (poses.size() > 1) return poses;
  }
  return ColmapPoses{};
}

// Poses from images: those of different cameras that have one file name in different folders were taken together. Their
// relative pose is the mean.
absl::StatusOr<ColmapPoses> ReadColmapImages(const Source& source, const std::string& first,
                                             const std::string& second) {
  std::map<std::string, std::map<std::string, RigidTransform>> taken;  // by file name, then by camera
  const std::vector<Line> lines = LinesOf(source.text);
  for (const Line& line : lines) {
    const std::vector<absl::string_view> words = WordsOf(line.text);
    if (words.size() < 10 || AreColmapNumbers(absl::MakeSpan(words).subspan(9, 1))) continue;  // points of an image
    const auto numbers = NumbersIn(absl::StrJoin(absl::MakeSpan(words).subspan(1, 8), " "));
    if (!numbers) return ColmapError(source, line, "not IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME");
    const std::string name = std::vector<std::string>(absl::StrSplit(words[9], '/')).back();
    GLINT_ASSIGN_OR_RETURN(taken[name][std::string(words[8])], ReadColmapPose(source, line, numbers->data()));
  }
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Zero();
  Eigen::Vector3d translation = Eigen::Vector3d::Zero();
  int count = 0;
  for (const auto& [name, by_camera] : taken) {
    if (!by_camera.count(first) || !by_camera.count(second)) continue;
    const RigidTransform relative = by_camera.at(first) * by_camera.at(second).Inverse();
    rotation += relative.rotation, translation += relative.translation, ++count;
  }
  if (count == 0) return ColmapPoses{};
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(rotation, Eigen::ComputeFullU | Eigen::ComputeFullV);
  return ColmapPoses{{first, {}}, {second, {svd.matrixU() * svd.matrixV().transpose(), translation / count}}};
}

bool RecognisesColmap(const Source& source) { return ColmapKind(source) != ColmapFile::kNone; }

absl::StatusOr<Calibration> ReadColmap(absl::Span<const Source> sources, const ReadOptions&) {
  const Source* files[4] = {};
  for (const Source& source : sources) {
    const Source*& file = files[static_cast<int>(ColmapKind(source))];
    if (file) return FieldError(source, "cameras", absl::StrCat("a file of the kind of ", file->path));
    file = &source;
  }
  const Source *cameras_txt = files[1], *rigs_txt = files[2], *images_txt = files[3];
  if (!cameras_txt) return FieldError(sources[0], "cameras", "COLMAP's cameras.txt is missing beside it");
  std::vector<RigCamera> cameras;
  for (const Line& line : LinesOf(cameras_txt->text)) {
    GLINT_ASSIGN_OR_RETURN(cameras.emplace_back(), ReadColmapCamera(*cameras_txt, line));
  }
  ColmapPoses poses;
  if (rigs_txt) {
    GLINT_ASSIGN_OR_RETURN(poses, ReadColmapRigs(*rigs_txt));
  }
  if (poses.empty() && images_txt && cameras.size() > 1) {
    GLINT_ASSIGN_OR_RETURN(poses, ReadColmapImages(*images_txt, cameras[0].name, cameras[1].name));
  }
  Calibration calibration;
  if (poses.empty()) {
    if (cameras.size() > 1) {
      calibration.warnings.push_back(
          FieldWarning(*cameras_txt, "cameras",
                       absl::StrCat("the first of ", cameras.size(),
                                    " is taken: where the others are, rigs.txt or images.txt of its "
                                    "folder would say")));
    }
    poses = {{cameras[0].name, {}}};
  }
  for (const auto& [name, pose] : poses) {
    const RigCamera* found = nullptr;
    for (const RigCamera& camera : cameras) {
      if (camera.name == name) found = &camera;
    }
    if (!found) return FieldError(*rigs_txt, "SENSOR_ID", absl::StrCat(cameras_txt->path, " has no camera ", name));
    calibration.rig.cameras.push_back(*found);
    calibration.rig.cameras.back().rig_from_camera = pose;
  }
  calibration.unit_is_unknown = poses.size() > 1;
  FindWhetherRectified(&calibration);
  return calibration;
}

std::optional<std::string> ColmapParameters(const Camera& camera) {
  const auto& k = camera.lens;
  const std::vector<double> pinhole = {camera.fx, camera.fy, camera.cx, camera.cy};
  const auto with = [&](const char* model, const std::vector<double>& lens) {
    return absl::StrCat(model, " ", camera.image.width, " ", camera.image.height, " ", Digits(pinhole),
                        lens.empty() ? "" : " ", Digits(lens));
  };
  switch (camera.model) {
    case CameraModel::kPinhole:
      return with("PINHOLE", {});
    case CameraModel::kRadialTangential:
      if (k[4] == 0) return with("OPENCV", {k[0], k[1], k[2], k[3]});
      return with("FULL_OPENCV", {k[0], k[1], k[2], k[3], k[4], 0, 0, 0});
    case CameraModel::kRational:
      return with("FULL_OPENCV", {k.begin(), k.begin() + 8});
    case CameraModel::kKannalaBrandt:
      return with("OPENCV_FISHEYE", {k[0], k[1], k[2], k[3]});
    case CameraModel::kFov:
      return with("FOV", {k[0]});
    case CameraModel::kEucm:
      return with("EUCM", {k[0], k[1]});
    case CameraModel::kDoubleSphere:
    case CameraModel::kOmni:
    case CameraModel::kThinPrism:
      return std::nullopt;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<NamedText>> WriteColmap(const Calibration& calibration) {
  GLINT_RETURN_IF_ERROR(RequireSizes(calibration.rig, "COLMAP"));
  const std::vector<RigCamera>& cameras = calibration.rig.cameras;
  std::string cameras_txt = "# CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]\n";
  std::string rigs_txt = absl::StrCat(
      "# RIG_ID, NUM_SENSORS, REF_SENSOR_TYPE, REF_SENSOR_ID, SENSORS[] as (SENSOR_TYPE, SENSOR_ID, "
      "HAS_POSE, [QW, QX, QY, QZ, TX, TY, TZ])\n1 ",
      cameras.size(), " CAMERA 1");
  for (size_t i = 0; i < cameras.size(); ++i) {
    const auto parameters = ColmapParameters(cameras[i].camera);
    if (!parameters) {
      return absl::InvalidArgumentError(
          absl::StrCat("COLMAP has no camera model ", NameOf(cameras[i].camera.model), " of ", cameras[i].name));
    }
    absl::StrAppend(&cameras_txt, i + 1, " ", *parameters, "\n");
    if (i == 0) continue;
    const RigidTransform pose = cameras[i].rig_from_camera.Inverse() * cameras[0].rig_from_camera;
    const Eigen::Quaterniond q(pose.rotation);
    const Eigen::Vector3d& t = pose.translation;
    absl::StrAppend(&rigs_txt, " CAMERA ", i + 1, " 1 ", Digits({q.w(), q.x(), q.y(), q.z(), t.x(), t.y(), t.z()}));
  }
  return std::vector<NamedText>{{"cameras.txt", cameras_txt}, {"rigs.txt", rigs_txt + "\n"}};
}

}  // namespace

const Format kColmap = {"colmap", "COLMAP cameras.txt, rigs.txt", RecognisesColmap, ReadColmap, WriteColmap};

}  // namespace glint::calibration
