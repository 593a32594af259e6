// Lower bounds of the machine, measured in the same rounds. Thread-compatible.
#ifndef GLINT_BENCH_FLOORS_H_
#define GLINT_BENCH_FLOORS_H_

#include "bench/rounds.h"
#include "features/types.h"

namespace glint::bench {

// Reads every pixel of the image once and adds them up, in plain C++. The pixels must outlive the contestant.
Contestant ReadPass(const ImageView& image, Clock clock);

}  // namespace glint::bench

#endif  // GLINT_BENCH_FLOORS_H_
