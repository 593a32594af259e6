// Every implementation of a detector that can run here, so that one comparison with cv::ORB covers them all.
#ifndef GLINT_TESTS_CONFORMANCE_BACKENDS_H_
#define GLINT_TESTS_CONFORMANCE_BACKENDS_H_

#include <functional>
#include <string>
#include <vector>

#include "features/options.h"
#include "features/types.h"
#include "gtest/gtest.h"

namespace glint::testing {

struct Backend {
  std::string name;
  std::function<Features(const DetectorOptions& options, const ImageView& image, const ImageView& mask)> detect;
};

// The reference, the CPU pipeline and, where there is a device that it can run on, the CUDA pipeline. The last two keep
// their scratch memory from call to call, as in service. Made once; not thread-safe.
const std::vector<Backend>& Backends();

// Success if each of Backends() finds what cv::ORB finds (EqualsOrb in oracle.h); otherwise the message names those
// that do not, size and options.
::testing::AssertionResult BackendsEqualOrb(const DetectorOptions& options, const ImageView& image,
                                            const ImageView& mask = {});

}  // namespace glint::testing

#endif  // GLINT_TESTS_CONFORMANCE_BACKENDS_H_
