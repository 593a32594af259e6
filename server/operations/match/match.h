// Matching of two images or descriptor sets (Match), or of the pairs of a stream that keeps sets (MatchStream).
#ifndef GLINT_SERVER_OPERATIONS_MATCH_MATCH_H_
#define GLINT_SERVER_OPERATIONS_MATCH_MATCH_H_

#include <memory>

#include "server/operations/operation.h"

namespace glint {

std::unique_ptr<Operation> MakeMatch(const Host& host);
std::unique_ptr<Operation> MakeMatchStream(const Host& host);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_MATCH_MATCH_H_
