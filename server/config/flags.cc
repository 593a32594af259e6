#include "server/config/flags.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "server/base/placement.h"

namespace glint {
namespace {

constexpr int kMaxFlagFileDepth = 8;

struct Flag {
  const char* name;
  const char* value;  // what it takes, for --help
  const char* help;
  // Sets the flag; a list starts anew where `first`, the first mention in one source, is true.
  absl::Status (*set)(absl::string_view name, absl::string_view value, bool first, ServerOptions* options);
  std::string (*show)(const ServerOptions& options);  // the default, for --help
};

// Malformed numbers are errors here; ranges are checked by ValidateServerOptions().
template <typename T>
absl::Status SetInt(absl::string_view name, absl::string_view value, T* out) {
  if (!absl::SimpleAtoi(value, out)) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": \"", value, "\" is not a whole number in range"));
  }
  return absl::OkStatus();
}

absl::Status SetNumber(absl::string_view name, absl::string_view value, double* out) {
  if (absl::SimpleAtod(value, out) && std::isfinite(*out)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": \"", value, "\" is not a number"));
}

template <typename T>
struct Choice {
  const char* name;
  T value;
};

template <typename T, size_t kCount>
absl::Status SetChoice(absl::string_view name, absl::string_view value, const Choice<T> (&choices)[kCount], T* out) {
  for (const Choice<T>& choice : choices) {
    if (value == choice.name) {
      *out = choice.value;
      return absl::OkStatus();
    }
  }
  return NotOneOfError(name, value, absl::StrJoin(choices, ", ", [](std::string* to, const Choice<T>& choice) {
                         to->append(choice.name);
                       }));
}

template <typename T, size_t kCount>
std::string ShowChoice(const Choice<T> (&choices)[kCount], T value) {
  for (const Choice<T>& choice : choices) {
    if (value == choice.value) return choice.name;
  }
  return "";
}

// Values of a boolean flag.
constexpr char kSwitch[] = "true|false";

constexpr Choice<bool> kBooleans[] = {{"true", true}, {"false", false}};
constexpr Choice<Backend> kBackends[] = {{"auto", Backend::kAuto}, {"cpu", Backend::kCpu}, {"cuda", Backend::kCuda}};
constexpr Choice<GpuWait> kGpuWaits[] = {
    {"adaptive", GpuWait::kAdaptive}, {"spin", GpuWait::kSpin}, {"yield", GpuWait::kYield}, {"block", GpuWait::kBlock}};
constexpr Choice<JpegDecoding> kJpegDecodings[] = {
    {"auto", JpegDecoding::kAuto}, {"gpu", JpegDecoding::kGpu}, {"cpu", JpegDecoding::kCpu}};
constexpr Choice<Reflection> kReflections[] = {
    {"on", Reflection::kOn}, {"loopback", Reflection::kLoopback}, {"off", Reflection::kOff}};
constexpr Choice<LogFormat> kLogFormats[] = {{"text", LogFormat::kText}, {"json", LogFormat::kJson}};

// A plain integer field of ServerOptions (or of its lanes).
#define GLINT_INT_FLAG(name, field, help)                                             \
  {                                                                                   \
    name, "N", help,                                                                  \
        [](absl::string_view flag, absl::string_view value, bool, ServerOptions* o) { \
          return SetInt(flag, value, &o->field);                                      \
        },                                                                            \
        [](const ServerOptions& o) { return absl::StrCat(o.field); }                  \
  }

#define GLINT_NUMBER_FLAG(name, field, help)                                          \
  {                                                                                   \
    name, "X", help,                                                                  \
        [](absl::string_view flag, absl::string_view value, bool, ServerOptions* o) { \
          return SetNumber(flag, value, &o->field);                                   \
        },                                                                            \
        [](const ServerOptions& o) { return absl::StrCat(o.field); }                  \
  }

