// Messages (ros/messages.h) to bytes and back: XCDR version 1 as ROS 2 has it on the wire and in bags, and the form of
// ROS 1, which has neither header nor padding. Pure functions.
// https://www.omg.org/spec/DDS-XTYPES, 7.4.1; https://wiki.ros.org/msg
#ifndef GLINT_ROS_CDR_H_
#define GLINT_ROS_CDR_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ros/cdr_reader.h"
#include "ros/cdr_writer.h"
#include "ros/messages.h"

namespace glint::ros {

// Reads a message from bytes that are not trusted: 00 01 and two bytes that do not matter, then the little-endian body;
// or 00 00 with a big-endian one. What follows the message is not looked at. Sequences of bytes in *message point into
// `bytes`. Memory is at most 20 times `bytes`, and what *message has is used again. INVALID_ARGUMENT names the field:
// "sensor_msgs/msg/Image.data: 4294967295 bytes announced, 112 are left"; then *message is unspecified.
template <class T>
absl::Status ReadCdr(absl::Span<const uint8_t> bytes, T* message) {
  CdrReader reader(T::kName);
  reader.BeginCdr(bytes);
  return reader.Read(message);
}

// The same for a body of ROS 1. A time after 2038 is an error.
template <class T>
absl::Status ReadRos1(absl::Span<const uint8_t> bytes, T* message) {
  CdrReader reader(T::kName);
  reader.BeginRos1(bytes);
  return reader.Read(message);
}

// Writes header and little-endian body in place of what *bytes has. Texts and sequences have less than 2^32 - 1
// elements.
template <class T>
void WriteCdr(const T& message, std::vector<uint8_t>* bytes) {
  CdrWriter writer(bytes);
  writer.Write(message);
}

}  // namespace glint::ros

#endif  // GLINT_ROS_CDR_H_
