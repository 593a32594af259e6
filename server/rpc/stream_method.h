// What tells the streams of this server from each other.
#ifndef GLINT_SERVER_RPC_STREAM_METHOD_H_
#define GLINT_SERVER_RPC_STREAM_METHOD_H_

#include "server/metrics/metrics.h"
#include "server/operations/localize/localize_parser.h"
#include "server/operations/match/match_parser.h"
#include "server/operations/track/track_parser.h"
#include "server/rpc/async_service.h"

namespace glint {

struct StreamMethod {
  AsyncService::Method async;
  Method counted;
  Work work;  // of its frames
  const char* name;
  const char* message;  // the type of its requests
  bool (*parse)(decode::Pieces message, WireStreamRequest* request);
};

inline constexpr StreamMethod kDetectStreamMethod = {
    AsyncService::kDetectStream, Method::kDetectStream, Work::kDetect, "DetectStream",
    "DetectStreamRequest",       ParseStreamRequest};
inline constexpr StreamMethod kMatchStreamMethod = {
    AsyncService::kMatchStream, Method::kMatchStream,   Work::kMatch, "MatchStream",
    "MatchStreamRequest",       ParseMatchStreamRequest};
inline constexpr StreamMethod kStereoStreamMethod = {
    AsyncService::kStereoStream, Method::kStereoStream,   Work::kStereo, "StereoStream",
    "StereoStreamRequest",       ParseStereoStreamRequest};
inline constexpr StreamMethod kTrackStreamMethod = {
    AsyncService::kTrackStream, Method::kTrackStream,   Work::kTrack, "TrackStream",
    "TrackStreamRequest",       ParseTrackStreamRequest};
inline constexpr StreamMethod kLocalizeStreamMethod = {
    AsyncService::kLocalizeStream, Method::kLocalizeStream,   Work::kLocalize, "LocalizeStream",
    "LocalizeStreamRequest",       ParseLocalizeStreamRequest};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_STREAM_METHOD_H_