#define GLINT_DURATION_FLAG(name, field, help)                                              \
  {                                                                                         \
    name, "DURATION", help,                                                                 \
        [](absl::string_view flag, absl::string_view value, bool, ServerOptions* o) {       \
          if (absl::ParseDuration(value, &o->field)) return absl::OkStatus();               \
          return absl::InvalidArgumentError(                                                \
              absl::StrCat(flag, ": \"", value, "\" is not a duration like 10s or 500ms")); \
        },                                                                                  \
        [](const ServerOptions& o) { return absl::FormatDuration(o.field); }                \
  }

#define GLINT_FILE_FLAG(name, field, help)                                       \
  {                                                                              \
    name, "FILE", help,                                                          \
        [](absl::string_view, absl::string_view value, bool, ServerOptions* o) { \
          o->field = std::string(value);                                         \
          return absl::OkStatus();                                               \
        },                                                                       \
        [](const ServerOptions& o) { return o.field; }                           \
  }

absl::Status SetCpus(absl::string_view name, absl::string_view value, std::vector<int>* out) {
  GLINT_ASSIGN_OR_RETURN(auto cpus, ParseCpus(name, value));
  *out = std::move(cpus);
  return absl::OkStatus();
}

#define GLINT_CPUS_FLAG(name, field, help)                                            \
  {                                                                                   \
    name, "LIST", help,                                                               \
        [](absl::string_view flag, absl::string_view value, bool, ServerOptions* o) { \
          return SetCpus(flag, value, &o->field);                                     \
        },                                                                            \
        [](const ServerOptions& o) { return CpusText(o.field); }                      \
  }

absl::Status SetDevices(absl::string_view name, absl::string_view value, bool, ServerOptions* o) {
  o->lanes.devices.clear();
  if (value == "all") return absl::OkStatus();
  for (const absl::string_view device : absl::StrSplit(value, ',')) {
    int ordinal = 0;
    if (!absl::SimpleAtoi(device, &ordinal)) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": \"", value, "\" is neither all nor numbers like 0,1"));
    }
    o->lanes.devices.push_back(ordinal);
  }
  return absl::OkStatus();
}

