#include "client/wire.h"

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/wrappers.pb.h>

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/rig_wire.h"
#include "features/error.h"
#include "features/option_fields.h"

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

constexpr char kErrorInfoType[] = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr char kRetryInfoType[] = "type.googleapis.com/google.rpc.RetryInfo";
constexpr char kRetryPayload[] = "glint/retry-after";  // of a status: nanoseconds, as text

ErrorInfo FromWire(const v1::ErrorInfo& wire) {
  const auto text = [&wire](const char* key) {
    const auto found = wire.metadata().find(key);
    return found != wire.metadata().end() ? found->second : std::string();
  };
  return {wire.reason(), text("field"), text("value"), text("lowest"), text("highest"), text("allowed"), text("flag")};
}

int Differences(const DetectorOptions& a, const DetectorOptions& b) {
  int count = 0;
  ForEachField([&](absl::string_view, auto member) { count += a.*member != b.*member ? 1 : 0; });
  return count;
}

// The fields of the wire have the names of option_fields.h, but for the descriptor's.
void SetDifferences(const DetectorOptions& options, const DetectorOptions& base, v1::DetectorOptions* wire) {
  const auto* const reflection = wire->GetReflection();
  ForEachField([&](absl::string_view name, auto member) {
    const auto value = options.*member;
    using T = std::decay_t<decltype(value)>;
    if (value == base.*member) return;
    const auto* const field =
        wire->GetDescriptor()->FindFieldByName(name == "descriptor" ? "descriptor_kind" : std::string(name));
    if constexpr (std::is_enum_v<T>) {
      reflection->SetEnumValue(wire, field, static_cast<int>(value) + 1);
    } else if constexpr (std::is_same_v<T, bool>) {
      reflection->SetBool(wire, field, value);
    } else if constexpr (std::is_same_v<T, int>) {
      reflection->SetInt32(wire, field, value);
    } else {
      reflection->SetFloat(wire, field, value);
    }
  });
}

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  v1::StatusDetails details;
  if (!details.ParseFromString(status.error_details())) return result;
  for (const google::protobuf::Any& detail : details.details()) {
    v1::ErrorInfo info;
    google::protobuf::BytesValue retry;  // RetryInfo has one field, with BytesValue's number
    google::protobuf::Duration delay;
    if (detail.type_url() == kErrorInfoType && info.ParseFromString(detail.value())) {
      result = WithErrorInfo(std::move(result), FromWire(info));
    } else if (detail.type_url() == kRetryInfoType && retry.ParseFromString(detail.value()) &&
               delay.ParseFromString(retry.value())) {
      const absl::Duration after = absl::Seconds(delay.seconds()) + absl::Nanoseconds(delay.nanos());
      result.SetPayload(kRetryPayload, absl::Cord(absl::StrCat(absl::ToInt64Nanoseconds(after))));
    }
  }
  return result;
}

std::optional<absl::Duration> RetryAfterOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kRetryPayload);
  int64_t nanoseconds = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &nanoseconds)) return std::nullopt;
  return absl::Nanoseconds(nanoseconds);
}

absl::Status FromWire(const v1::FrameStatus& wire) {
  absl::Status result(static_cast<absl::StatusCode>(wire.code()), wire.message());
  return wire.has_error() ? WithErrorInfo(std::move(result), FromWire(wire.error())) : result;
}

void ToWire(const DetectorOptions& options, const DetectorDefaults& defaults, v1::DetectorOptions* wire) {
  wire->Clear();
  DetectorOptions nearest = DefaultDetector(defaults);
  for (const std::string& preset : PresetNames()) {
    const DetectorOptions other = *PresetOptions(preset, defaults);
    if (Differences(options, other) >= Differences(options, nearest)) continue;
    wire->set_preset(preset);
    nearest = other;
  }
  SetDifferences(options, nearest, wire);
}

void ToWire(const GrayRange& range, v1::GrayRange* wire) {
  if (range.kind == GrayRange::Kind::kGiven) {
    wire->set_lowest(range.lowest);
    wire->set_highest(range.highest);
  } else {
    wire->set_percentile(range.percentile);
    wire->set_images(range.images);
  }
  wire->set_equalize(range.equalize);
}

void ToWire(const Region& region, v1::ImageRegion* wire) {
  wire->set_x(static_cast<uint32_t>(region.x));
  wire->set_y(static_cast<uint32_t>(region.y));
  wire->set_width(static_cast<uint32_t>(region.width));
  wire->set_height(static_cast<uint32_t>(region.height));
}

