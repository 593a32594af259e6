#include "server/wire/convert.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "features/error.h"
#include "features/option_fields.h"
#include "features/server_error.h"
#include "features/status_macros.h"
#include "glint/v1/image.pb.h"
#include "server/pixels/job_pixels.h"
#include "server/wire/status_details.h"

namespace glint {
namespace {

// Converts an enum of the wire, whose values count from 1 in the order of ChoiceNames(); UNSPECIFIED keeps the preset's
// choice.
template <typename T>
absl::Status Choose(absl::string_view field, int value, T* out) {
  const std::vector<std::string>& names = ChoiceNames<T>();
  if (value == 0) return absl::OkStatus();
  if (value < 0 || value > static_cast<int>(names.size())) {
    return NotOneOfError(field, absl::StrCat(value), absl::StrCat("UNSPECIFIED, ", absl::StrJoin(names, ", ")));
  }
  *out = static_cast<T>(value - 1);
  return absl::OkStatus();
}

absl::Status ChooseStages(const v1::DetectorOptions& proto, DetectorOptions* o) {
  for (const absl::Status& status :
       {Choose("pyramid", proto.pyramid(), &o->pyramid), Choose("corner_test", proto.corner_test(), &o->corner_test),
        Choose("score", proto.score(), &o->score), Choose("selection", proto.selection(), &o->selection),
        Choose("ranking", proto.ranking(), &o->ranking),
        Choose("threshold_unit", proto.threshold_unit(), &o->threshold_unit),
        Choose("orientation", proto.orientation(), &o->orientation),
        Choose("descriptor", proto.descriptor_kind(), &o->descriptor)}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void SetNumbers(const v1::DetectorOptions& proto, DetectorOptions* o) {
  if (proto.has_levels()) o->levels = proto.levels();
  if (proto.has_scale_factor()) o->scale_factor = proto.scale_factor();
  if (proto.has_fast_threshold()) o->fast_threshold = proto.fast_threshold();
  if (proto.has_ini_fast_threshold()) o->ini_fast_threshold = proto.ini_fast_threshold();
  if (proto.has_min_fast_threshold()) o->min_fast_threshold = proto.min_fast_threshold();
  if (proto.has_arc_length()) o->arc_length = proto.arc_length();
  if (proto.has_max_arc()) o->max_arc = proto.max_arc();
  if (proto.has_suppression_radius()) o->suppression_radius = proto.suppression_radius();
  if (proto.has_smooth()) o->smooth = proto.smooth();
  if (proto.has_harris_block()) o->harris_block = proto.harris_block();
  if (proto.has_harris_k()) o->harris_k = proto.harris_k();
  if (proto.has_max_features()) o->max_features = proto.max_features();
  if (proto.has_edge_threshold()) o->edge_threshold = proto.edge_threshold();
  if (proto.has_cell_width()) o->cell_width = proto.cell_width();
  if (proto.has_cell_height()) o->cell_height = proto.cell_height();
  if (proto.has_aggregation_window()) o->aggregation_window = proto.aggregation_window();
  if (proto.has_response_threshold()) o->response_threshold = proto.response_threshold();
  if (proto.has_patch_size()) o->patch_size = proto.patch_size();
  if (proto.has_bfrost_scale()) o->bfrost_scale = proto.bfrost_scale();
}

absl::StatusOr<DetectorOptions> ReadDetector(const v1::DetectorOptions& proto, int max_features,
                                             const DetectorDefaults& defaults) {
  GLINT_ASSIGN_OR_RETURN(DetectorOptions options, PresetOptions(proto.preset(), defaults));
  options.max_features = std::min(options.max_features, max_features);
  GLINT_RETURN_IF_ERROR(ChooseStages(proto, &options));
  SetNumbers(proto, &options);
  GLINT_RETURN_IF_ERROR(ValidateOptions(options));
  if (options.max_features > max_features) {
    return LimitError("max_features", options.max_features, max_features, "--max-features");
  }
  return options;
}

constexpr int64_t kMaxAgeCeilingNs = int64_t{24} * 3600 * 1'000'000'000;

absl::Status CheckMaxAge(int64_t max_age_ns) {
  return CheckRange("max_age_ns", max_age_ns, int64_t{0}, kMaxAgeCeilingNs);
}

absl::StatusOr<OverloadPolicy> PolicyFromProto(int policy) {
  switch (policy) {
    case v1::OVERLOAD_POLICY_UNSPECIFIED:
    case v1::OVERLOAD_POLICY_BLOCK:
      return OverloadPolicy::kBlock;
    case v1::OVERLOAD_POLICY_DROP_OLDEST:
      return OverloadPolicy::kDropOldest;
    case v1::OVERLOAD_POLICY_LATEST:
      return OverloadPolicy::kLatest;
    case v1::OVERLOAD_POLICY_REJECT:
      return OverloadPolicy::kReject;
    default:
      return NotOneOfError("overload_policy", absl::StrCat(policy), "UNSPECIFIED, BLOCK, DROP_OLDEST, LATEST, REJECT");
  }
}

// The `needed` bytes that `image` refers to in a shared region.
absl::Status FindShared(const WireImage& image, decode::Pieces message, size_t needed, const ImageRules& rules,
                        ImageBytes* bytes) {
  char name[kMaxRegionPath];
  if (image.data.size > sizeof(name)) {
    return ContradictionError("image.shared.region", absl::StrCat("has more than ", sizeof(name), " bytes"));
  }
  if (image.data.size > 0) {
    decode::PieceReader reader(message.subspan(image.data.piece));
    reader.Skip(image.data.begin);
    reader.Read(image.data.size, reinterpret_cast<uint8_t*>(name));
  }
  auto region = rules.shared_memory->Find(absl::string_view(name, image.data.size), rules.reader);
  if (!region.ok()) return region.status();
  const absl::Span<const uint8_t> memory = (*region)->bytes();
  if (image.offset > memory.size() || needed > memory.size() - image.offset) {
    return ContradictionError("image.shared.offset",
                              absl::StrCat(image.offset, " and the ", needed, " bytes of a ", image.width, "x",
                                           image.height, " image go beyond the region's ", memory.size(), " bytes"));
  }
  bytes->pieces.push_back(memory.subspan(image.offset, needed));
  bytes->region = *std::move(region);
  return absl::OkStatus();
}

FrameEncoding EncodingOf(const WireImage& image, decode::Pieces message) {
  if (image.content == WireImage::Content::kRaw) return FrameEncoding::kRaw;
  if (image.content == WireImage::Content::kShared) return FrameEncoding::kShared;
  if (image.content != WireImage::Content::kEncoded) return FrameEncoding::kUnknown;
  switch (image.encoding) {
    case v1::IMAGE_ENCODING_JPEG:
    case v1::IMAGE_ENCODING_MJPEG:
      return FrameEncoding::kJpeg;
    case v1::IMAGE_ENCODING_PNG:
      return FrameEncoding::kPng;
    default:
      break;
  }
  // Detects the encoding as the decoder does: a JPEG file starts with ff, a PNG file with 89.
  if (image.data.size == 0) return FrameEncoding::kUnknown;
  decode::PieceReader reader(message.subspan(image.data.piece));
  reader.Skip(image.data.begin);
  const uint8_t first = reader.Rest()[0];
  if (first == 0xff) return FrameEncoding::kJpeg;
  return first == 0x89 ? FrameEncoding::kPng : FrameEncoding::kUnknown;
}

}  // namespace

absl::StatusOr<DetectorOptions> FromProto(const v1::DetectorOptions& proto, int max_features,
                                          const DetectorDefaults& defaults) {
  auto options = ReadDetector(proto, max_features, defaults);
  // The library's `descriptor` is descriptor_kind on the wire.
  if (!options.ok()) {
    return WithField("detector", WithFieldRenamed("descriptor", "descriptor_kind", options.status()));
  }
  return options;
}

absl::StatusOr<SessionOptions> SessionFromFields(int overload_policy, int32_t max_in_flight, int64_t max_age_ns,
                                                 const ServerOptions& server) {
  SessionOptions options;
  GLINT_ASSIGN_OR_RETURN(options.policy, PolicyFromProto(overload_policy));
  if (max_in_flight < 0) return OutOfRangeError("max_in_flight", max_in_flight, 0, server.max_in_flight);
  if (max_in_flight > server.max_in_flight) {
    return LimitError("max_in_flight", max_in_flight, server.max_in_flight, "--max-in-flight");
  }
  options.max_in_flight = max_in_flight > 0 ? max_in_flight : server.max_in_flight;
  GLINT_RETURN_IF_ERROR(CheckMaxAge(max_age_ns));
  options.max_age_ns = max_age_ns;
  return options;
}

absl::Status SetExpiry(int64_t max_age_ns, int64_t stream_max_age_ns, FrameJob* job) {
  GLINT_RETURN_IF_ERROR(CheckMaxAge(max_age_ns));
  const int64_t age = max_age_ns > 0 ? max_age_ns : stream_max_age_ns;
  job->expires_at_ns = age > 0 ? job->times.received_at + age : 0;
  return absl::OkStatus();
}

absl::StatusOr<DetectorOptions> OptionsFromWire(decode::Pieces serialized, int max_features,
                                                const DetectorDefaults& defaults) {
  const size_t bytes = decode::TotalBytes(serialized);
  if (bytes > kMaxOptionsBytes) return TooLargeError("detector", bytes, kMaxOptionsBytes);
  std::vector<uint8_t> scratch;
  v1::DetectorOptions proto;
  if (!proto.ParseFromArray(decode::Contiguous(serialized, &scratch).data(), static_cast<int>(bytes))) {
    return absl::InvalidArgumentError("detector: not a serialized glint.v1.DetectorOptions");
  }
  return FromProto(proto, max_features, defaults);
}

absl::StatusOr<GrayRange> FromWire(const WireGrayRange& wire) {
  GrayRange range;
  if (!wire.wanted) return range;
  if (wire.lowest == 0 && wire.highest == 0) {
    range.kind = GrayRange::Kind::kPercentile;
    if (wire.has_percentile) range.percentile = wire.percentile;
    if (wire.has_images) range.images = wire.images;
  } else {
    if (wire.has_percentile || wire.has_images) {
      return ContradictionError(wire.has_percentile ? "gray_range.percentile" : "gray_range.images",
                                "is of a range by percentile, but lowest and highest are given");
    }
    range = GrayRange::Given(wire.lowest, wire.highest);
  }
  range.equalize = wire.equalize;
  GLINT_RETURN_IF_ERROR(ValidateGrayRange(range));
  return range;
}

absl::StatusOr<GrayRange> FromProto(const v1::GrayRange& proto) {
  return FromWire(WireGrayRange{true, proto.lowest(), proto.highest(), proto.has_percentile(), proto.has_images(),
                                proto.percentile(), proto.images(), proto.equalize()});
}

absl::StatusOr<ImageSource> FromWire(const WireImage& image, decode::Pieces message, const ImageRules& rules,
                                     ImageBytes* bytes) {
  ImageSource source;
  const decode::RawLayout layout = {image.format, image.width, image.height, image.stride};
  bytes->Release();
  switch (image.content) {
    case WireImage::Content::kNone:
      return ContradictionError("image", "neither raw nor encoded nor shared is set");
    case WireImage::Content::kRaw: {
      const auto plan = decode::InspectRaw(layout, image.data.size, rules.max_pixels);
      if (!plan.ok()) return WithFieldRenamed("image.", "image.raw.", plan.status());
      source.raw = *plan;
      source.kind = ImageSource::Kind::kRaw;
      AppendPieces(message, image.data, &bytes->pieces);
      break;
    }
    case WireImage::Content::kShared: {
      const auto plan = decode::InspectLayout(layout, rules.max_pixels);
      if (!plan.ok()) return WithFieldRenamed("image.", "image.shared.", plan.status());
      source.raw = *plan;
      source.kind = ImageSource::Kind::kRaw;
      source.is_shared = true;
      GLINT_RETURN_IF_ERROR(FindShared(image, message, decode::BytesOf(source.raw), rules, bytes));
      break;
    }
    case WireImage::Content::kEncoded:
      source.kind = ImageSource::Kind::kEncoded;
      source.encoding = static_cast<decode::Encoding>(image.encoding);
      AppendPieces(message, image.data, &bytes->pieces);
      break;
  }
  source.bytes = bytes->pieces;
  source.range = rules.range;
  if (source.range != nullptr && source.kind == ImageSource::Kind::kRaw &&
      source.raw.format != decode::PixelFormat::kGray16) {
    return ContradictionError(
        source.is_shared ? "image.shared.format" : "image.raw.format",
        absl::StrCat(image.format, " has no grey samples of 16 bits, as GRAY16 (8), but gray_range is set"));
  }
  return source;
}

absl::StatusOr<ImageSource> MaskFromWire(const WireImage& mask, decode::Pieces message, const ImageRules& rules,
                                         ImageBytes* bytes, absl::string_view field) {
  ImageRules mask_rules = rules;
  mask_rules.range = nullptr;
  auto source = FromWire(mask, message, mask_rules, bytes);
  if (!source.ok()) return WithField(field, source.status());
  if (source->kind == ImageSource::Kind::kRaw && source->raw.format != decode::PixelFormat::kGray8) {
    return NotOneOfError(absl::StrCat(field, source->is_shared ? ".shared.format" : ".raw.format"),
                         absl::StrCat(mask.format), "GRAY8");
  }
  return source;
}

absl::Status UseRange(const WireGrayRange& wire, StreamRange* range, Message* message) {
  GLINT_ASSIGN_OR_RETURN(const GrayRange wanted, FromWire(wire));
  *range = StreamRange(wanted);
  message->rules.range = wanted.wanted() ? range : nullptr;
  return absl::OkStatus();
}

absl::StatusOr<ImageSource> LocateImage(absl::string_view field, const WireImage& image, const Message& message,
                                        size_t holder, int64_t* pixels) {
  ImageBytes& bytes = message.images[holder];
  auto source = FromWire(image, message.pieces, message.rules, &bytes);
  if (!source.ok()) return WithField(field, source.status());
  *pixels += ExpectedPixels(*source, Region(), static_cast<int64_t>(decode::TotalBytes(bytes.pieces)));
  return source;
}

absl::StatusOr<ImagePairSources> LocateImagePair(const WireImagePair& pair, const Message& message, int64_t* pixels) {
  ImagePairSources sources;
  GLINT_ASSIGN_OR_RETURN(sources.left, LocateImage("left", pair.left, message, 0, pixels));
  if (pair.has_right) {
    GLINT_ASSIGN_OR_RETURN(sources.right, LocateImage("right", pair.right, message, 1, pixels));
  }
  GLINT_ASSIGN_OR_RETURN(sources.masks, LocatePairMasks(pair, message));
  return sources;
}

absl::StatusOr<PairMaskSources> LocatePairMasks(const WireImagePair& pair, const Message& message) {
  PairMaskSources masks;
  const auto locate = [&](const WireImage& mask, size_t holder, absl::string_view field) {
    return MaskFromWire(mask, message.pieces, message.rules, &message.images[holder], field);
  };
  if (pair.has_mask) {
    GLINT_ASSIGN_OR_RETURN(masks.left, locate(pair.mask, 2, "mask"));
  }
  if (pair.has_right_mask) {
    GLINT_ASSIGN_OR_RETURN(masks.right, locate(pair.right_mask, 3, "right_mask"));
  }
  return masks;
}

absl::StatusOr<PairMaskSources> LocateStreamMasks(const OptionImages (&images)[2], const Message& first) {
  WireImagePair pair;
  pair.has_mask = images[0].count > 0;
  if (pair.has_mask) pair.mask = images[0].images[0];
  pair.has_right_mask = images[1].count > 0;
  if (pair.has_right_mask) pair.right_mask = images[1].images[0];
  return LocatePairMasks(pair, first);
}

void CountImage(const WireImage& image, const Message& message, size_t holder, Metrics* metrics) {
  const bool shared = image.content == WireImage::Content::kShared;
  metrics->FrameReceived(EncodingOf(image, message.pieces),
                         shared ? decode::TotalBytes(message.images[holder].pieces) : image.data.size);
}

void CountImagePair(const WireImagePair& pair, const Message& message, Metrics* metrics) {
  if (pair.has_left) CountImage(pair.left, message, 0, metrics);
  if (pair.has_right) CountImage(pair.right, message, 1, metrics);
}

void ToProto(const FrameJob& job, int64_t total_ns, v1::Timings* proto) {
  const FrameTimes& times = job.times;
  proto->set_receive_ns(times.receive_ns);
  proto->set_queue_ns(times.queue_ns);
  proto->set_decode_ns(times.decode_ns);
  proto->set_upload_ns(times.stages.upload_ns);
  proto->set_detect_ns(times.stages.detect_ns);
  proto->set_download_ns(times.stages.download_ns);
  proto->set_order_ns(times.order_ns);
  proto->set_serialize_ns(times.serialize_ns);
  proto->set_pyramid_ns(times.stages.pyramid_ns);
  proto->set_corners_ns(times.stages.corners_ns);
  proto->set_select_ns(times.stages.select_ns);
  proto->set_orient_ns(times.stages.orient_ns);
  proto->set_describe_ns(times.stages.describe_ns);
  proto->set_match_ns(times.match_ns);
  proto->set_track_ns(times.track_ns);
  proto->set_locate_ns(times.locate_ns);
  proto->set_adjust_ns(times.adjust_ns);
  proto->set_total_ns(total_ns);
  proto->set_lane(job.lane);
  if (job.device != nullptr) {
    proto->set_device(*job.device);
  } else {
    proto->clear_device();
  }
  proto->set_queue_depth(job.queue_depth);
}

void ToProto(const FrameJob& job, v1::FrameStatus* proto) {
  proto->set_code(static_cast<int>(job.status.code()));
  proto->set_message(std::string(job.status.message()));
  proto->set_drop_reason(static_cast<v1::DropReason>(job.drop));
  proto->set_retry_after_ns(job.retry_after_ns);
  if (const auto info = ErrorInfoOf(job.status); info.has_value()) ToProto(*info, proto->mutable_error());
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()),
                      SerializeStatusDetails(status));
}

}  // namespace glint