const Flag kFlags[] = {
    {"listen", "ADDRESS[,ADDRESS...]", "HOST:PORT (port 0: any) or unix:PATH; may be repeated",
     [](absl::string_view, absl::string_view value, bool first, ServerOptions* o) {
       if (first) o->listen.clear();
       for (const absl::string_view address : absl::StrSplit(value, ',')) o->listen.emplace_back(address);
       return absl::OkStatus();
     },
     [](const ServerOptions& o) { return absl::StrJoin(o.listen, ","); }},
    {"metrics-listen", "HOST:PORT", "where /metrics, /healthz and /readyz are; empty: nowhere",
     [](absl::string_view, absl::string_view value, bool, ServerOptions* o) {
       o->metrics_listen = std::string(value);
       return absl::OkStatus();
     },
     [](const ServerOptions& o) { return o.metrics_listen; }},
    GLINT_FILE_FLAG("tls-certificate", tls.certificate,
                    "PEM file: serve TCP addresses by TLS; read again when it changes"),
    GLINT_FILE_FLAG("tls-key", tls.key, "PEM file with the certificate's private key"),
    GLINT_FILE_FLAG("tls-client-ca", tls.client_ca, "PEM file: clients must have a certificate of this authority"),
    {"allow-plaintext", kSwitch, "no warning for an address without TLS that other machines can reach",
     [](absl::string_view name, absl::string_view value, bool, ServerOptions* o) {
       return SetChoice(name, value, kBooleans, &o->allow_plaintext);
     },
     [](const ServerOptions& o) { return ShowChoice(kBooleans, o.allow_plaintext); }},
    GLINT_FILE_FLAG("access-file", access_file,
                    "who may call what, a line each (docs/access.md); read again when it changes; empty: all may call "
                    "everything"),
    {"backend", "auto|cpu|cuda", "auto: CUDA if a device works, else the CPU",
     [](absl::string_view name, absl::string_view value, bool, ServerOptions* o) {
       return SetChoice(name, value, kBackends, &o->lanes.backend);
     },
     [](const ServerOptions& o) { return ShowChoice(kBackends, o.lanes.backend); }},
    {"devices", "all|N[,N...]", "CUDA devices, counted from 0; all: those that work", SetDevices,
     [](const ServerOptions& o) { return o.lanes.devices.empty() ? "all" : absl::StrJoin(o.lanes.devices, ","); }},
    GLINT_INT_FLAG("lanes", lanes.lanes,
                   "frames worked on at the same time by each device; 0: one per processor (CPU), one per two of them, "
                   "2 to 8 (CUDA)"),
    GLINT_INT_FLAG("threads-per-lane", lanes.threads_per_lane, "CPU threads that share one frame"),
    {"gpu-wait", "adaptive|spin|yield|block", "how a lane's thread waits for the GPU",
     [](absl::string_view name, absl::string_view value, bool, ServerOptions* o) {
       return SetChoice(name, value, kGpuWaits, &o->lanes.gpu_wait);
     },
     [](const ServerOptions& o) { return ShowChoice(kGpuWaits, o.lanes.gpu_wait); }},
    GLINT_CPUS_FLAG("lane-cpus", lane_cpus, "processors that lanes' threads run on, for example 0-3,8; empty: all"),
    GLINT_CPUS_FLAG("completion-cpus", completion_cpus, "processors that gRPC's threads run on, likewise"),
    GLINT_INT_FLAG("cpu-dma-latency", cpu_dma_latency_us,
                   "microseconds that idle processors may take to wake, through /dev/cpu_dma_latency; -1: as it is"),
    {"jpeg", "auto|gpu|cpu", "what decodes JPEG frames; auto: the GPU if lanes are on CUDA, with the CPU behind it",
     [](absl::string_view name, absl::string_view value, bool, ServerOptions* o) {
       return SetChoice(name, value, kJpegDecodings, &o->lanes.jpeg);
     },
     [](const ServerOptions& o) { return ShowChoice(kJpegDecodings, o.lanes.jpeg); }},
    GLINT_INT_FLAG("queue-capacity", queue_capacity, "frames that may wait for a lane"),
    GLINT_INT_FLAG("max-image-pixels", lanes.max_image_pixels, "width * height of a picture at most"),
    GLINT_INT_FLAG("max-features", max_features, "keypoints that a client may ask for at most"),
    GLINT_INT_FLAG("max-match-pairs", max_match_pairs, "pairs of descriptors that one match may compare at most"),
    GLINT_INT_FLAG("max-message-bytes", max_message_bytes, "size of a message at most"),
    GLINT_INT_FLAG("max-pending-bytes", max_pending_bytes, "messages whose frames wait or are worked on at most"),
    GLINT_INT_FLAG("max-detect-calls", max_detect_calls, "calls of Detect received, worked on or answered at most"),
    GLINT_DURATION_FLAG("detect-receive-timeout", detect_receive_timeout,
                        "how long a call of Detect may take until its message is there as a whole"),
    GLINT_DURATION_FLAG("detect-reply-timeout", detect_reply_timeout, "how long its client may take to take the reply"),
    GLINT_INT_FLAG("max-small-calls", max_small_calls,
                   "calls without a picture whose message is awaited, and streams of reflection, at most"),
    GLINT_DURATION_FLAG("small-call-timeout", small_call_timeout,
                        "how long a message without a picture may take, and its reply to be taken"),
    GLINT_INT_FLAG("max-watchers", max_watchers, "clients that watch the server's health at most"),
    {"reflection", "on|loopback|off", "who may ask by gRPC reflection what the server can do",
     [](absl::string_view name, absl::string_view value, bool, ServerOptions* o) {
       return SetChoice(name, value, kReflections, &o->reflection);
     },
     [](const ServerOptions& o) { return ShowChoice(kReflections, o.reflection); }},
    GLINT_INT_FLAG("max-sessions", max_sessions, "streams open at the same time at most"),
    GLINT_INT_FLAG(
        "max-sessions-per-peer", max_sessions_per_peer,
        "of these, those of one identity, address or local user; 0: three quarters, of which just under a "
        "half stay where others need the rest. For one robot or site behind one address with more cameras, or "
        "a proxy: as many as --max-sessions"),
    GLINT_INT_FLAG("max-track-streams", max_track_streams, "streams that follow points at most; 0: none may"),
    GLINT_INT_FLAG("max-track-cameras", max_track_cameras, "images of a frame of such a stream at most"),
    GLINT_INT_FLAG("max-tracks", max_tracks, "points that such a stream follows at most, those of all cameras"),
    GLINT_INT_FLAG("max-track-pixels", max_track_pixels,
                   "pixels of all images of such a frame at most; widths count as multiples of 64"),
    GLINT_INT_FLAG("max-localize-streams", max_localize_streams,
                   "streams that locate stereo cameras at most; 0: none may"),
    GLINT_INT_FLAG("max-localize-pixels", max_localize_pixels, "pixels of both images of such a pair at most"),
    GLINT_INT_FLAG("max-map-keyframes", max_map_keyframes, "keyframes of such a stream's map at most"),
    GLINT_INT_FLAG("max-map-points", max_map_points, "its points at most"),
    GLINT_INT_FLAG("max-map-bytes", max_map_bytes, "bytes of memory that it takes at most"),
    {"map-directory", "DIRECTORY", "where such streams save and load maps, by names; empty: nowhere",
     [](absl::string_view, absl::string_view value, bool, ServerOptions* o) {
       o->map_directory = std::string(value);
       return absl::OkStatus();
     },
     [](const ServerOptions& o) { return o.map_directory; }},
    GLINT_INT_FLAG("max-maps", max_maps, "maps in there at most"),
    {"calibration-directory", "DIRECTORY",
     "files of rigs, and of cameras with depth, whose names streams of raw images may give in their place "
     "(docs/server.md); empty: none",
     [](absl::string_view, absl::string_view value, bool, ServerOptions* o) {
       o->calibration_directory = std::string(value);
       return absl::OkStatus();
     },
     [](const ServerOptions& o) { return o.calibration_directory; }},
    GLINT_INT_FLAG("max-rectification-bytes", max_rectification_bytes,
                   "bytes of tables by which raw images are rectified, of all streams, at most; 0: none are"),
    GLINT_INT_FLAG("max-frames-per-client", client_limits.frames,
                   "frames of one identity or address that wait or are worked on at most; 0: no limit"),
    GLINT_INT_FLAG("max-bytes-per-client", client_limits.bytes, "their messages at most; 0: no limit"),
    GLINT_NUMBER_FLAG("max-frame-rate-per-client", client_limits.frame_rate,
                      "frames a second of one identity or address at most; 0: no limit"),
    GLINT_NUMBER_FLAG("max-lane-seconds-per-client", client_limits.lane_seconds,
                      "lanes that it may keep busy, on average; 0: no limit"),
    GLINT_DURATION_FLAG("stream-first-message-timeout", stream_first_message_timeout,
                        "how long a stream may take until its first message is there as a whole"),
    GLINT_DURATION_FLAG("stream-idle-timeout", stream_idle_timeout,
                        "how long a client may send no frame, or take no reply, before its stream is ended"),
    GLINT_INT_FLAG("max-connections", connections.max_connections, "connections open at the same time at most"),
    GLINT_INT_FLAG("max-connections-per-peer", connections.max_connections_per_peer,
                   "of these, those of one address or user of a unix socket; 0: three quarters"),
    GLINT_DURATION_FLAG("connection-idle-timeout", connections.idle_timeout,
                        "how long a connection may have no calls before it is closed; inf: for ever"),
    GLINT_DURATION_FLAG("connection-max-age", connections.max_age,
                        "age at which a connection's client is asked to make a new one; inf: never"),
    GLINT_DURATION_FLAG("connection-age-grace", connections.age_grace,
                        "how much longer the calls of such a connection may take; inf: as long as they like"),
    GLINT_DURATION_FLAG("keepalive-time", connections.keepalive_time,
                        "silence of a connection after which its client is asked whether it is alive"),
    GLINT_DURATION_FLAG("keepalive-timeout", connections.keepalive_timeout, "how long that answer may take"),
    GLINT_INT_FLAG("max-in-flight", max_in_flight, "unanswered frames of one stream that are read at most"),
    {"shared-memory", kSwitch, "take frames from memory that clients of the unix socket share",
     [](absl::string_view name, absl::string_view value, bool, ServerOptions* o) {
       return SetChoice(name, value, kBooleans, &o->shared_memory.enabled);
     },
     [](const ServerOptions& o) { return ShowChoice(kBooleans, o.shared_memory.enabled); }},
    GLINT_INT_FLAG("shared-memory-max-bytes", shared_memory.max_bytes, "size of all shared memory at most"),
    GLINT_INT_FLAG("shared-memory-max-regions", shared_memory.max_regions, "pieces of shared memory at most"),
    GLINT_INT_FLAG(
        "memory-limit", memory_limit,
        "bytes of host memory that the process may use: if the limits allow more, it does not start; 0: what "
        "its control group and the machine have, with a warning"),
    GLINT_DURATION_FLAG("lane-timeout", lane_timeout,
                        "how long a lane may be at one frame before the server says NOT_SERVING"),
    GLINT_DURATION_FLAG("lane-grace", lane_grace,
                        "how much longer it may take before the server exits with status 1; inf: for ever"),
    GLINT_DURATION_FLAG("drain-timeout", drain_timeout,
                        "how long SIGTERM waits for frames that were taken, for example 2.5s or 500ms"),
    {"log-format", "text|json", "of the log on standard error",
     [](absl::string_view name, absl::string_view value, bool, ServerOptions* o) {
       return SetChoice(name, value, kLogFormats, &o->log_format);
     },
     [](const ServerOptions& o) { return ShowChoice(kLogFormats, o.log_format); }},
};
#undef GLINT_INT_FLAG
#undef GLINT_NUMBER_FLAG
#undef GLINT_DURATION_FLAG
#undef GLINT_FILE_FLAG
#undef GLINT_CPUS_FLAG

