// glint echo-server: the floor that glint bench --echo compares a server with.
#include "client/load/echo_server.h"

#include <optional>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/base/command.h"
#include "client/cli/base/flags.h"
#include "client/cli/output/output.h"
#include "server/net/transport.h"

namespace glint::cli {
namespace {

constexpr char kName[] = "echo-server";

}  // namespace

int RunEchoServer(const std::vector<std::string>& arguments) {
  std::string listen = "127.0.0.1:0";
  std::optional<float> work_ms;
  Flags flags;
  flags.Section("Server");
  flags.String("listen", "ADDRESS", "HOST:PORT (port 0: any free one) or unix:PATH. Default: 127.0.0.1:0.", &listen);
  flags.Float("work", "MILLISECONDS",
              "A thread computes for so long before each reply, as with a detector: then the processors rest as those "
              "of a server do. Default: 0.",
              &work_ms);
  const auto operands = flags.Parse(arguments);
  if (!operands.ok()) return UsageError(kName, operands.status().message());
  if (flags.help_wanted()) {
    return Print(kName,
                 "Usage: glint echo-server [OPTION]...\n\n" +
                     Wrap("Prints its address and answers every message of a stream but the first with the bytes of "
                          "the first, until it is interrupted: what gRPC alone costs, for glint bench --echo-at. It "
                          "has the transport settings of glint-server.",
                          0) +
                     flags.Help() + "\nExit status\n  2 wrong command line; 69 cannot listen; 130 interrupted\n");
  }
  if (!operands->empty()) return UsageError(kName, "takes no operand: '" + operands->front() + "'");
  if (work_ms.value_or(0) < 0) return UsageError(kName, "option '--work': is below 0");
  ChoosePolling(ConnectionOptions().max_connections);
  const auto echo = load::EchoServer::Start(listen, absl::Milliseconds(work_ms.value_or(0)));
  if (!echo.ok()) return CallError(kName, echo.status());
  if (const int status = Print(kName, (*echo)->address() + "\n"); status != kOk) return status;
  while (!Interrupted()) absl::SleepFor(absl::Milliseconds(50));
  return kInterrupted;
}

}  // namespace glint::cli
