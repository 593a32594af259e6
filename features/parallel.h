// Threads that share the parts of one piece of work.
#ifndef GLINT_FEATURES_PARALLEL_H_
#define GLINT_FEATURES_PARALLEL_H_

#include "absl/functional/function_ref.h"

namespace glint {

// Thread-compatible: one caller at a time.
class Parallel {
 public:
  virtual ~Parallel() = default;
  virtual int threads() const = 0;  // the caller's included
  // Calls task(i) for i = 0..count-1, each once, in any order and side by side, and returns when all are done. `task`
  // does not throw.
  virtual void Share(int count, absl::FunctionRef<void(int i)> task) = 0;
};

}  // namespace glint

#endif  // GLINT_FEATURES_PARALLEL_H_
