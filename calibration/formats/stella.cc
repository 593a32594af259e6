// Settings of stella_vslam, and of OpenVSLAM, whose keys are flat ("Camera.fx"). focal_x_baseline is the rectified
// focal length times the baseline; StereoRectifier has the lenses of raw images, which the rectified camera of Camera
// replaces.
#include <Eigen/Core>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/matrices.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

// A section of a file: a map, or the keys that begin with its name and a point.
class StellaSection {
 public:
  StellaSection(const Source& source, std::string name)
      : source_(source), name_(std::move(name)), map_(source.root.Find(name_)) {
    nested_ = map_ != nullptr && map_->kind == Node::Kind::kMap;
  }

  std::string Key(absl::string_view key) const { return absl::StrCat(name_, nested_ ? "/" : ".", key); }
  bool Has(absl::string_view key) const { return source_.root.FindPath(Key(key)) != nullptr; }
  std::string TextOf(absl::string_view key) const { return Text(source_.root, Key(key)); }
  absl::StatusOr<double> NumberOf(absl::string_view key) const { return Number(source_, source_.root, Key(key)); }
  absl::StatusOr<double> NumberOrZero(absl::string_view key) const {
    return NumberOr(source_, source_.root, Key(key), 0);
  }
  absl::StatusOr<std::vector<double>> NumbersOf(absl::string_view key) const {
    return Numbers(source_, source_.root, Key(key), 0);
  }
  absl::Status Error(absl::string_view key, absl::string_view text) const {
    return FieldError(source_, Key(key), text);
  }

 private:
  const Source& source_;
  std::string name_;
  const Node* map_;
  bool nested_ = false;
};

bool IsStella(const Source& source) {
  const StellaSection camera(source, "Camera");
  return camera.Has("focal_x_baseline") || camera.Has("setup") || (camera.Has("model") && camera.Has("fx"));
}

// "perspective" or "fisheye".
absl::StatusOr<bool> IsStellaFisheye(const StellaSection& section, absl::string_view key) {
  const std::string model = section.TextOf(key);
  if (model == "fisheye") return true;
  if (model.empty() || model == "perspective") return false;
  return section.Error(key, absl::StrCat("'", Echo(model), "' is not one of perspective, fisheye"));
}

absl::StatusOr<Camera> StellaCamera(const Source& source, const StellaSection& section) {
  GLINT_ASSIGN_OR_RETURN(const bool is_fisheye, IsStellaFisheye(section, "model"));
  std::vector<double> k(9, 0.0), d;
  k[8] = 1;
  for (const auto& [at, name] : {std::pair(0, "fx"), {4, "fy"}, {2, "cx"}, {5, "cy"}}) {
    GLINT_ASSIGN_OR_RETURN(k[at], section.NumberOf(name));
  }
  Camera camera;
  GLINT_RETURN_IF_ERROR(SetIntrinsics(source, section.Key("fx"), k, &camera));
  if (section.Has("cols") || section.Has("rows")) {
    GLINT_ASSIGN_OR_RETURN(const double cols, section.NumberOf("cols"));
    GLINT_ASSIGN_OR_RETURN(const double rows, section.NumberOf("rows"));
    GLINT_ASSIGN_OR_RETURN(camera.image, ImageSize(source, section.Key("cols"), cols, rows));
  }
  const std::vector<const char*> names = is_fisheye ? std::vector<const char*>{"k1", "k2", "k3", "k4"}
                                                    : std::vector<const char*>{"k1", "k2", "p1", "p2", "k3"};
  for (const char* name : names) {
    d.emplace_back();
    GLINT_ASSIGN_OR_RETURN(d.back(), section.NumberOrZero(name));
  }
  GLINT_RETURN_IF_ERROR(is_fisheye ? SetFisheyeLens(source, section.Key("k1"), d, &camera)
                                   : SetOpenCvLens(source, section.Key("k1"), d, &camera));
  return camera;
}

