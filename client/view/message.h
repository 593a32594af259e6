// The bytes that a browser gets. A frame is one binary WebSocket message, little-endian:
//
//   uint32          bytes of the header, a multiple of 4
//   header          JSON, padded with spaces: what follows, and what is text
//   "marks" times   uint16 x, y, size in quarters of a pixel; uint8 color; uint8 angle in 1/255 of a turn, 255: none
//   "trails" times  uint8 color; uint8 count; count times uint16 x, y in quarters of a pixel
//   "path" times    float32 x, z; uint8 state; uint8 keyframe; 2 bytes 0
//   the rest        a JPEG or PNG file, or nothing
//
// The state of the view is a text message of JSON alone.
#ifndef GLINT_CLIENT_VIEW_MESSAGE_H_
#define GLINT_CLIENT_VIEW_MESSAGE_H_

#include <optional>
#include <string>

#include "client/view/base/scene.h"

namespace glint::view {

struct State {
  std::string title;   // what is shown: "street.mp4 on 127.0.0.1:50051"
  std::string notice;  // what is wrong, and what to do; empty: nothing
  bool paused = false;
  std::optional<int> threshold;     // of FAST, 1..254; none: cannot be changed
  std::optional<int> max_features;  // 1..65536; likewise
};

// `picture`: what scene.picture made.
std::string EncodeScene(const Scene& scene, const EncodedPicture& picture);
std::string EncodeState(const State& state);

// What a browser says: "ready" (the last frame is drawn), "pause", "resume", "threshold N" or "features N".
struct Request {
  enum Kind { kReady, kPause, kResume, kThreshold, kFeatures } kind = kReady;
  int value = 0;
};
// Nothing if it is none of these, or N is out of range.
std::optional<Request> ParseRequest(const std::string& text);

}  // namespace glint::view

#endif  // GLINT_CLIENT_VIEW_MESSAGE_H_
