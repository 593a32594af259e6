// First message of a stream: its options. It is parsed only if it is small.
#ifndef GLINT_SERVER_WIRE_FIRST_MESSAGE_H_
#define GLINT_SERVER_WIRE_FIRST_MESSAGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "decode/pieces.h"
#include "features/status_macros.h"
#include "server/wire/frame_parser.h"

namespace glint {

// FAILED_PRECONDITION: a message of type `name` that was parsed has no options. INVALID_ARGUMENT: it was not `parsed`,
// or has more than kMaxOptionsBytes.
absl::Status CheckOptions(bool parsed, const WireEnvelope& envelope, size_t bytes, const std::string& name);

// Options of a message of type `Request`, which `parse` reads in place. Errors of CheckOptions().
template <typename Request, typename Wire>
absl::StatusOr<Request> ParseOptions(decode::Pieces message, bool (*parse)(decode::Pieces, Wire*)) {
  Wire wire;
  const bool parsed = parse(message, &wire);
  Request request;
  GLINT_RETURN_IF_ERROR(CheckOptions(parsed, wire, decode::TotalBytes(message), request.GetTypeName()));
  std::vector<uint8_t> scratch;
  const absl::Span<const uint8_t> whole = decode::Contiguous(message, &scratch);
  if (!request.ParseFromArray(whole.data(), static_cast<int>(whole.size()))) {
    return absl::InvalidArgumentError("options: damaged");
  }
  return request;
}

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_FIRST_MESSAGE_H_
