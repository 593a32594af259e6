// gRPC server reflection, v1 and v1alpha, which differ only in name, answered from the generated classes of this
// program. https://github.com/grpc/grpc/blob/master/doc/server-reflection.md
#ifndef GLINT_SERVER_RPC_REFLECTION_H_
#define GLINT_SERVER_RPC_REFLECTION_H_

#include <string>

#include "absl/status/statusor.h"

namespace glint {

// Answers a serialized ServerReflectionRequest by a serialized ServerReflectionResponse; "not found" is an answer, too.
// INVALID_ARGUMENT: not a request. Thread-safe.
absl::StatusOr<std::string> AnswerReflection(const std::string& request);

}  // namespace glint

#endif  // GLINT_SERVER_RPC_REFLECTION_H_
