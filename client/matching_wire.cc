#include "client/matching_wire.h"

#include "client/rig_wire.h"
#include "client/wire.h"
#include "features/status_macros.h"

namespace glint::client {
namespace {

template <typename T>
void SetArray(const T* values, int count, google::protobuf::RepeatedField<T>* field) {
  field->Clear();
  if (values != nullptr && count > 0) field->Add(values, values + count);
}

// What differs from the server's defaults, which are those of StereoOptions.
void SetStereo(const StereoStreamOptions& options, v1::StereoOptions* wire) {
  const StereoStreamOptions defaults;
  const StereoOptions &o = options.stereo, &base = defaults.stereo;
  if (o.max_distance != base.max_distance) wire->set_max_distance(o.max_distance);
  if (o.band != base.band) wire->set_band(o.band);
  if (o.max_octave_difference != base.max_octave_difference) wire->set_max_octave_difference(o.max_octave_difference);
  if (o.min_disparity != base.min_disparity) wire->set_min_disparity(o.min_disparity);
  if (o.max_disparity != base.max_disparity) wire->set_max_disparity(o.max_disparity);
  if (o.cross_check != base.cross_check) wire->set_cross_check(o.cross_check);
  if (o.refine != base.refine) wire->set_refine(o.refine);
  if (o.median_cut != base.median_cut) wire->set_median_cut(o.median_cut);
  if (o.check_pair != base.check_pair) wire->set_check_pair(o.check_pair);
  wire->set_focal_length(o.focal_length);
  wire->set_baseline(o.baseline);
  if (options.max_time_difference != defaults.max_time_difference) {
    wire->set_max_time_difference_ns(absl::ToInt64Nanoseconds(options.max_time_difference));
  }
}

}  // namespace

void ToWire(const MatchSettings& settings, v1::MatchOptions* wire) {
  const MatchOptions base;
  const MatchOptions& o = settings.match;
  if (o.k != base.k) wire->set_k(o.k);
  wire->set_cross_check(o.cross_check);
  wire->set_ratio(o.ratio);
  if (o.max_distance != base.max_distance) wire->set_max_distance(o.max_distance);
  if (o.max_angle_difference != base.max_angle_difference) wire->set_max_angle_difference(o.max_angle_difference);
  wire->set_rotation_histogram(o.rotation_histogram);
  wire->set_window_radius(settings.window_radius);
  if (settings.max_octave_difference >= 0) wire->set_max_octave_difference(settings.max_octave_difference);
}

void ToWire(const DescriptorInput& from, v1::DescriptorSet* wire) {
  const int count = from.rows.count;
  wire->mutable_data()->assign(reinterpret_cast<const char*>(from.rows.data),
                               from.rows.data == nullptr ? 0 : static_cast<size_t>(count) * from.rows.bytes);
  wire->set_descriptor_bytes(from.rows.bytes);
  SetArray(from.keypoints.x, count, wire->mutable_x());
  SetArray(from.keypoints.y, count, wire->mutable_y());
  SetArray(from.keypoints.octave, count, wire->mutable_octave());
  SetArray(from.keypoints.angle, count, wire->mutable_angle());
}

absl::Status ToWire(absl::string_view field, const MatchSide& side, v1::MatchSide* wire) {
  if (!side.set.empty()) {
    wire->set_set(side.set);
    return absl::OkStatus();
  }
  if (side.image.kind != ImageInput::Kind::kNone) return ToWire(field, side.image, wire->mutable_image());
  ToWire(side.descriptors, wire->mutable_descriptors());
  return absl::OkStatus();
}

void ToWire(const QueryConditions& conditions, int count, v1::MatchConditions* wire) {
  SetArray(conditions.x, count, wire->mutable_x());
  SetArray(conditions.y, count, wire->mutable_y());
  SetArray(conditions.radius, count, wire->mutable_radius());
  SetArray(conditions.min_octave, count, wire->mutable_min_octave());
  SetArray(conditions.max_octave, count, wire->mutable_max_octave());
}

absl::Status ToWire(const ImageInput& left, const ImageInput& right, v1::StereoPair* wire) {
  GLINT_RETURN_IF_ERROR(ToWire("left", left, wire->mutable_left()));
  if (right.kind != ImageInput::Kind::kNone) return ToWire("right", right, wire->mutable_right());
  wire->clear_right();
  return absl::OkStatus();
}

void ToWire(const MatchStreamOptions& options, v1::MatchStreamOptions* wire) {
  ToWire(options.settings.detector, kMatchDefaults, wire->mutable_detector());
  ToWire(options.settings, wire->mutable_match());
  SetCameras(options.settings, wire);
  SetPolicy(options, wire);
}

absl::Status ToWire(const StereoStreamOptions& options, v1::StereoStreamOptions* wire) {
  ToWire(options.detector, kStereoDefaults, wire->mutable_detector());
  SetStereo(options, wire->mutable_stereo());
  if (options.rig.has_value()) ToWire(*options.rig, wire->mutable_rig());
  SetPolicy(options, wire);
  return SetWhereToLook(options, wire);
}

}  // namespace glint::client