const Flag* FindFlag(absl::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kFlags), std::end(kFlags), [name](const Flag& flag) { return name == flag.name; });
  return found == std::end(kFlags) ? nullptr : found;
}

std::string EnvironmentName(absl::string_view flag) {
  return absl::StrCat("GLINT_", absl::AsciiStrToUpper(absl::StrReplaceAll(flag, {{"-", "_"}})));
}

absl::Status In(absl::string_view source, const absl::Status& status) {
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat(source, ": ", status.message()));
}

class Parser {
 public:
  // `listen` may be repeated within one source, and replaces what an earlier source said.
  absl::Status Arguments(const std::vector<std::string>& arguments) {
    std::vector<absl::string_view> seen;
    for (size_t i = 0; i < arguments.size(); ++i) {
      absl::string_view rest = arguments[i];
      if (rest == "-h") rest = "--help";
      if (!absl::ConsumePrefix(&rest, "--")) {
        return absl::InvalidArgumentError(absl::StrCat("\"", arguments[i], "\" is not a flag; see --help"));
      }
      const std::pair<absl::string_view, absl::string_view> split = absl::StrSplit(rest, absl::MaxSplits('=', 1));
      const absl::string_view name = split.first;
      absl::string_view value = split.second;
      if (name == "help" || name == "version") {
        (name == "help" ? result.help : result.version) = true;
        continue;
      }
      if (name != "flagfile" && FindFlag(name) == nullptr) return Unknown(name);
      if (!absl::StrContains(rest, '=') && name != "flagfile" && FindFlag(name)->value == kSwitch) {
        value = "true";
      } else if (!absl::StrContains(rest, '=')) {
        if (++i == arguments.size()) return absl::InvalidArgumentError(absl::StrCat(name, ": needs a value"));
        value = arguments[i];
      }
      if (name == "flagfile") {
        GLINT_RETURN_IF_ERROR(File(std::string(value)));
        continue;
      }
      const bool first = std::find(seen.begin(), seen.end(), name) == seen.end();
      seen.push_back(name);
      GLINT_RETURN_IF_ERROR(FindFlag(name)->set(name, value, first, &result.options));
    }
    return absl::OkStatus();
  }

