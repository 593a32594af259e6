#include "client/wire.h"

#include <limits>
#include <string>

#include "features/error.h"

namespace glint::client {
namespace {

template <typename Wire>
void SetLayout(const ImageInput& image, Wire* wire) {
  wire->set_format(static_cast<v1::PixelFormat>(image.format));
  wire->set_width(static_cast<uint32_t>(image.width));
  wire->set_height(static_cast<uint32_t>(image.height));
}

// Pixels that the server reads where they are; `row` is the bytes of one row.
absl::Status ToWire(absl::string_view field, const ImageInput& image, size_t row, v1::SharedImage* wire) {
  if (image.stride < static_cast<ptrdiff_t>(row) || image.stride > std::numeric_limits<uint32_t>::max()) {
    return ContradictionError(field, absl::StrCat("a stride of ", image.stride, " does not fit shared rows of ", row));
  }
  const size_t bytes =
      static_cast<size_t>(image.stride) * static_cast<size_t>(RowsOf(image.format, image.height) - 1) + row;
  if (bytes > image.slot.bytes()) {
    return ContradictionError(field,
                              absl::StrCat("its ", bytes, " bytes are more than the slot's ", image.slot.bytes()));
  }
  SetLayout(image, wire);
  wire->set_stride(static_cast<uint32_t>(image.stride));
  wire->set_region(image.slot.region());
  wire->set_offset(image.slot.offset());
  return absl::OkStatus();
}

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

void ToWire(const DetectorOptions& o, v1::DetectorOptions* wire) {
  wire->Clear();
  wire->set_preset("orb");
  // The wire's enums count from 1.
  const auto number = [](auto choice) { return static_cast<int>(choice) + 1; };
  wire->set_pyramid(static_cast<v1::PyramidKind>(number(o.pyramid)));
  wire->set_levels(o.levels);
  wire->set_scale_factor(o.scale_factor);
  wire->set_corner_test(static_cast<v1::CornerTest>(number(o.corner_test)));
  wire->set_fast_threshold(o.fast_threshold);
  wire->set_ini_fast_threshold(o.ini_fast_threshold);
  wire->set_min_fast_threshold(o.min_fast_threshold);
  wire->set_arc_length(o.arc_length);
  wire->set_max_arc(o.max_arc);
  wire->set_score(static_cast<v1::Score>(number(o.score)));
  wire->set_suppression_radius(o.suppression_radius);
  wire->set_smooth(o.smooth);
  wire->set_harris_block(o.harris_block);
  wire->set_harris_k(o.harris_k);
  wire->set_selection(static_cast<v1::Selection>(number(o.selection)));
  wire->set_ranking(static_cast<v1::Ranking>(number(o.ranking)));
  wire->set_max_features(o.max_features);
  wire->set_edge_threshold(o.edge_threshold);
  wire->set_cell_width(o.cell_width);
  wire->set_cell_height(o.cell_height);
  wire->set_aggregation_window(o.aggregation_window);
  wire->set_response_threshold(o.response_threshold);
  wire->set_threshold_unit(static_cast<v1::ThresholdUnit>(number(o.threshold_unit)));
  wire->set_orientation(static_cast<v1::Orientation>(number(o.orientation)));
  wire->set_descriptor_kind(static_cast<v1::Descriptor>(number(o.descriptor)));
  wire->set_patch_size(o.patch_size);
  wire->set_bfrost_scale(o.bfrost_scale);
}

void ToWire(const Region& region, v1::Region* wire) {
  wire->set_x(static_cast<uint32_t>(region.x));
  wire->set_y(static_cast<uint32_t>(region.y));
  wire->set_width(static_cast<uint32_t>(region.width));
  wire->set_height(static_cast<uint32_t>(region.height));
}

absl::Status ToWire(const StreamOptions& options, v1::StreamOptions* wire) {
  ToWire(options.detector, wire->mutable_detector());
  if (options.region.wanted()) ToWire(options.region, wire->mutable_region());
  wire->set_overload_policy(static_cast<v1::OverloadPolicy>(options.overload_policy));
  wire->set_max_age_ns(absl::ToInt64Nanoseconds(options.max_age));
  if (options.mask.kind == ImageInput::Kind::kNone) return absl::OkStatus();
  return ToWire("options.mask", options.mask, wire->mutable_mask());
}

absl::Status ToWire(absl::string_view field, const ImageInput& image, v1::Image* wire) {
  if (image.kind == ImageInput::Kind::kNone) {
    return ContradictionError(field, "no image was given");
  }
  if (image.kind == ImageInput::Kind::kEncoded) {
    wire->mutable_encoded()->mutable_data()->assign(image.file.data(), image.file.size());
    return absl::OkStatus();
  }
  if (image.data == nullptr || image.width < 1 || image.height < 1) {
    return ContradictionError(field,
                              absl::StrCat(image.width, " x ", image.height, " pixels at ",
                                           image.data == nullptr ? "no address" : "some address", " are not an image"));
  }
  const size_t row = static_cast<size_t>(image.width) * BytesPerPixel(image.format);
  if (image.kind == ImageInput::Kind::kShared) return ToWire(field, image, row, wire->mutable_shared());
  v1::RawImage* raw = wire->mutable_raw();
  SetLayout(image, raw);
  const auto address = [&image](int y) { return reinterpret_cast<const char*>(image.data + y * image.stride); };
  const int rows = RowsOf(image.format, image.height);
  std::string* data = raw->mutable_data();
  if (image.stride == static_cast<ptrdiff_t>(row)) {
    data->assign(address(0), row * rows);
    return absl::OkStatus();
  }
  data->clear();
  data->reserve(row * rows);
  for (int y = 0; y < rows; ++y) data->append(address(y), row);
  return absl::OkStatus();
}

absl::Status FromWire(const v1::Features& wire, Features* features) {
  const int count = wire.x_size();
  const size_t descriptor_bytes = static_cast<size_t>(count) * wire.descriptor_bytes();
  if (wire.y_size() != count || wire.size_size() != count || wire.angle_size() != count ||
      wire.response_size() != count || wire.octave_size() != count || wire.descriptors().size() != descriptor_bytes) {
    features->Clear();
    return absl::InternalError("features: the server's arrays differ in length");
  }
  Assign(wire.x(), &features->x);
  Assign(wire.y(), &features->y);
  Assign(wire.size(), &features->size);
  Assign(wire.angle(), &features->angle);
  Assign(wire.response(), &features->response);
  Assign(wire.octave(), &features->octave);
  Assign(wire.descriptors(), &features->descriptors);
  features->descriptor_bytes = static_cast<int>(wire.descriptor_bytes());
  features->truncated = wire.truncated();
  return absl::OkStatus();
}

void FromWire(const v1::Timings& wire, Timings* timings) {
  timings->receive_ns = wire.receive_ns();
  timings->queue_ns = wire.queue_ns();
  timings->decode_ns = wire.decode_ns();
  timings->upload_ns = wire.upload_ns();
  timings->detect_ns = wire.detect_ns();
  timings->download_ns = wire.download_ns();
  timings->serialize_ns = wire.serialize_ns();
  timings->order_ns = wire.order_ns();
  timings->total_ns = wire.total_ns();
  timings->pyramid_ns = wire.pyramid_ns();
  timings->corners_ns = wire.corners_ns();
  timings->select_ns = wire.select_ns();
  timings->orient_ns = wire.orient_ns();
  timings->describe_ns = wire.describe_ns();
  timings->lane = wire.lane();
  timings->device = wire.device();
  timings->queue_depth = wire.queue_depth();
}

ServerInfo FromWire(const v1::GetServerInfoResponse& wire) {
  ServerInfo info;
  info.version = wire.version();
  info.backend = wire.backend();
  info.device = wire.device();
  info.simd = wire.simd();
  info.lanes = static_cast<int>(wire.lanes());
  info.queue_capacity_frames = static_cast<int>(wire.queue_capacity_frames());
  info.max_image_pixels = wire.limits().max_image_pixels();
  info.max_features = wire.limits().max_features();
  info.max_message_bytes = wire.limits().max_message_bytes();
  info.max_sessions = wire.limits().max_sessions();
  Assign(wire.devices(), &info.devices);
  info.memory_bound_bytes = wire.memory_bound_bytes();
  Assign(wire.presets(), &info.presets);
  info.shared_memory_socket = wire.shared_memory_socket();
  return info;
}

}  // namespace glint::client