// `eye` has the rectified camera, and gets the raw one: K_left, D_left, R_left.
absl::Status SetStellaRaw(const Source& source, const StellaSection& rectifier, bool is_fisheye, double baseline,
                          RigCamera* eye) {
  const auto key = [&](const char* matrix) { return absl::StrCat(matrix, "_", eye->name); };
  GLINT_ASSIGN_OR_RETURN(const auto k, rectifier.NumbersOf(key("K")));
  GLINT_ASSIGN_OR_RETURN(const auto d, rectifier.NumbersOf(key("D")));
  GLINT_ASSIGN_OR_RETURN(const auto r, rectifier.NumbersOf(key("R")));
  GLINT_ASSIGN_OR_RETURN(const RigidTransform turn,
                         Transform(source, rectifier.Key(key("R")), r, Eigen::Vector3d::Zero()));
  eye->rectified_from_camera = turn.rotation;
  eye->projection = ProjectionOf(eye->camera, baseline);
  GLINT_RETURN_IF_ERROR(SetIntrinsics(source, rectifier.Key(key("K")), k, &eye->camera));
  const std::string lens = rectifier.Key(key("D"));
  return is_fisheye ? SetFisheyeLens(source, lens, d, &eye->camera) : SetOpenCvLens(source, lens, d, &eye->camera);
}

absl::Status ReadStellaPair(const Source& source, const StellaSection& section, Camera camera,
                            Calibration* calibration) {
  GLINT_ASSIGN_OR_RETURN(const double bf, section.NumberOf("focal_x_baseline"));
  if (!(bf > 0)) return section.Error("focal_x_baseline", absl::StrCat(bf, " is not above 0"));
  if (camera.model != CameraModel::kPinhole) {
    calibration->warnings.push_back(FieldWarning(source, section.Key("k1"),
                                                 "the lens's coefficients are left out: the camera of a stereo setup "
                                                 "is rectified (raw images have a StereoRectifier)"));
    camera.model = CameraModel::kPinhole;
    camera.lens = {};
  }
  const double baseline = bf / camera.fx;
  Rig& rig = calibration->rig;
  rig = RectifiedRig(camera, baseline);
  const StellaSection rectifier(source, "StereoRectifier");
  if (!rectifier.Has("K_left") && !rectifier.Has("K_right")) return absl::OkStatus();
  GLINT_ASSIGN_OR_RETURN(const bool is_fisheye, IsStellaFisheye(rectifier, "model"));
  GLINT_RETURN_IF_ERROR(SetStellaRaw(source, rectifier, is_fisheye, 0, &rig.cameras[0]));
  GLINT_RETURN_IF_ERROR(SetStellaRaw(source, rectifier, is_fisheye, baseline, &rig.cameras[1]));
  rig.cameras[1].rig_from_camera = RightFromLeft(rig.cameras[0], rig.cameras[1]).Inverse();
  return absl::OkStatus();
}

absl::StatusOr<Calibration> ReadStella(absl::Span<const Source> sources, const ReadOptions& /*options*/) {
  if (sources.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(sources[0].path, " and ", sources[1].path, " have a whole rig each: name one of them"));
  }
  const Source& source = sources[0];
  const StellaSection section(source, "Camera");
  GLINT_ASSIGN_OR_RETURN(const Camera camera, StellaCamera(source, section));
  Calibration calibration;
  // A depth camera's focal_x_baseline is that of no second camera.
  const std::string setup = section.TextOf("setup");
  const bool is_depth = setup.empty() ? section.Has("depthmap_factor") || source.root.Find("depthmap_factor") != nullptr
                                      : absl::EqualsIgnoreCase(setup, "RGBD");
  const bool is_stereo =
      setup.empty() ? section.Has("focal_x_baseline") && !is_depth : absl::EqualsIgnoreCase(setup, "stereo");
  if (is_stereo) {
    GLINT_RETURN_IF_ERROR(ReadStellaPair(source, section, camera, &calibration));
  } else if (is_depth || absl::EqualsIgnoreCase(setup, "monocular") || setup.empty()) {
    RigCamera& eye = calibration.rig.cameras.emplace_back();
    eye.name = "camera";
    eye.camera = camera;
  } else {
    return section.Error("setup", absl::StrCat("'", Echo(setup), "' is not one of monocular, stereo, RGBD"));
  }
  FindWhetherRectified(&calibration);
  return calibration;
}

}  // namespace

const Format kStella = {"stella", "stella_vslam or OpenVSLAM", IsStella, ReadStella, nullptr};

}  // namespace glint::calibration
