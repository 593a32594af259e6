// Serialized messages, good and bad: made from a message type's descriptor, so that new fields join by themselves, with
// everything that the wire format allows (fields in any order, repeated, of the wrong type, unknown; groups; numbers
// with more bytes than they need), and then damaged.
#ifndef GLINT_TESTS_FUZZ_WIRE_MESSAGES_H_
#define GLINT_TESTS_FUZZ_WIRE_MESSAGES_H_

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "tests/support/random.h"

namespace glint::testing {

// Not damaged, but not necessarily good: groups may end wrongly and strings may not be UTF-8.
std::string RandomMessage(const google::protobuf::Descriptor& type, Random* random);

// A few bytes changed, added, taken away or moved.
void Damage(std::string* message, Random* random);

// `levels` groups inside each other in a field that nobody knows, inside fields of these numbers, the outermost
// first.
std::string Nested(int levels, absl::Span<const uint32_t> fields);

}  // namespace glint::testing

#endif  // GLINT_TESTS_FUZZ_WIRE_MESSAGES_H_
