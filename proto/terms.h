// Words of glint.v1 that the client and the server share, with the numbers that they have on the wire (held by
// proto/terms.cc). The client's headers are installed, so this one needs nothing.
#ifndef GLINT_PROTO_TERMS_H_
#define GLINT_PROTO_TERMS_H_

namespace glint {

// What the bytes of a row are. The server converts to grey, as cv::cvtColor does; proto/glint/v1/image.proto has the
// details of each.
enum class PixelFormat {
  kGray8 = 1,
  kBgr8 = 2,
  kRgb8 = 3,
  kBgra8 = 4,
  kRgba8 = 5,
  kNv12 = 6,       // sides are even
  kYuyv = 7,       // YUY2
  kGray16 = 8,     // little-endian; the upper byte counts
  kBayerRggb8 = 9  // a mosaic
};

// What the server does with frames of a stream that come faster than they are answered. Frames that it drops are
// answered, too, with a DropReason.
enum class OverloadPolicy {
  kBlock = 1,       // drops none: the client's writes block in the end
  kDropOldest = 2,  // the oldest frame that waits makes room for the new one
  kLatest = 3,      // only the newest frame waits: for live cameras
  kReject = 4       // refuses the new one
};

// Why a good frame was not worked on.
enum class DropReason {
  kNone = 0,        // it was
  kSuperseded = 1,  // a newer frame took its place: ABORTED
  kExpired = 2,     // older than max_age: DEADLINE_EXCEEDED
  kRejected = 3     // there was no room: RESOURCE_EXHAUSTED
};

// Whether a track of a TrackStream lives, or why it ended.
enum class TrackState : unsigned char {
  kTracked = 1,
  kFlat = 2,           // not enough texture
  kOutOfImage = 3,     // left it
  kMovedTooFar = 4,    // beyond max_move
  kNotConverged = 5,   // only with require_convergence
  kHighResidual = 6,   // only with max_residual
  kBackwardError = 7,  // only with max_backward_error
  kImageResized = 8,   // the camera's images have another size now
  kLastFrameLost = 9,  // the server has not the frame before any more
  kReset = 10,         // the client asked for it
  kForgotten = 11,     // likewise
  kMasked = 12         // where the mask is 0, or outside the region
};
inline constexpr int kTrackStateCount = 13;  // with 0, which no track has

// What is known of a camera that a LocalizeStream locates.
enum class LocationStatus : unsigned char {
  kInitializing = 1,  // no map yet: too little that both cameras see
  kTracking = 2,
  kCoasting = 3,     // not located; the pose continues the last motion
  kLost = 4,         // not located; the pose is the last one known
  kRelocalized = 5,  // located again after kLost
  kNewMap = 6        // located: the first pair of another map than before
};
inline constexpr int kLocationStatusCount = 7;  // with 0, which no pair has
inline const char* NameOf(LocationStatus status) {
  switch (status) {
    case LocationStatus::kInitializing:
      return "INITIALIZING";
    case LocationStatus::kTracking:
      return "TRACKING";
    case LocationStatus::kCoasting:
      return "COASTING";
    case LocationStatus::kLost:
      return "LOST";
    case LocationStatus::kRelocalized:
      return "RELOCALIZED";
    case LocationStatus::kNewMap:
      return "NEW_MAP";
  }
  return "UNKNOWN";
}

}  // namespace glint

#endif  // GLINT_PROTO_TERMS_H_
