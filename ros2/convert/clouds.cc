#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "absl/types/span.h"
#include "ros/little_endian.h"
#include "ros2/convert/messages.h"

namespace glint::ros2 {
namespace {

using ros::PointField;

constexpr uint8_t kFloat = PointField::kFloat32;
// Pixels; what a refined disparity is known to, as slam/estimate/local_map.h has it.
constexpr float kDisparityStep = 0.15F;

struct Column {
  const char* name;
  uint32_t offset;
  uint8_t type;
};

template <class T>
void Put(uint8_t* at, T value) {
  ros::PutLittleEndian(value, at);
}

void Put(uint8_t* at, std::initializer_list<float> values) {
  for (const float value : values) {
    Put(at, value);
    at += sizeof(value);
  }
}

// A cloud of `count` points without a grid, whose bytes are 0.
void Begin(absl::Span<const Column> columns, uint32_t point_step, size_t count, int64_t stamp_ns,
           const std::string& frame_id, std::vector<uint8_t>* data, ros::PointCloud2* message) {
  message->header = HeaderOf(stamp_ns, frame_id);
  message->height = 1;
  message->width = static_cast<uint32_t>(count);
  message->fields.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    PointField& field = message->fields[i];
    field.name = columns[i].name;
    field.offset = columns[i].offset;
    field.datatype = columns[i].type;
    field.count = 1;
  }
  message->is_bigendian = false;
  message->is_dense = true;
  message->point_step = point_step;
  data->assign(count * point_step, 0);
}

// Of as many of the points as were put; the others are taken off.
void End(size_t count, std::vector<uint8_t>* data, ros::PointCloud2* message) {
  data->resize(count * message->point_step);
  message->width = static_cast<uint32_t>(count);
  message->row_step = static_cast<uint32_t>(data->size());
  message->data = *data;
}

// A rectified camera, and where it is.
struct Rectified {
  int width = 0, height = 0;
  double focal_length = 0, centre_x = 0, centre_y = 0;  // pixels
  double baseline = 0;                                  // metres
  Eigen::Matrix3d left_from_rectified = Eigen::Matrix3d::Identity();
};

Rectified RectifiedOf(const client::StereoAnswer& answer, const client::StereoCamera& camera) {
  if (answer.rectified.has_value()) {
    const client::RectifiedPair& pair = *answer.rectified;
    return {pair.camera.image.width,
            pair.camera.image.height,
            pair.camera.fx,
            pair.camera.cx,
            pair.camera.cy,
            pair.baseline,
            pair.rectified_from_left.transpose()};
  }
  const std::vector<double>&left = camera.left_projection, &right = camera.right_projection;
  if (left.size() != 12) {
    return {camera.width, camera.height, camera.focal_length, camera.centre_x, camera.centre_y, camera.baseline};
  }
  const double baseline = right.size() == 12 ? (left[3] - right[3]) / left[0] : camera.baseline;
  return {camera.width, camera.height, left[0], left[2], left[6], baseline};
}

}  // namespace

void FillMapCloud(const std::vector<std::array<float, 3>>& points, const Eigen::Isometry3d& map_from_world,
                  int64_t stamp_ns, const FrameNames& frames, std::vector<uint8_t>* data, ros::PointCloud2* message) {
  Begin({{"x", 0, kFloat}, {"y", 4, kFloat}, {"z", 8, kFloat}}, 12, points.size(), stamp_ns, frames.map, data, message);
  for (size_t i = 0; i < points.size(); ++i) {
    const Eigen::Vector3d world(points[i][0], points[i][1], points[i][2]);
    const Eigen::Vector3f p = (map_from_world * world).cast<float>();
    Put(data->data() + i * message->point_step, {p.x(), p.y(), p.z()});
  }
  End(points.size(), data, message);
}

void FillKeypoints(const Features& features, int64_t stamp_ns, const FrameNames& frames, std::vector<uint8_t>* data,
                   ros::PointCloud2* message) {
  Begin({{"x", 0, kFloat},
         {"y", 4, kFloat},
         {"z", 8, kFloat},
         {"response", 12, kFloat},
         {"size", 16, kFloat},
         {"angle", 20, kFloat},
         {"octave", 24, PointField::kInt32}},
        28, features.count(), stamp_ns, frames.camera, data, message);
  for (size_t i = 0; i < features.count(); ++i) {
    uint8_t* const at = data->data() + i * message->point_step;
    Put(at, {features.x[i], features.y[i], 0, features.response[i], features.size[i], features.angle[i]});
    Put(at + 24, features.octave[i]);
  }
  End(features.count(), data, message);
}

