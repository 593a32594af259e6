// For targets that drive streams of a server in this process: its messages, damaged ones and any bytes in their place,
// half-closing, reading late, cancelling. A stream that ends well has one answer for each message after the first;
// however it ends, its place is free again, no frame stays in flight, and the server answers a good call.
//
// The sessions of a process share a folder for sockets and maps, which is removed when the process ends by exit().
#ifndef GLINT_TESTS_FUZZ_TARGETS_SESSION_H_
#define GLINT_TESTS_FUZZ_TARGETS_SESSION_H_

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "glint/v1/image.pb.h"
#include "server/app/server.h"
#include "tests/fuzz/targets/input.h"

namespace glint::fuzz {

// A method whose messages an input makes. The first of a good stream has options.
struct Method {
  const char* path;
  int steps;                                       // kinds of messages
  std::string (*message)(int step, Input* input);  // `step` in 0..steps - 1
  void (*check)(const std::string& reply);         // FUZZ_CHECKs what holds for every answer
};

// Gray, 1 to 64 pixels square.
void SetImage(Input* input, v1::Image* image);
// One byte of `bytes` changed; those of a message are not empty.
std::string Damage(Input* input, std::string bytes);

class Session {
 public:
  Session();
  // A stream: each byte of `input` is a step, followed by what it needs. Steps beyond those of the method half-close,
  // read an answer, cancel.
  void Stream(const Method& method, Input input);
  // A call with the message of the first byte's step.
  void Call(const Method& method, Input input);
  // Leaves no map in the server's directory but "foreign", which is none.
  void ClearMaps();

 private:
  void CheckThatAllIsFree();
  void CheckGoodCall();

  const std::string folder_;  // of this process
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  int runs_ = 0;
};

}  // namespace glint::fuzz

#endif  // GLINT_TESTS_FUZZ_TARGETS_SESSION_H_
