#include "client/matching.h"

#include <utility>

#include "client/matching_impl.h"
#include "client/matching_wire.h"
#include "client/rig_wire.h"
#include "client/wire.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::client {
namespace {

// Of a MatchPair or a MatchRequest. Conditions have the length of the queries, so these must be descriptors.
template <typename Wire>
absl::Status SetPair(const MatchSide& query, const MatchSide& train, const QueryConditions& c, Wire* wire) {
  GLINT_RETURN_IF_ERROR(ToWire("query", query, wire->mutable_query()));
  GLINT_RETURN_IF_ERROR(ToWire("train", train, wire->mutable_train()));
  const bool has_conditions =
      c.x != nullptr || c.y != nullptr || c.radius != nullptr || c.min_octave != nullptr || c.max_octave != nullptr;
  if (!has_conditions) {
    wire->clear_conditions();
    return absl::OkStatus();
  }
  if (!query.set.empty() || query.image.kind != ImageInput::Kind::kNone) {
    return ContradictionError("conditions", "are of queries that are descriptors in the call");
  }
  ToWire(c, query.descriptors.rows.count, wire->mutable_conditions());
  return absl::OkStatus();
}

absl::Status MatchesFromWire(const v1::Matches& wire, int k, MatchFound* found) {
  found->trains = wire.trains();
  MatchResult& m = found->matches;
  const auto broken = [&m] {
    m.Reset(0, 0);
    return absl::InternalError("matches: the server's arrays contradict each other");
  };
  if (wire.train_size() != wire.query_size() || wire.distance_size() != wire.query_size() || wire.queries() < 0 ||
      wire.queries() > kMaxMatchDescriptors || wire.trains() < 0) {
    return broken();
  }
  const auto queries = static_cast<uint32_t>(wire.queries()), trains = static_cast<uint32_t>(wire.trains());
  m.Reset(wire.queries(), k);
  for (int i = 0, place = 0; i < wire.query_size(); ++i) {
    place = i > 0 && wire.query(i) == wire.query(i - 1) ? place + 1 : 0;
    const bool in_order = i == 0 || wire.query(i) >= wire.query(i - 1);
    if (!in_order || place >= k || wire.query(i) >= queries || wire.train(i) >= trains) return broken();
    const size_t at = static_cast<size_t>(wire.query(i)) * static_cast<size_t>(k) + static_cast<size_t>(place);
    m.index[at] = static_cast<int32_t>(wire.train(i));
    m.distance[at] = static_cast<int32_t>(wire.distance(i));
  }
  return absl::OkStatus();
}

// What answers depend on, of MatchSettings.
struct Asked {
  explicit Asked(const MatchSettings& settings)
      : k(settings.match.k),
        query_rays(settings.query_camera.has_value()),
        train_rays(settings.train_camera.has_value()) {}
  int k;
  bool query_rays, train_rays;
};

// Of a MatchResponse or a MatchStreamResponse.
template <typename Response>
absl::Status FindingsOf(const Response& response, const Asked& asked, MatchFound* found) {
  const v1::MatchResult& result = response.result();
  GLINT_RETURN_IF_ERROR(FromWire(result.query(), asked.query_rays, &found->query, &found->query_rays));
  GLINT_RETURN_IF_ERROR(FromWire(result.train(), asked.train_rays, &found->train, &found->train_rays));
  FromWire(response.timings(), &found->timings);
  found->warnings = FromWire(response.warnings());
  return MatchesFromWire(result.matches(), asked.k, found);
}

absl::Status ReadStereo(const v1::StereoStreamResponse& response, absl::Duration round_trip, StereoAnswer* answer) {
  const v1::StereoResult& result = response.result();
  GLINT_RETURN_IF_ERROR(FromWire(result.left(), &answer->left));
  const v1::StereoMatches& m = result.matches();
  const int count = m.left_size();
  bool fits = m.right_x_size() == count && m.disparity_size() == count && m.distance_size() == count &&
              (m.depth_size() == count || m.depth_size() == 0);
  for (int i = 0; i < count && fits; ++i) fits = m.left(i) < answer->left.count();
  if (!fits) return absl::InternalError("matches: the server's arrays contradict each other");
  Assign(m.left(), &answer->left_index);
  Assign(m.right_x(), &answer->right_x);
  Assign(m.disparity(), &answer->disparity);
  Assign(m.depth(), &answer->depth);
  Assign(m.distance(), &answer->distance);
  answer->warnings = FromWire(result.warnings());
  answer->right_keypoints = result.right_keypoints();
  answer->rectified = std::nullopt;
  if (result.has_rectified()) {
    GLINT_ASSIGN_OR_RETURN(answer->rectified, FromWire(result.rectified()));
  }
  FromWire(response.timings(), &answer->timings);
  answer->round_trip = round_trip;
  return absl::OkStatus();
}

}  // namespace

