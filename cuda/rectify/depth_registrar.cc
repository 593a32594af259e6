#include "cuda/rectify/depth_registrar.h"

#include <array>
#include <cstddef>

#include "cuda/rectify/remap_stages.h"

namespace glint::cuda {

absl::Status DepthRegistrar::Prepare(StreamView stream, const DepthTable& table, bool in_place) {
  in_place_ = in_place;
  shape_ = table.shape;
  const auto samples = static_cast<size_t>(table.source.pixels());
  const size_t pixels =
      (static_cast<size_t>(shape_.pixels()) + kDepthsOfThread - 1) / kDepthsOfThread * kDepthsOfThread;
  GLINT_RETURN_IF_ERROR(Grow(stream, in_place ? 0 : samples * sizeof(uint16_t), &source_));
  GLINT_RETURN_IF_ERROR(Grow(stream, samples * sizeof(uint16_t), &staging_));
  GLINT_RETURN_IF_ERROR(Grow(stream, pixels * sizeof(uint32_t), &nearest_));
  GLINT_RETURN_IF_ERROR(Grow(stream, pixels * sizeof(uint16_t), &result_));
  if (tables_.Has(table.id)) return absl::OkStatus();
  const auto part = [](const std::vector<float>& values) {
    return TablePlaces::Part{values.data(), values.size() * sizeof(float)};
  };
  return tables_.Put(stream, table.id, {part(table.x), part(table.y), part(table.w), part(table.centre_w)});
}

absl::Status DepthRegistrar::Enqueue(StreamView stream, const DepthTable& table, const DepthSensor& sensor) const {
  const std::array<float, 3> offset = table.OffsetIn(sensor.unit);
  RegisterParams params{};
  params.x = reinterpret_cast<const float*>(tables_.data());
  params.y = params.x + table.x.size();
  params.w = params.y + table.y.size();
  params.centre_w = params.w + table.w.size();
  for (size_t i = 0; i < 3; ++i) params.offset[i] = offset[i];
  params.measured = MeasuredSamples(sensor);
  params.source = reinterpret_cast<const uint16_t*>(in_place_ ? staging_.device_data() : source_.data());
  params.source_shape = table.source;
  params.nearest = reinterpret_cast<uint32_t*>(nearest_.data());
  params.to = reinterpret_cast<uint16_t*>(result_.device_data());
  params.shape = shape_;
  return RegisterDepth(stream, params);
}

DepthView DepthRegistrar::registered(double unit) const {
  return ViewOf(reinterpret_cast<const uint16_t*>(result_.data()), shape_, {unit, 0, 0});
}

}  // namespace glint::cuda
