// glint health: whether the server would take a frame now.
#include "absl/time/clock.h"
#include "client/cli/base/command.h"
#include "client/cli/base/connection.h"
#include "client/cli/output/output.h"
#include "features/status_macros.h"
#include "features/steady_time.h"

namespace glint::cli {
namespace {

constexpr char kName[] = "health";
constexpr absl::Duration kPause = absl::Milliseconds(50);

const char* Name(client::Health health) {
  switch (health) {
    case client::Health::kServing:
      return "SERVING";
    case client::Health::kNotServing:
      return "NOT_SERVING";
    case client::Health::kUnknown:
      break;
  }
  return "UNKNOWN";
}

absl::StatusOr<client::Health> Ask(const ConnectionFlags& flags, const std::string& service) {
  GLINT_ASSIGN_OR_RETURN(const auto connection, Connection::Open(flags));
  return connection.client().CheckHealth(service, flags.timeout_or(absl::Seconds(5)));
}

}  // namespace

int RunHealth(const std::vector<std::string>& arguments) {
  ConnectionFlags connection_flags;
  std::string service;
  std::optional<float> wait;
  Flags flags;
  connection_flags.AddTo(&flags);
  flags.Section("Health");
  flags.String("service", "NAME", "Ask for this service (default: the server as a whole).", &service);
  flags.Float("wait", "SECONDS", "Ask again until the answer is SERVING, for so long at most.", &wait);

  const auto operands = flags.Parse(arguments);
  if (!operands.ok()) return UsageError(kName, operands.status().message());
  if (flags.help_wanted()) {
    return Print(kName, "Usage: glint health [OPTION]...\n\n" +
                            Wrap("Asks the standard health service and prints SERVING, NOT_SERVING or UNKNOWN.", 0) +
                            flags.Help() +
                            "\nExit status\n"
                            "  0 SERVING; 1 anything else; 2 wrong command line; 69 no server\n");
  }
  if (!operands->empty()) return UsageError(kName, "takes no operand: '" + operands->front() + "'");
  if (absl::Status status = connection_flags.Validate(); !status.ok()) return UsageError(kName, status.message());

  const absl::Time deadline = SteadyNow() + absl::Seconds(wait.value_or(0));
  auto health = Ask(connection_flags, service);
  while ((!health.ok() || *health != client::Health::kServing) && SteadyNow() < deadline && !Interrupted()) {
    absl::SleepFor(kPause);
    health = Ask(connection_flags, service);
  }
  if (!health.ok()) return CallError(kName, health.status());
  const int printed = Print(kName, std::string(Name(*health)) + "\n");
  return printed != kOk || *health == client::Health::kServing ? printed : kFailed;
}

}  // namespace glint::cli
