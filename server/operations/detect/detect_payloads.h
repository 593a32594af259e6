// Payloads of Detect and DetectStream.
#ifndef GLINT_SERVER_OPERATIONS_DETECT_DETECT_PAYLOADS_H_
#define GLINT_SERVER_OPERATIONS_DETECT_DETECT_PAYLOADS_H_

#include "server/operations/detect/detect_parser.h"
#include "server/operations/detect/detect_work.h"
#include "server/wire/convert.h"

namespace glint {

struct DetectCallPayload final : Payload {
  WireDetectRequest request;
  DetectTask task;
  Camera camera;  // of the task, if it has one
  StreamRange range;

  void Reset() override {
    task = DetectTask();
    // Well-behaved clients send the detector in one piece; memory for more is freed.
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
