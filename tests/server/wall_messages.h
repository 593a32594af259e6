// Pairs along a wall (localize_pairs.h) as a client sends them.
#ifndef GLINT_TESTS_SERVER_WALL_MESSAGES_H_
#define GLINT_TESTS_SERVER_WALL_MESSAGES_H_

#include <cstdint>
#include <cstring>
#include <string>

#include "features/types.h"
#include "glint/v1/localization.pb.h"
#include "tests/server/harness.h"
#include "tests/server/localize_pairs.h"

namespace glint::testing {

inline void SetImage(const Image& image, v1::Image* proto) {
  SetGray(image.width(), image.height(), 0, proto);
  std::string* const data = proto->mutable_raw()->mutable_data();
  for (int y = 0; y < image.height(); ++y) {
    std::memcpy(data->data() + y * image.width(), image.row(y), static_cast<size_t>(image.width()));
  }
}

inline v1::LocalizePair MakePair(const Pair& pair, int64_t time_ns) {
  v1::LocalizePair proto;
  proto.set_time_ns(time_ns);
  SetImage(pair.left, proto.mutable_left());
  SetImage(pair.right, proto.mutable_right());
  return proto;
}

inline v1::LocalizeStreamRequest Message(const v1::LocalizePair& pair) {
  v1::LocalizeStreamRequest request;
  *request.mutable_pair() = pair;
  return request;
}

inline v1::LocalizeStreamOptions WallStreamOptions(Shape shape, int features) {
  v1::LocalizeStreamOptions options;
  options.mutable_detector()->set_preset("orb");
  options.mutable_detector()->set_max_features(features);
  v1::StereoCamera* const camera = options.mutable_camera();
  camera->set_width(static_cast<uint32_t>(shape.width));
  camera->set_height(static_cast<uint32_t>(shape.height));
  camera->set_focal_length(kFocal);
  camera->set_centre_x(shape.width / 2.0);
  camera->set_centre_y(shape.height / 2.0);
  camera->set_baseline(kBaseline);
  return options;
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_WALL_MESSAGES_H_
