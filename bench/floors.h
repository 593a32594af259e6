// What the machine needs for the bare minimum, measured beside the rest. Thread-compatible.
#ifndef GLINT_BENCH_FLOORS_H_
#define GLINT_BENCH_FLOORS_H_

#include "bench/rounds.h"
#include "features/types.h"

namespace glint::bench {

// Reads every pixel of the image once, as fast as plain C++ can, and does next to nothing with it. The pixels must live
// on.
Contestant ReadPass(const ImageView& image, Clock clock);

}  // namespace glint::bench

#endif  // GLINT_BENCH_FLOORS_H_
