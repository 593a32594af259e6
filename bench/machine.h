// The machine and the commit of a measurement. Thread-safe.
#ifndef GLINT_BENCH_MACHINE_H_
#define GLINT_BENCH_MACHINE_H_

#include <string>

namespace glint::bench {

// The processor's name and the number of hardware threads of this process: "AMD EPYC, 2 threads".
std::string Processor();

// The commit that the build was configured at, "-dirty" if files differed from it; "unknown" outside a checkout.
std::string Commit();

}  // namespace glint::bench

#endif  // GLINT_BENCH_MACHINE_H_
