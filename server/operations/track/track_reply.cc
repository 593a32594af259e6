#include "server/operations/track/track_reply.h"

#include "glint/v1/tracking.pb.h"
#include "server/wire/envelope_reply.h"
#include "server/wire/reply_writer.h"

namespace glint {
namespace {

using reply::BytesFieldSize;
using reply::MessageSize;
using reply::PackedVarints;
using reply::RaysWriter;
using reply::SerializeAnswer;
using reply::VarintFieldSize;
using reply::WriteMessage;
using reply::Writer;

static_assert(kHasEnvelope<v1::TrackStreamResponse>);

// A serialized glint.v1.CameraTracks.
class TracksWriter {
 public:
  TracksWriter(uint32_t camera, const CameraTracks& tracks)
      : camera_(camera), tracks_(tracks), rays_(v1::CameraTracks::kRayXFieldNumber, &tracks.rays) {
    ForEachArray([this](const auto& part) { size_ += part.size(); });
    size_ += VarintFieldSize(camera_) + VarintFieldSize(tracks_.detected) +
             kFloatFields * BytesFieldSize(tracks_.count() * sizeof(float)) + rays_.size();
  }
  size_t size() const { return size_; }
  void Write(Writer* out) const {
    using T = v1::CameraTracks;
    out->VarintField(T::kCameraFieldNumber, camera_);
    ForEachArray([out](const auto& part) { part.Write(out); });
    out->FloatsField(T::kXFieldNumber, tracks_.x);
    out->FloatsField(T::kYFieldNumber, tracks_.y);
    out->FloatsField(T::kLastXFieldNumber, tracks_.last_x);
    out->FloatsField(T::kLastYFieldNumber, tracks_.last_y);
    out->FloatsField(T::kResidualFieldNumber, tracks_.residual);
    out->FloatsField(T::kGainFieldNumber, tracks_.gain);
    out->FloatsField(T::kOffsetFieldNumber, tracks_.offset);
    out->VarintField(T::kDetectedFieldNumber, tracks_.detected);
    rays_.Write(out);
  }

 private:
  static constexpr size_t kFloatFields = 7;

  template <typename Visit>
  void ForEachArray(Visit visit) const {
    const auto each = [](const auto& values) {
      return [&values](auto take) {
        for (const auto value : values) take(static_cast<uint64_t>(value));
      };
    };
    visit(PackedVarints(v1::CameraTracks::kIdFieldNumber, each(tracks_.id)));
    visit(PackedVarints(v1::CameraTracks::kAgeFieldNumber, each(tracks_.age)));
    visit(PackedVarints(v1::CameraTracks::kStateFieldNumber, each(tracks_.state)));
    if (!tracks_.has_templates) return;
    visit(PackedVarints(v1::CameraTracks::kTemplateAgeFieldNumber, [this](auto take) {
      for (const TrackOrigin& origin : tracks_.origin) take(static_cast<uint64_t>(origin.age));
    }));
  }

  const uint32_t camera_;
  const CameraTracks& tracks_;
  const RaysWriter rays_;
  size_t size_ = 0;
};

// A serialized glint.v1.TrackResult.
class TrackResultWriter {
 public:
  TrackResultWriter(absl::Span<const CameraTracks> cameras, bool is_edit) : cameras_(cameras), is_edit_(is_edit) {
    ForEachCamera([this](const TracksWriter& part) { size_ += MessageSize(part); });
  }
  size_t size() const { return size_; }
  void Write(Writer* out) const {
    ForEachCamera([out](const TracksWriter& part) { WriteMessage(v1::TrackResult::kCamerasFieldNumber, part, out); });
  }

 private:
  template <typename Visit>
  void ForEachCamera(Visit visit) const {
    for (size_t c = 0; c < cameras_.size(); ++c) {
      if (!is_edit_ || cameras_[c].count() > 0) visit(TracksWriter(static_cast<uint32_t>(c), cameras_[c]));
    }
  }

  const absl::Span<const CameraTracks> cameras_;
  const bool is_edit_;
  size_t size_ = 0;
};

}  // namespace

grpc::Slice SerializeTrackReply(uint64_t frame_id, absl::Span<const CameraTracks> cameras, bool is_edit,
                                const std::vector<Warning>& warnings) {
  using Response = v1::TrackStreamResponse;
  return SerializeAnswer<Response>(frame_id, is_edit ? Response::kEditedFieldNumber : Response::kTracksFieldNumber,
                                   TrackResultWriter(cameras, is_edit),
                                   SerializeWarnings(Response::kWarningsFieldNumber, warnings));
}

}  // namespace glint