DescriptorInput::DescriptorInput(const Features& f)
    : rows({f.descriptors.data(), static_cast<int>(f.count()), f.descriptor_bytes}),
      keypoints(
          {f.x.data(), f.y.data(), f.octave.data(), f.count() > 0 && f.angle[0] >= 0 ? f.angle.data() : nullptr}) {}

absl::StatusOr<MatchFound> MatchOnce(v1::FeatureMatching::Stub* stub, grpc::ClientContext* context,
                                     const MatchSettings& settings, const MatchSide& query, const MatchSide& train,
                                     const QueryConditions& conditions, const GrayRange& gray_range) {
  v1::MatchRequest request;
  if (gray_range.wanted()) ToWire(gray_range, request.mutable_gray_range());
  ToWire(settings.detector, kMatchDefaults, request.mutable_detector());
  ToWire(settings, request.mutable_match());
  SetCameras(settings, &request);
  GLINT_RETURN_IF_ERROR(SetPair(query, train, conditions, &request));
  v1::MatchResponse response;
  if (grpc::Status s = stub->Match(context, request, &response); !s.ok()) return FromGrpc(s);
  MatchFound found;
  GLINT_RETURN_IF_ERROR(FindingsOf(response, Asked(settings), &found));
  return found;
}

MatchStream::Impl::Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, const MatchStreamOptions& options,
                        MatchCallback callback)
    : StreamImpl(
          channel, options.in_flight, std::move(callback),
          [asked = Asked(options.settings)](const auto& response, absl::Duration round_trip, MatchAnswer* answer) {
            MatchFound& found = answer->found;
            GLINT_RETURN_IF_ERROR(FindingsOf(response, asked, &found));
            found.set_size = response.set().descriptors();
            found.round_trip = round_trip;
            return absl::OkStatus();
          }) {}

absl::Status MatchStream::Impl::Open(const MatchStreamOptions& options) {
  v1::MatchStreamRequest first;
  ToWire(options, first.mutable_options());
  return core.Open(stub->MatchStream(&core.context), first);
}

MatchStream::MatchStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MatchStream::~MatchStream() = default;

absl::Status MatchStream::Write(uint64_t frame_id, const MatchSide& query, const MatchSide& train,
                                const QueryConditions& conditions) {
  return impl_->core.Write(frame_id, [&](v1::MatchStreamRequest* request, FrameSlots* slots) {
    v1::MatchPair* const pair = request->mutable_pair();
    pair->set_frame_id(frame_id);
    *slots = {query.image.slot, train.image.slot};
    return SetPair(query, train, conditions, pair);
  });
}

absl::Status MatchStream::UpdateSet(uint64_t frame_id, const SetUpdate& update) {
  return impl_->core.Write(frame_id, [&](v1::MatchStreamRequest* request, FrameSlots*) {
    v1::UpdateSet* const wire = request->mutable_update_set();
    wire->Clear();
    wire->set_frame_id(frame_id);
    wire->set_set(update.set);
    wire->mutable_remove()->Add(update.remove.begin(), update.remove.end());
    if (update.add.rows.bytes > 0) ToWire(update.add, wire->mutable_add());
    return absl::OkStatus();
  });
}

absl::Status MatchStream::ForgetSet(uint64_t frame_id, const std::string& set) {
  return impl_->core.Write(frame_id, [&](v1::MatchStreamRequest* request, FrameSlots*) {
    request->mutable_forget_set()->set_frame_id(frame_id);
    request->mutable_forget_set()->set_set(set);
    return absl::OkStatus();
  });
}

absl::Status MatchStream::Finish() { return impl_->core.Finish(); }
void MatchStream::Cancel() { impl_->core.Cancel(); }

StereoStream::Impl::Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, const StereoStreamOptions& options,
                         StereoCallback callback)
    : StreamImpl(channel, options.in_flight, std::move(callback), ReadStereo) {}

absl::Status StereoStream::Impl::Open(const StereoStreamOptions& options) {
  v1::StereoStreamRequest first;
  GLINT_RETURN_IF_ERROR(ToWire(options, first.mutable_options()));
  return core.Open(stub->StereoStream(&core.context), first);
}

StereoStream::StereoStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StereoStream::~StereoStream() = default;

absl::Status StereoStream::Write(uint64_t frame_id, const ImageInput& left, const ImageInput& right,
                                 int64_t left_time_ns, int64_t right_time_ns, const ImageInput& mask,
                                 const ImageInput& right_mask) {
  return impl_->core.Write(frame_id, [&](v1::StereoStreamRequest* request, FrameSlots* slots) {
    v1::StereoPair* const pair = request->mutable_pair();
    pair->set_frame_id(frame_id);
    pair->set_left_time_ns(left_time_ns);
    pair->set_right_time_ns(right_time_ns);
    *slots = {left.slot, right.slot};
    GLINT_RETURN_IF_ERROR(ToWire(left, right, pair));
    return SetMasks("", mask, right_mask, slots, pair);
  });
}

absl::Status StereoStream::Finish() { return impl_->core.Finish(); }
void StereoStream::Cancel() { impl_->core.Cancel(); }

}  // namespace glint::client
