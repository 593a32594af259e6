// Detection: features of an image (Detect) or of each frame of a stream (DetectStream).
#ifndef GLINT_SERVER_OPERATIONS_DETECT_DETECT_H_
#define GLINT_SERVER_OPERATIONS_DETECT_DETECT_H_

#include <memory>

#include "server/operations/operation.h"

namespace glint {

std::unique_ptr<Operation> MakeDetect(const Host& host);
std::unique_ptr<Operation> MakeDetectStream(const Host& host);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_DETECT_DETECT_H_
