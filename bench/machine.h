// The machine and the commit of a measurement. Thread-safe.
#ifndef GLINT_BENCH_MACHINE_H_
#define GLINT_BENCH_MACHINE_H_

#include <string>

#include "bench/json.h"

namespace glint::bench {

// The processor's name and the number of hardware threads of this process: "AMD EPYC, 2 threads".
std::string Processor();

// Opens a report's object, with `command` and the commit that the build was configured at, "-dirty" if files differed
// from it, "unknown" outside a checkout.
void BeginReport(const std::string& command, JsonWriter* json);

}  // namespace glint::bench

#endif  // GLINT_BENCH_MACHINE_H_
