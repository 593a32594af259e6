// A server whose threads cannot be made is an error of Create() that says which are missing.
#include <gmock/gmock.h>

#include <string>

#include "absl/status/status.h"
#include "server/app/server.h"
#include "tests/support/one_thread.h"

namespace glint {
namespace {

bool IsRefused(const ServerOptions& options, const std::string& field) {
  const absl::Status status = Server::Create(options).status();
  return absl::IsResourceExhausted(status) && status.message().find(field + ": ") == 0;
}

TEST(ServerThreadsTest, ThatCannotBeMadeAreAnErrorOfCreate) {
  const int status = InOneThread([] {
    ServerOptions options;
    options.listen = {};
    options.metrics_listen = "";
    options.lanes.backend = Backend::kCpu;
    options.lanes.lanes = 1;
    if (!IsRefused(options, "max-localize-streams")) return 1;
    options.max_localize_streams = 0;
    if (!IsRefused(options, "log")) return 2;
    options.lanes.threads_per_lane = 2;
    return IsRefused(options, "lanes") ? 0 : 3;
  });
  if (status == kNotLimited) GTEST_SKIP() << "the system does not hold RLIMIT_NPROC here";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace glint
