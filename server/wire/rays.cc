#include "server/wire/rays.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "features/camera/lens.h"
#include "features/error.h"
#include "glint/v1/calibration.pb.h"
#include "server/wire/camera.h"
#include "server/wire/frame_parser.h"

namespace glint {

void RaysOf(const Camera& camera, absl::Span<const float> x, absl::Span<const float> y, Rays* rays) {
  for (auto* values : {&rays->x, &rays->y, &rays->z}) values->resize(x.size());
  WithLens(camera, [&](const auto& lens) {
    for (size_t i = 0; i < x.size(); ++i) {
      Eigen::Vector3d ray;
      if (!UnprojectBy(lens, camera, {x[i], y[i]}, &ray)) ray.setZero();
      rays->x[i] = static_cast<float>(ray.x());
      rays->y[i] = static_cast<float>(ray.y());
      rays->z[i] = static_cast<float>(ray.z());
    }
  });
}

absl::Status CheckSize(absl::string_view field, Shape image, const Camera& camera) {
  if (image == camera.image) return absl::OkStatus();
  return ContradictionError(field, absl::StrCat(image.width, "x", image.height, " pixels, but its camera has ",
                                                camera.image.width, "x", camera.image.height));
}

absl::StatusOr<Camera> CameraFromWire(absl::string_view field, absl::string_view serialized) {
  if (serialized.size() > kMaxCameraBytes) return TooLargeError(field, serialized.size(), kMaxCameraBytes);
  v1::Camera proto;
  if (!proto.ParseFromArray(serialized.data(), static_cast<int>(serialized.size()))) {
    return ContradictionError(field, "not a serialized glint.v1.Camera");
  }
  return FromProto(field, proto);
}

}  // namespace glint
