// Stereo: sparse disparity and depth of rectified pairs (StereoStream).
#ifndef GLINT_SERVER_OPERATIONS_STEREO_STEREO_H_
#define GLINT_SERVER_OPERATIONS_STEREO_STEREO_H_

#include <memory>

#include "server/operations/operation.h"

namespace glint {

std::unique_ptr<Operation> MakeStereoStream(const Host& host);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_STEREO_STEREO_H_