void FillTracks(const client::TrackAnswer& answer, int64_t stamp_ns, const FrameNames& frames,
                std::vector<uint8_t>* data, ros::PointCloud2* message) {
  static constexpr Column kColumns[] = {{"x", 0, kFloat},
                                        {"y", 4, kFloat},
                                        {"z", 8, kFloat},
                                        {"camera", 12, PointField::kUint8},
                                        {"state", 13, PointField::kUint8},
                                        {"id", 16, PointField::kFloat64},
                                        {"age", 24, PointField::kInt32},
                                        {"last_x", 28, kFloat},
                                        {"last_y", 32, kFloat},
                                        {"residual", 36, kFloat},
                                        {"ray_x", 40, kFloat},
                                        {"ray_y", 44, kFloat},
                                        {"ray_z", 48, kFloat}};
  size_t count = 0;
  bool has_rays = false;
  for (const client::TrackArrays& tracks : answer.cameras) {
    count += tracks.count();
    has_rays = has_rays || !tracks.rays.x.empty();
  }
  const absl::Span<const Column> columns = kColumns;
  Begin(has_rays ? columns : columns.first(columns.size() - 3), has_rays ? 56 : 40, count, stamp_ns, frames.camera,
        data, message);
  uint8_t* at = data->data();
  for (const client::TrackArrays& tracks : answer.cameras) {
    for (size_t i = 0; i < tracks.count(); ++i) {
      Put(at, {tracks.x[i], tracks.y[i], 0});
      at[12] = static_cast<uint8_t>(tracks.camera);
      at[13] = static_cast<uint8_t>(tracks.state[i]);
      Put(at + 16, static_cast<double>(tracks.id[i]));
      Put(at + 24, tracks.age[i]);
      Put(at + 28, {tracks.last_x[i], tracks.last_y[i], tracks.residual[i]});
      if (!tracks.rays.x.empty()) Put(at + 40, {tracks.rays.x[i], tracks.rays.y[i], tracks.rays.z[i]});
      at += message->point_step;
    }
  }
  End(count, data, message);
}

void FillStereoPoints(const client::StereoAnswer& answer, const client::StereoCamera& camera, int64_t stamp_ns,
                      const FrameNames& frames, std::vector<uint8_t>* data, ros::PointCloud2* message) {
  Begin({{"x", 0, kFloat},
         {"y", 4, kFloat},
         {"z", 8, kFloat},
         {"u", 12, kFloat},
         {"v", 16, kFloat},
         {"disparity", 20, kFloat},
         {"response", 24, kFloat}},
        28, answer.disparity.size(), stamp_ns, frames.camera, data, message);
  const Rectified c = RectifiedOf(answer, camera);
  size_t count = 0;
  for (size_t i = 0; i < answer.disparity.size(); ++i) {
    const size_t k = answer.left_index[i];
    const float u = answer.left.x[k], v = answer.left.y[k], disparity = answer.disparity[i];
    if (!(disparity > 0)) continue;
    const double z = c.focal_length * c.baseline / disparity;
    if (!(z > 0 && std::isfinite(z))) continue;
    const Eigen::Vector3d seen((u - c.centre_x) / c.focal_length * z, (v - c.centre_y) / c.focal_length * z, z);
    const Eigen::Vector3f p = (c.left_from_rectified * seen).cast<float>();
    Put(data->data() + count++ * message->point_step, {p.x(), p.y(), p.z(), u, v, disparity, answer.left.response[k]});
  }
  End(count, data, message);
}

void FillDisparity(const client::StereoAnswer& answer, const client::StereoCamera& camera, int64_t stamp_ns,
                   const FrameNames& frames, std::vector<uint8_t>* data, ros::DisparityImage* message) {
  const Rectified c = RectifiedOf(answer, camera);
  const auto width = static_cast<uint32_t>(c.width), height = static_cast<uint32_t>(c.height);
  message->header = HeaderOf(stamp_ns, frames.camera);
  message->image.header = message->header;
  message->image.height = height;
  message->image.width = width;
  message->image.encoding = "32FC1";
  message->image.is_bigendian = 0;
  message->image.step = 4 * width;
  message->f = static_cast<float>(c.focal_length);
  message->t = static_cast<float>(c.baseline);
  message->valid_window = {0, 0, height, width, false};
  message->min_disparity = 0;
  message->max_disparity = static_cast<float>(width);
  message->delta_d = kDisparityStep;
  data->resize(size_t{message->image.step} * height);
  for (size_t at = 0; at < data->size(); at += 4) Put(data->data() + at, kNoDisparity);
  // From the last to the first, so that the first stays.
  for (size_t i = answer.disparity.size(); i-- > 0;) {
    const size_t k = answer.left_index[i];
    const double x = std::round(answer.left.x[k]), y = std::round(answer.left.y[k]);
    if (!(answer.disparity[i] >= 0 && x >= 0 && y >= 0 && x < width && y < height)) continue;
    const size_t pixel = static_cast<size_t>(y) * width + static_cast<size_t>(x);
    Put(data->data() + 4 * pixel, answer.disparity[i]);
  }
  message->image.data = *data;
}

}  // namespace glint::ros2