absl::Status ToWire(const StreamOptions& options, v1::DetectStreamOptions* wire) {
  ToWire(options.detector, kDetectDefaults, wire->mutable_detector());
  if (options.region.wanted()) ToWire(options.region, wire->mutable_region());
  if (options.camera.has_value()) ToWire(*options.camera, wire->mutable_camera());
  SetPolicy(options, wire);
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
  const bool has_pixels = image.data != nullptr || !image.slot.empty();
  if (!has_pixels || image.width < 1 || image.height < 1) {
    return ContradictionError(field, absl::StrCat(image.width, " x ", image.height, " pixels at ",
                                                  has_pixels ? "some address" : "no address", " are not an image"));
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

absl::Status FromWire(const v1::ImageFeatures& wire, Features* features) {
  const int count = wire.x_size();
  const size_t descriptor_bytes = static_cast<size_t>(count) * static_cast<size_t>(wire.descriptor_bytes());
  if (wire.descriptor_bytes() < 0 || wire.y_size() != count || wire.size_size() != count ||
      wire.angle_size() != count || wire.response_size() != count || wire.octave_size() != count ||
      wire.descriptors().size() != descriptor_bytes) {
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
  features->descriptor_bytes = wire.descriptor_bytes();
  features->truncated = wire.truncated();
  return absl::OkStatus();
}

absl::Status FromWire(const v1::ImageFeatures& wire, bool wanted, Features* features, Rays* rays) {
  rays->Clear();
  GLINT_RETURN_IF_ERROR(FromWire(wire, features));
  absl::Status status = FromWire(wire, wanted ? features->count() : 0, rays);
  if (!status.ok()) features->Clear();
  return status;
}

absl::Status CheckRays(size_t count, const std::array<int, 3>& sizes) {
  const auto all = [&sizes](size_t size) {
    return std::all_of(sizes.begin(), sizes.end(), [size](int s) { return s == static_cast<int>(size); });
  };
  if (all(count)) return absl::OkStatus();
  if (all(0)) return absl::InternalError("rays: the server has sent none; older ones know no cameras of keypoints");
  return absl::InternalError("rays: the server's arrays are not one for each keypoint");
}

void FromWire(const v1::Timings& wire, Timings* timings) {
  timings->receive_ns = wire.receive_ns();
  timings->queue_ns = wire.queue_ns();
  timings->decode_ns = wire.decode_ns();
  timings->upload_ns = wire.upload_ns();
  timings->detect_ns = wire.detect_ns();
  timings->match_ns = wire.match_ns();
  timings->track_ns = wire.track_ns();
  timings->locate_ns = wire.locate_ns();
  timings->adjust_ns = wire.adjust_ns();
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

std::vector<Warning> FromWire(const google::protobuf::RepeatedPtrField<v1::Warning>& wire) {
  std::vector<Warning> warnings;
  for (const v1::Warning& warning : wire) {
    const char* unit = "";
    for (const char* const known : {"px", "ms", "deg", "m/s", "1"}) {
      if (warning.unit() == known) unit = known;
    }
    warnings.push_back({static_cast<WarningKind>(warning.kind()), warning.figure(), unit, warning.text()});
  }
  return warnings;
}

ServerInfo FromWire(const v1::GetServerInfoResponse& wire) {
  ServerInfo info;
  info.version = wire.version();
  info.backend = wire.backend();
  info.device = wire.device();
  info.simd = wire.simd();
  info.lanes = wire.lanes();
  info.queue_capacity_frames = wire.queue_capacity_frames();
  const v1::ServerLimits& limits = wire.limits();
  info.limits = {limits.max_image_pixels(),
                 limits.max_features(),
                 limits.max_message_bytes(),
                 limits.max_sessions(),
                 limits.max_sessions_per_client(),
                 limits.max_in_flight(),
                 limits.max_detect_calls(),
                 limits.max_track_streams(),
                 limits.max_track_cameras(),
                 limits.max_tracks(),
                 limits.max_track_pixels(),
                 limits.max_localize_streams(),
                 limits.max_localize_pixels(),
                 limits.max_map_keyframes(),
                 limits.max_map_points(),
                 limits.max_map_bytes(),
                 absl::Nanoseconds(limits.stream_first_message_timeout_ns()),
                 absl::Nanoseconds(limits.stream_idle_timeout_ns()),
                 limits.max_shared_memory_bytes(),
                 limits.max_shared_memory_regions(),
                 limits.max_match_pairs(),
                 limits.max_rectification_bytes()};
  Assign(wire.presets(), &info.presets);
  info.shared_memory_socket = wire.shared_memory_socket();
  Assign(wire.devices(), &info.devices);
  info.memory_bound_bytes = wire.memory_bound_bytes();
  Assign(wire.methods(), &info.methods);
  info.has_cuda = wire.has_cuda();
  info.has_map_directory = wire.has_map_directory();
  info.usable_processors = wire.usable_processors();
  info.processors_source = wire.processors_source();
  info.usable_memory_bytes = wire.usable_memory_bytes();
  info.memory_source = wire.memory_source();
  info.max_threads = wire.max_threads();
  info.threads_source = wire.threads_source();
  info.has_calibration_directory = wire.has_calibration_directory();
  return info;
}

}  // namespace glint::client
