#include "server/operations/match/match_reply.h"

#include <algorithm>

#include "glint/v1/matching.pb.h"
#include "server/wire/envelope_reply.h"
#include "server/wire/reply_writer.h"

namespace glint {
namespace {

using reply::BytesOf;
using reply::FeaturesWriter;
using reply::MessageSize;
using reply::NewSlice;
using reply::PackedVarints;
using reply::VarintFieldSize;
using reply::WriteMessage;
using reply::Writer;

static_assert(kHasEnvelope<v1::MatchStreamResponse>);
// A call writes timings as those of a DetectResponse.
static_assert(static_cast<int>(v1::MatchResponse::kTimingsFieldNumber) == v1::DetectResponse::kTimingsFieldNumber);

// A serialized glint.v1.Matches.
class MatchesWriter {
 public:
  explicit MatchesWriter(const MatchTask& found) : found_(found) {
    const auto measure = [this](const auto& part) { size_ += part.size(); };
    ForEachArray(measure);
    size_ +=
        VarintFieldSize(static_cast<uint64_t>(found.queries)) + VarintFieldSize(static_cast<uint64_t>(found.trains));
  }
  size_t size() const { return size_; }
  void Write(Writer* out) const {
    ForEachArray([out](const auto& part) { part.Write(out); });
    out->VarintField(v1::Matches::kQueriesFieldNumber, static_cast<uint64_t>(found_.queries));
    out->VarintField(v1::Matches::kTrainsFieldNumber, static_cast<uint64_t>(found_.trains));
  }

 private:
  template <typename Visit>
  void ForEachArray(Visit visit) const {
    const MatchResult& m = *found_.matches;
    const auto each = [&m](auto value_of) {
      return [&m, value_of](auto take) {
        for (size_t i = 0; i < m.index.size(); ++i) {
          if (m.index[i] != kNoMatch) take(static_cast<uint64_t>(value_of(i)));
        }
      };
    };
    const size_t k = static_cast<size_t>(std::max(m.k, 1));
    visit(PackedVarints(v1::Matches::kQueryFieldNumber, each([k](size_t i) { return i / k; })));
    visit(PackedVarints(v1::Matches::kTrainFieldNumber, each([&m](size_t i) { return m.index[i]; })));
    visit(PackedVarints(v1::Matches::kDistanceFieldNumber, each([&m](size_t i) { return m.distance[i]; })));
  }

  const MatchTask& found_;
  size_t size_ = 0;
};

// Field numbers of the two responses; 0: not there.
struct MatchFields {
  uint32_t id, matches, query, train, match_ns;
};

grpc::Slice Serialize(const MatchFields& fields, uint64_t id, const MatchTask& task) {
  static const Features kNone;
  const MatchesWriter matches(task);
  const FeaturesWriter query(task.query_features != nullptr ? *task.query_features : kNone);
  const FeaturesWriter train(task.train_features != nullptr ? *task.train_features : kNone);
  const uint64_t match_ns = static_cast<uint64_t>(task.match_ns);
  size_t size = VarintFieldSize(id) + MessageSize(matches) + VarintFieldSize(match_ns);
  if (task.query_features != nullptr) size += MessageSize(query);
  if (task.train_features != nullptr) size += MessageSize(train);
  grpc::Slice slice = NewSlice(size);
  Writer out(BytesOf(slice));
  if (fields.id != 0) out.VarintField(fields.id, id);
  WriteMessage(fields.matches, matches, &out);
  if (task.query_features != nullptr) WriteMessage(fields.query, query, &out);
  if (task.train_features != nullptr) WriteMessage(fields.train, train, &out);
  out.VarintField(fields.match_ns, match_ns);
  return slice;
}

}  // namespace

grpc::Slice SerializeMatchReply(const MatchTask& task) {
  using R = v1::MatchResponse;
  return Serialize({0, R::kMatchesFieldNumber, R::kQueryFieldNumber, R::kTrainFieldNumber, R::kMatchNsFieldNumber}, 0,
                   task);
}

grpc::Slice SerializeMatchStreamReply(uint64_t frame_id, const MatchTask& task) {
  using R = v1::MatchStreamResponse;
  return Serialize({R::kFrameIdFieldNumber, R::kMatchesFieldNumber, R::kQueryFieldNumber, R::kTrainFieldNumber,
                    R::kMatchNsFieldNumber},
                   frame_id, task);
}

grpc::Slice SerializeEditReply(uint64_t frame_id, int set_size) {
  using R = v1::MatchStreamResponse;
  const uint64_t size = static_cast<uint64_t>(set_size);
  grpc::Slice slice = NewSlice(VarintFieldSize(frame_id) + VarintFieldSize(size));
  Writer out(BytesOf(slice));
  out.VarintField(R::kFrameIdFieldNumber, frame_id);
  out.VarintField(R::kSetSizeFieldNumber, size);
  return slice;
}

}  // namespace glint
