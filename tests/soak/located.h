// Streams that follow points and streams that locate a camera, held to their word like the others of client.h.
#ifndef GLINT_TESTS_SOAK_LOCATED_H_
#define GLINT_TESTS_SOAK_LOCATED_H_

#include <grpcpp/channel.h>

#include <memory>

#include "tests/soak/client.h"

namespace glint::soak {

// One stream of each kind, from its options to its status: every frame must be answered, in order, without an error,
// unless lanes fail. With `cancel` it is broken off somewhere.
void FollowPoints(const std::shared_ptr<grpc::Channel>& channel, bool cancel, const Habits& habits,
                  testing::Random* random, Doing* doing, Tally* tally);
void LocateCamera(const std::shared_ptr<grpc::Channel>& channel, bool cancel, const Habits& habits,
                  testing::Random* random, Doing* doing, Tally* tally);

}  // namespace glint::soak

#endif  // GLINT_TESTS_SOAK_LOCATED_H_
