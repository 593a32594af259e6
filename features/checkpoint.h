// Where long work says that it goes on, and hears whether it should.
#ifndef GLINT_FEATURES_CHECKPOINT_H_
#define GLINT_FEATURES_CHECKPOINT_H_

#include <functional>

namespace glint {

// Called by long work between its parts, which take some milliseconds each, on any of its threads. False: nobody waits
// for the result, and the work ends there. Empty: it goes on. Calls must be thread-safe.
using Checkpoint = std::function<bool()>;

inline bool GoesOn(const Checkpoint& checkpoint) { return !checkpoint || checkpoint(); }

}  // namespace glint

#endif  // GLINT_FEATURES_CHECKPOINT_H_
