// The methods of operations, as one server serves them.
#ifndef GLINT_SERVER_RPC_SERVED_METHOD_H_
#define GLINT_SERVER_RPC_SERVED_METHOD_H_

#include <memory>
#include <vector>

#include "server/operations/operation.h"
#include "server/rpc/async_service.h"

namespace glint {

struct ServedMethod {
  const OperationMethod* row;
  size_t index;  // in OperationMethods()
  std::unique_ptr<Operation> operation;

  AsyncService::Method async() const { return AsyncService::MethodOf(index); }
  Method counted() const { return static_cast<Method>(static_cast<size_t>(Method::kFirstOperation) + index); }
};

inline std::vector<ServedMethod> ServeMethods(const Host& host) {
  std::vector<ServedMethod> methods;
  for (const OperationMethod& row : OperationMethods()) methods.push_back({&row, methods.size(), row.make(host)});
  return methods;
}

}  // namespace glint

#endif  // GLINT_SERVER_RPC_SERVED_METHOD_H_
