#include "server/rpc/frame.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "features/error.h"
#include "server/base/allocations.h"
#include "server/operations/detect/detect_reply.h"
#include "server/operations/localize/localize_convert.h"
#include "server/operations/localize/localize_reply.h"
#include "server/operations/localize/localize_work.h"
#include "server/operations/match/match_convert.h"
#include "server/operations/match/match_reply.h"
#include "server/operations/track/track_convert.h"
#include "server/operations/track/track_parser.h"
#include "server/operations/track/track_reply.h"
#include "server/operations/track/track_work.h"

namespace glint {

bool Frame::Receive(grpc::ByteBuffer* bytes) {
  message.Swap(bytes);
  grpc::ProtoBufferReader reader(&message);
  const void* data;
  int size;
  while (reader.status().ok() && reader.Next(&data, &size)) {
    if (message_pieces.size() == kMaxPieces) return Flatten();
    message_pieces.emplace_back(static_cast<const uint8_t*>(data), static_cast<size_t>(size));
  }
  return reader.status().ok();
}

bool Frame::Flatten() {
  grpc::Slice whole;
  if (!message.DumpToSingleSlice(&whole).ok()) return false;
  message = grpc::ByteBuffer(&whole, 1);
  message_pieces.assign(1, absl::Span<const uint8_t>(whole.begin(), whole.size()));  // the same bytes as the message's
  return true;
}

absl::Status Frame::Join(const std::shared_ptr<ClientAccount>& account, Metrics* metrics) {
  ClientAccount::Refusal refusal = account->Take(bytes, MonotonicNs());
  if (refusal.status.ok()) {
    client = account;
    return absl::OkStatus();
  }
  metrics->ClientRefused(refusal.limit);
  drop = DropReason::kRejected;
  retry_after_ns = refusal.retry_after_ns;
  return std::move(refusal.status);
}

void Frame::ReleaseMessage() {
  if (client != nullptr) {
    const int64_t begun_at = times.queued_at + times.queue_ns;
    client->GiveBack(bytes, times.done_at == 0 ? 0 : times.done_at - begun_at, MonotonicNs());
    client = nullptr;
  }
  image = ImageSource();
  mask = ImageSource();
  second = ImageSource();
  message_pieces.clear();
  image_bytes.Release();
  mask_bytes.Release();
  for (ImageBytes& bytes : more_bytes) bytes.Release();
  track.images.fill(ImageSource());
  detect_request.options.clear();
  match_request.detector.clear();
  match_request.options.clear();
  message.Clear();
}

grpc::ByteBuffer Frame::TakeMessage() {
  grpc::ByteBuffer bytes;
  bytes.Swap(&message);
  ReleaseMessage();
  return bytes;
}

void Frame::ReleaseAll() {
  ReleaseMessage();
  for (auto* pieces : {&message_pieces, &image_bytes.pieces, &mask_bytes.pieces, &detect_request.options}) {
    std::vector<absl::Span<const uint8_t>>().swap(*pieces);
  }
  for (ImageBytes& bytes : more_bytes) std::vector<absl::Span<const uint8_t>>().swap(bytes.pieces);
}

void Frame::ReservePieces() {
  message_pieces.reserve(kUsualPieces);
  image_bytes.pieces.reserve(kUsualPieces);
  mask_bytes.pieces.reserve(kUsualPieces);
}

absl::Status Frame::SetPixels(const WireImage& wire_image, const WireImage* wire_mask, const ImageRules& rules) {
  auto source = FromWire(wire_image, message_pieces, rules, &image_bytes);
  if (!source.ok()) return source.status();
  image = *source;
  if (wire_mask == nullptr) return absl::OkStatus();
  source = MaskFromWire(*wire_mask, message_pieces, rules, &mask_bytes);
  if (!source.ok()) return source.status();
  mask = *source;
  return absl::OkStatus();
}

namespace {

// Errors speak of "image"; here it was another field.
absl::Status AboutField(absl::string_view field, const absl::Status& status) {
  absl::string_view text = status.message();
  if (!absl::ConsumePrefix(&text, "image")) return absl::Status(status.code(), absl::StrCat(field, ": ", text));
  return absl::Status(status.code(), absl::StrCat(field, text));
}

}  // namespace

absl::Status Frame::SetSecond(const char* field, const WireImage& wire_image, const ImageRules& rules) {
  const auto source = FromWire(wire_image, message_pieces, rules, &mask_bytes);
  if (!source.ok()) return AboutField(field, source.status());
  second = *source;
  return absl::OkStatus();
}

absl::Status Frame::SetMatch(const WireMatch& wire, const WireImage& query, const WireImage& train,
                             const DescriptorSets* sets, int max_descriptors, const ImageRules& rules) {
  using Content = WireMatchSide::Content;
  work = Work::kMatch;
  match.packed = this;
  match.query.is_image = wire.query.content == Content::kImage;
  match.train.is_image = wire.train.content == Content::kImage;
  if (auto s = ValidateMatch(wire, options, max_descriptors); !s.ok()) return s;
  int64_t counts[2] = {};
  const auto find = [&](const char* field, const WireMatchSide& from, MatchRequest::Side* side, int64_t* count) {
    if (from.content == Content::kSet) {
      if (sets == nullptr) return absl::InvalidArgumentError(absl::StrCat(field, ".set: sets are kept by MatchStream"));
      const auto kept = sets->Find(absl::StrCat(field, ".set"), NameFromWire(message_pieces, from.set));
      if (!kept.ok()) return kept.status();
      side->kept = *kept;
    }
    *count = side->is_image          ? options.max_features
             : side->kept != nullptr ? side->kept->count()
                                     : static_cast<int64_t>(from.sizes.count());
    return absl::OkStatus();
  };
  if (auto s = find("query", wire.query, &match.query, &counts[0]); !s.ok()) return s;
  if (auto s = find("train", wire.train, &match.train, &counts[1]); !s.ok()) return s;
  match.pixels = MatchPixels(counts[0], counts[1]);
  pixels = std::max<int64_t>(1, match.pixels);
  if (match.query.is_image) {
    const auto source = FromWire(query, message_pieces, rules, &image_bytes);
    if (!source.ok()) return AboutField("query.image", source.status());
    image = *source;
    pixels += ExpectedPixels(image, region, static_cast<int64_t>(decode::TotalBytes(image_bytes.pieces)));
  }
  if (match.train.is_image) {
    if (auto s = SetSecond("train.image", train, rules); !s.ok()) return s;
    pixels += ExpectedPixels(second, region, static_cast<int64_t>(decode::TotalBytes(mask_bytes.pieces)));
  }
  return absl::OkStatus();
}

absl::Status Frame::SetEyes(const ImageRules& rules) {
  const WireFrame& wire = stream_request.frame;
  const auto source = FromWire(wire.image, message_pieces, rules, &image_bytes);
  if (!source.ok()) return AboutField("left", source.status());
  image = *source;
  pixels += ExpectedPixels(image, region, static_cast<int64_t>(decode::TotalBytes(image_bytes.pieces)));
  if (!wire.has_second) return absl::OkStatus();
  if (auto s = SetSecond("right", wire.second, rules); !s.ok()) return s;
  pixels += ExpectedPixels(second, region, static_cast<int64_t>(decode::TotalBytes(mask_bytes.pieces)));
  return absl::OkStatus();
}

absl::Status Frame::SetStereo(const ImageRules& rules) {
  work = Work::kStereo;
  stereo.side_by_side = !stream_request.frame.has_second;
  stereo.left_time_ns = stream_request.left_time_ns;
  stereo.right_time_ns = stream_request.right_time_ns;
  pixels = MatchPixels(options.max_features, options.max_features);
  return SetEyes(rules);
}

absl::Status Frame::SetLocalize(Localization* stream, const LocalizationOptions& stream_options,
                                const ImageRules& rules) {
  using Wanted = LocalizeRequest::Wanted;
  work = Work::kLocalize;
  localize.stream = stream;
  localize.wanted = stream_request.relocalize ? Wanted::kRelocalize : Wanted::kTrack;
  localize.time_ns = stream_request.time_ns;
  localize.depth = stream_options.depth;
  localize.camera = stream_options.camera.image;
  const bool has_depth = localize.depth.has_value(), has_right = stream_request.frame.has_second;
  if (has_depth && has_right) {
    return ContradictionError("right", "is given, but the stream's camera has `depth` in its place");
  }
  if (has_depth && !stream_request.has_depth) {
    return ContradictionError("depth", "is missing, but the stream's options say that its camera has depth");
  }
  if (!has_depth && stream_request.has_depth) {
    return ContradictionError("depth", "is given, but the stream's options say nothing of depth");
  }
  localize.side_by_side = !has_depth && !has_right;
  pixels = kPixelsOfLocation;
  if (auto s = SetEyes(rules); !s.ok() || !has_depth) return s;
  if (auto s = SetSecond("depth", stream_request.depth, rules); !s.ok()) return s;
  pixels += localize.camera.pixels();
  return absl::OkStatus();
}

absl::Status Frame::SetMap(Localization* stream, const MapDirectory& maps) {
  work = Work::kMap;
  localize.stream = stream;
  pixels = kPixelsOfLocation;
  return ParseMapRequest(message_pieces, maps, &localize);
}

absl::Status Frame::SetTrack(TrackedStream* stream, const ImageRules& rules, Metrics* metrics) {
  const WireTrack& wire = stream_request.track;
  const TrackingOptions& tracking = stream->session.options();
  track.stream = stream;
  track.time_ns = wire.time_ns;
  track.detect = wire.detect;
  if (wire.images != static_cast<size_t>(tracking.cameras)) {
    return ContradictionError("images", absl::StrCat(wire.images, ", but the stream has cameras: ", tracking.cameras));
  }
  if (absl::Status s = CheckPredictions(wire, tracking); !s.ok()) return s;
  track.predictions = wire.predictions;
  track.packed = this;
  pixels = int64_t{tracking.cameras} * tracking.target * kPixelsOfTrack;
  for (size_t c = 0; c < wire.images; ++c) {
    ImageBytes& into = c == 0 ? image_bytes : c == 1 ? mask_bytes : more_bytes[c - 2];
    const auto source = FromWire(wire.image[c], message_pieces, rules, &into);
    CountBytes(wire.image[c], into, metrics);
    if (!source.ok()) return AboutField(absl::StrCat("images[", c, "]"), source.status());
    track.images[c] = *source;
    pixels += ExpectedPixels(*source, region, static_cast<int64_t>(decode::TotalBytes(into.pieces)));
  }
  return absl::OkStatus();
}

void Frame::CountBytes(const WireImage& wire, const ImageBytes& image, Metrics* metrics) const {
  const bool shared = wire.content == WireImage::Content::kShared;
  metrics->FrameReceived(EncodingOf(wire, message_pieces), shared ? decode::TotalBytes(image.pieces) : wire.data.size);
}

void Frame::CountBytes(const WireImage* wire_image, const WireImage* wire_second, Metrics* metrics) const {
  if (wire_image != nullptr) CountBytes(*wire_image, image_bytes, metrics);
  if (wire_second != nullptr) CountBytes(*wire_second, mask_bytes, metrics);
}

absl::Status Frame::Unpack(DescriptorSet* query, DescriptorSet* train, ConditionArrays* conditions) const {
  if (stream_request.content == WireStreamRequest::Content::kFrame) {
    UnpackPair(message_pieces, query, train, conditions);
  } else {
    UnpackRequest(message_pieces, query, train, conditions);
  }
  return absl::OkStatus();
}

void Frame::Unpack(TrackPredictions* predictions) const { UnpackPredictions(message_pieces, predictions); }

void Frame::ApplyEdit(DescriptorSets* sets) {
  const int64_t start = MonotonicNs();
  times.queue_ns = start - times.queued_at;
  SetChange change;
  UnpackEdit(message_pieces, &change);
  const auto size = sets->Apply(change);
  status = size.status();
  times.done_at = MonotonicNs();
  times.decode_ns = times.done_at - start;
  if (size.ok()) reply = SerializeEditReply(stream_request.frame.frame_id, *size);
}

void Frame::ApplyTrackEdit(TrackSession* session, Metrics* metrics) {
  const int64_t start = MonotonicNs();
  times.queue_ns = start - times.queued_at;
  std::array<CameraTracks, kMaxTrackCameras> changed;
  status = glint::ApplyTrackEdit(message_pieces, session, &changed);
  times.done_at = MonotonicNs();
  times.decode_ns = times.done_at - start;
  if (!status.ok()) return;
  for (const CameraTracks& tracks : changed) metrics->TracksChanged(tracks);
  reply = SerializeTrackReply(stream_request.frame.frame_id, changed, false, 0);
}

void Frame::PackReply(const Features& features) {
  const FramePathScope frame_path;
  keypoints = features.count() + (found.second == nullptr ? 0 : found.second->count());
  reply = work == Work::kMatch ? SerializeMatchReply(*this, features) : SerializeReply(features);
  times.serialize_ns = MonotonicNs() - times.done_at;
}

void Frame::PackStreamReply(const Features& features) {
  const FramePathScope frame_path;
  const uint64_t id = stream_request.frame.frame_id;
  keypoints = features.count() + (found.second == nullptr ? 0 : found.second->count());
  switch (work) {
    case Work::kMatch:
      reply = SerializeMatchStreamReply(id, *this, features);
      break;
    case Work::kStereo:
      reply = SerializeStereoReply(id, *this, features);
      break;
    case Work::kTrack:
      reply = SerializeTrackReply(id, {tracked.cameras, static_cast<size_t>(tracked.count)}, true, times.track_ns);
      break;
    case Work::kLocalize:
    case Work::kMap:
      reply = SerializeLocalizeReply(id, located, times);
      break;
    case Work::kDetect:
    case Work::kEditSet:     // by ApplyEdit()
    case Work::kEditTracks:  // by ApplyTrackEdit()
      reply = SerializeStreamReply(id, features);
      break;
  }
  times.serialize_ns = MonotonicNs() - times.done_at;
}

template <typename Response>
grpc::ByteBuffer Frame::FinishReply(Metrics* metrics) {
  const FramePathScope frame_path;
  const int64_t now = MonotonicNs();
  const int64_t total_ns = now - times.received_at;
  if (times.done_at != 0) times.order_ns = now - times.done_at - times.serialize_ns;
  ToProto(*this, total_ns, &timings);
  metrics->PixelsCopied(copied_bytes);
  const grpc::Slice slices[] = {std::move(reply), SerializeTimings(Response::kTimingsFieldNumber, timings)};
  if (status.ok()) {
    metrics->FrameSucceeded(work, times, total_ns, keypoints);
  } else {
    metrics->FrameFailed(status.code(), total_ns, work);
    if (drop != DropReason::kNone) metrics->FrameDropped(drop);
  }
  const FramePathPause pause;
  return grpc::ByteBuffer(slices, 2);
}

template grpc::ByteBuffer Frame::FinishReply<v1::DetectResponse>(Metrics*);
template grpc::ByteBuffer Frame::FinishReply<v1::DetectStreamResponse>(Metrics*);

void Frame::Reset() {
  ReleaseMessage();
  ReservePieces();
  // Options are sent in one piece, by clients that mean well.
  if (detect_request.options.capacity() > kUsualPieces) decltype(detect_request.options)().swap(detect_request.options);
  for (ImageBytes& bytes : more_bytes) {
    if (bytes.pieces.capacity() > kUsualPieces) decltype(bytes.pieces)().swap(bytes.pieces);
  }
  static_cast<FrameRequest&>(*this) = FrameRequest();
  static_cast<FrameResult&>(*this) = FrameResult();
  cancelled = false;
  in_session = {};
  in_queue = {};
  keypoints = 0;
  reply = grpc::Slice();
  stream_response.Clear();
  stream_request.content = WireStreamRequest::Content::kNone;
}

grpc::Slice ToSlice(const google::protobuf::MessageLite& message) {
  grpc::Slice slice(message.ByteSizeLong());
  // The slice is new and not shared; its bytes are const only to readers.
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return slice;
}

FramePool::FramePool(size_t keep) : keep_(keep) {
  free_.reserve(keep);
  for (size_t i = 0; i < std::min(keep, kReady); ++i) free_.push_back(std::make_unique<Frame>());
}

std::unique_ptr<Frame> FramePool::Take() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Frame> frame = std::move(free_.back());
      free_.pop_back();
      return frame;
    }
  }
  return std::make_unique<Frame>();
}

void FramePool::Return(std::unique_ptr<Frame> frame) {
  frame->Reset();
  std::lock_guard<std::mutex> lock(mutex_);
  if (free_.size() < keep_) free_.push_back(std::move(frame));
}

}  // namespace glint
