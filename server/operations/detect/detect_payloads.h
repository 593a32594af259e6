// What is kept of a frame of Detect and of DetectStream.
#ifndef GLINT_SERVER_OPERATIONS_DETECT_DETECT_PAYLOADS_H_
#define GLINT_SERVER_OPERATIONS_DETECT_DETECT_PAYLOADS_H_

#include "server/operations/detect/detect_parser.h"
#include "server/operations/detect/detect_work.h"
#include "server/wire/convert.h"

namespace glint {

struct DetectCallPayload final : Payload {
  WireDetectRequest request;
  DetectTask task;

  void Reset() override {
    task = DetectTask();
    // A detector is sent in one piece, by clients that mean well.
    request.detector.clear();
    if (request.detector.capacity() > kUsualPieces) decltype(request.detector)().swap(request.detector);
  }
};

struct DetectStreamPayload final : Payload {
  WireDetectStreamRequest request;
  DetectTask task;

  void Reset() override { task = DetectTask(); }
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_DETECT_DETECT_PAYLOADS_H_