  absl::Status Environment(const std::function<const char*(const char*)>& environment) {
    for (const Flag& flag : kFlags) {
      const std::string variable = EnvironmentName(flag.name);
      const char* const value = environment(variable.c_str());
      if (value == nullptr) continue;
      if (absl::Status s = flag.set(flag.name, value, true, &result.options); !s.ok()) return In(variable, s);
    }
    return absl::OkStatus();
  }

  CommandLine result;

 private:
  static absl::Status Unknown(absl::string_view name) {
    return absl::InvalidArgumentError(absl::StrCat("there is no flag --", name, "; see --help"));
  }

  absl::Status File(const std::string& path) {
    if (++depth_ > kMaxFlagFileDepth) return absl::InvalidArgumentError(absl::StrCat("flagfile: ", path, " nests"));
    std::ifstream file(path);
    if (!file) return absl::InvalidArgumentError(absl::StrCat("flagfile: cannot read ", path));
    std::vector<std::string> arguments;
    for (std::string line; std::getline(file, line);) {
      const absl::string_view text = absl::StripAsciiWhitespace(line);
      if (text.empty() || text[0] == '#') continue;
      arguments.push_back(absl::StrCat(absl::StartsWith(text, "--") ? "" : "--", text));
    }
    absl::Status status = In(path, Arguments(arguments));
    --depth_;
    return status;
  }

