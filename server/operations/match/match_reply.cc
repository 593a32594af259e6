#include "server/operations/match/match_reply.h"

#include <algorithm>
#include <optional>

#include "glint/v1/matching.pb.h"
#include "server/wire/envelope_reply.h"
#include "server/wire/reply_writer.h"

namespace glint {
namespace {

using reply::FeaturesWriter;
using reply::MessageSize;
using reply::PackedVarints;
using reply::SerializeAnswer;
using reply::VarintFieldSize;
using reply::WriteMessage;
using reply::Writer;

static_assert(kHasEnvelope<v1::MatchStreamResponse>);
// One reply serves both.
static_assert(uint32_t{v1::MatchResponse::kTimingsFieldNumber} == kTimingsField);
static_assert(int{v1::MatchResponse::kResultFieldNumber} == int{v1::MatchStreamResponse::kResultFieldNumber});

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

// A serialized glint.v1.MatchResult.
class MatchResultWriter {
 public:
  explicit MatchResultWriter(const MatchTask& found) : matches_(found) {
    if (found.query_features != nullptr) query_.emplace(*found.query_features, found.query_rays);
    if (found.train_features != nullptr) train_.emplace(*found.train_features, found.train_rays);
    size_ = MessageSize(matches_);
    if (query_) size_ += MessageSize(*query_);
    if (train_) size_ += MessageSize(*train_);
  }
  size_t size() const { return size_; }
  void Write(Writer* out) const {
    WriteMessage(v1::MatchResult::kMatchesFieldNumber, matches_, out);
    if (query_) WriteMessage(v1::MatchResult::kQueryFieldNumber, *query_, out);
    if (train_) WriteMessage(v1::MatchResult::kTrainFieldNumber, *train_, out);
  }

 private:
  const MatchesWriter matches_;
  std::optional<FeaturesWriter> query_, train_;  // of images
  size_t size_ = 0;
};

// A serialized glint.v1.SetState.
class SetStateWriter {
 public:
  explicit SetStateWriter(int descriptors) : descriptors_(static_cast<uint64_t>(descriptors)) {}
  size_t size() const { return VarintFieldSize(descriptors_); }
  void Write(Writer* out) const { out->VarintField(v1::SetState::kDescriptorsFieldNumber, descriptors_); }

 private:
  const uint64_t descriptors_;
};

}  // namespace

grpc::Slice SerializeMatchReply(uint64_t frame_id, const MatchTask& task, const std::vector<Warning>& warnings) {
  using Response = v1::MatchStreamResponse;
  static_assert(int{v1::MatchResponse::kWarningsFieldNumber} == int{Response::kWarningsFieldNumber});
  return SerializeAnswer<Response>(frame_id, Response::kResultFieldNumber, MatchResultWriter(task),
                                   SerializeWarnings(Response::kWarningsFieldNumber, warnings));
}

grpc::Slice SerializeSetReply(uint64_t frame_id, int descriptors) {
  using Response = v1::MatchStreamResponse;
  return SerializeAnswer<Response>(frame_id, Response::kSetFieldNumber, SetStateWriter(descriptors));
}

}  // namespace glint
