// Localization: where a stereo or RGB-D camera is, and the map of its stream (LocalizeStream).
#ifndef GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_H_
#define GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_H_

#include <memory>

#include "server/operations/operation.h"

namespace glint {

std::unique_ptr<Operation> MakeLocalizeStream(const Host& host);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_H_