  int depth_ = 0;
};

}  // namespace

absl::StatusOr<CommandLine> ParseFlags(const std::vector<std::string>& arguments,
                                       const std::function<const char*(const char*)>& environment) {
  Parser parser;
  GLINT_RETURN_IF_ERROR(parser.Environment(environment));
  GLINT_RETURN_IF_ERROR(parser.Arguments(arguments));
  GLINT_RETURN_IF_ERROR(ValidateServerOptions(parser.result.options));
  return std::move(parser.result);
}

std::vector<std::string> FlagsThatDiffer(const ServerOptions& a, const ServerOptions& b) {
  std::vector<std::string> names;
  for (const Flag& flag : kFlags) {
    if (flag.show(a) != flag.show(b)) names.emplace_back(flag.name);
  }
  return names;
}

std::string FlagsHelp() {
  std::string text =
      "Usage: glint-server [FLAGS]\n\n"
      "Finds features in the frames that clients send over gRPC.\n\nFlags, each with its default:\n";
  const ServerOptions defaults;
  for (const Flag& flag : kFlags) {
    absl::StrAppendFormat(&text, "  --%s=%s (%s)\n      %s\n", flag.name, flag.value, flag.show(defaults), flag.help);
  }
  absl::StrAppend(&text,
                  "  --flagfile=PATH\n      more flags, one a line\n  --version\n  --help\n\n"
                  "Each flag can also be set by an environment variable, for example GLINT_MAX_SESSIONS.\n");
  return text;
}

}  // namespace glint
