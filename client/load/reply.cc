#include "client/load/reply.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "glint/v1/feature_detection.pb.h"
#include "glint/v1/matching.pb.h"

namespace glint::load {
namespace {

using google::protobuf::MessageLite;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

using Detected = v1::DetectStreamResponse;
using Matched = v1::MatchStreamResponse;
using Stereo = v1::StereoStreamResponse;

constexpr auto kVarint = WireFormatLite::WIRETYPE_VARINT;
constexpr auto kLengthDelimited = WireFormatLite::WIRETYPE_LENGTH_DELIMITED;

// What all answers have in the same place.
constexpr bool Same(int a, int b, int c) { return a == b && b == c; }
static_assert(Same(Detected::kFrameIdFieldNumber, Matched::kFrameIdFieldNumber, Stereo::kFrameIdFieldNumber));
static_assert(Same(Detected::kStatusFieldNumber, Matched::kStatusFieldNumber, Stereo::kStatusFieldNumber));
static_assert(Same(Detected::kTimingsFieldNumber, Matched::kTimingsFieldNumber, Stereo::kTimingsFieldNumber));
static_assert(Same(Detected::kFeaturesFieldNumber, Matched::kResultFieldNumber, Stereo::kResultFieldNumber));
static_assert(int{v1::Matches::kQueryFieldNumber} == int{v1::StereoMatches::kLeftFieldNumber});
constexpr uint32_t Part(int field) { return WireFormatLite::MakeTag(field, kLengthDelimited); }
constexpr uint32_t kId = WireFormatLite::MakeTag(Detected::kFrameIdFieldNumber, kVarint);
constexpr uint32_t kStatus = Part(Detected::kStatusFieldNumber);
constexpr uint32_t kTimings = Part(Detected::kTimingsFieldNumber);
constexpr uint32_t kAnswer = Part(Detected::kFeaturesFieldNumber);
constexpr uint32_t kX = Part(v1::ImageFeatures::kXFieldNumber);
constexpr uint32_t kMatchIndex = Part(v1::Matches::kQueryFieldNumber);

// Tags of what a pair's result has; 0: it has no such field.
struct Layout {
  uint32_t features[2];  // of which keypoints are counted
  uint32_t keypoints;    // a number of more of them
  uint32_t matches;
};
constexpr Layout kStereoLayout = {{Part(v1::StereoResult::kLeftFieldNumber), 0},
                                  WireFormatLite::MakeTag(v1::StereoResult::kRightKeypointsFieldNumber, kVarint),
                                  Part(v1::StereoResult::kMatchesFieldNumber)};
constexpr Layout kMatchLayout = {{Part(v1::MatchResult::kQueryFieldNumber), Part(v1::MatchResult::kTrainFieldNumber)},
                                 0,
                                 Part(v1::MatchResult::kMatchesFieldNumber)};

// Calls `read` with the stream limited to the next length-delimited field, which it must consume.
template <typename Read>
bool ReadInside(CodedInputStream* in, Read read) {
  uint32_t length = 0;
  if (!in->ReadVarint32(&length)) return false;
  const auto limit = in->PushLimit(static_cast<int>(length));
  const bool good = read() && in->BytesUntilLimit() == 0;  // 0 only if the bytes did not end before
  in->PopLimit(limit);
  return good;
}

bool CountKeypoints(CodedInputStream* in, int64_t* keypoints) {
  while (const uint32_t tag = in->ReadTag()) {
    if (tag == kX) {
      uint32_t length = 0;
      if (!in->ReadVarint32(&length) || !in->Skip(static_cast<int>(length))) return false;
      *keypoints += length / sizeof(float);
    } else if (!WireFormatLite::SkipField(in, tag)) {
      return false;
    }
  }
  return true;
}

// Reads a v1::Matches or StereoMatches.
bool CountMatches(CodedInputStream* in, int64_t* matches) {
  const auto count = [&] {
    for (uint32_t index = 0; in->BytesUntilLimit() > 0; ++*matches) {
      if (!in->ReadVarint32(&index)) return false;
    }
    return true;
  };
  while (const uint32_t tag = in->ReadTag()) {
    if (tag == kMatchIndex ? !ReadInside(in, count) : !WireFormatLite::SkipField(in, tag)) return false;
  }
  return true;
}

// Reads a v1::StereoResult or MatchResult.
bool CountResult(const Layout& layout, CodedInputStream* in, Reply* reply) {
  uint32_t more_keypoints = 0;
  while (const uint32_t tag = in->ReadTag()) {
    bool good = false;
    if (tag == layout.features[0] || tag == layout.features[1]) {
      good = ReadInside(in, [&] { return CountKeypoints(in, &reply->keypoints); });
    } else if (tag == layout.matches) {
      good = ReadInside(in, [&] { return CountMatches(in, &reply->matches); });
    } else if (tag == layout.keypoints) {
      good = in->ReadVarint32(&more_keypoints);
    } else {
      good = WireFormatLite::SkipField(in, tag);
    }
    if (!good) return false;
  }
  reply->keypoints += more_keypoints;
  return true;
}

bool CountAnswer(Task task, CodedInputStream* in, Reply* reply) {
  if (task == Task::kDetect) return CountKeypoints(in, &reply->keypoints);
  return CountResult(task == Task::kStereo ? kStereoLayout : kMatchLayout, in, reply);
}

}  // namespace

bool ReadReply(Task task, grpc::ByteBuffer* bytes, Reply* reply) {
  reply->frame_id = 0;
  reply->status.Clear();
  reply->timings.Clear();
  reply->keypoints = reply->matches = 0;
  grpc::ProtoBufferReader slices(bytes);
  if (!slices.status().ok()) return false;
  CodedInputStream in(&slices);
  const auto merge = [&in](MessageLite* message) { return message->MergePartialFromCodedStream(&in); };
  while (const uint32_t tag = in.ReadTag()) {
    bool good = false;
    if (tag == kId) {
      good = in.ReadVarint64(&reply->frame_id);
    } else if (tag == kStatus) {
      good = ReadInside(&in, [&] { return merge(&reply->status); });
    } else if (tag == kTimings) {
      good = ReadInside(&in, [&] { return merge(&reply->timings); });
    } else if (tag == kAnswer) {
      good = ReadInside(&in, [&] { return CountAnswer(task, &in, reply); });
    } else {
      good = WireFormatLite::SkipField(&in, tag);
    }
    if (!good) return false;
  }
  return in.ConsumedEntireMessage();
}

}  // namespace glint::load
