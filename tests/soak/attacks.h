// Clients that mean harm, or die of it: what they do must not touch the others.
#ifndef GLINT_TESTS_SOAK_ATTACKS_H_
#define GLINT_TESTS_SOAK_ATTACKS_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "tests/soak/client.h"

namespace glint::soak {

// A server and how to reach it.
struct Victim {
  std::string address;    // "IPV4:PORT"
  std::string metrics;    // likewise
  std::string unix_path;  // where it shares memory, at ".shm" behind this
};

// One kind of attack. Runs until `stop`; whatever the server must not do is blamed on it.
struct Attack {
  const char* name;
  void (*run)(const Victim& victim, uint32_t seed, const std::atomic<bool>& stop, std::atomic<int64_t>* count,
              Tally* tally);
};

// Streams whose client reads nothing; messages that come a few bytes at a time; connections that are open and silent,
// half-closed or reset; TLS, HTTP/1 and noise where neither is expected; clients that are killed; memory that is
// overwritten, punched and cut while frames in it are worked on.
inline constexpr int kAttacks = 6;
extern const Attack kAttackTable[kAttacks];

// What a client that is to be killed runs: streams without an end. For main(), by `glint-soak --client ADDRESS SEED`.
int RunKilledClient(const std::string& address, uint32_t seed);

}  // namespace glint::soak

#endif  // GLINT_TESTS_SOAK_ATTACKS_H_
