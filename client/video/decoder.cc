#include "client/video/decoder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::video {
namespace {

constexpr absl::string_view kSeparator = "://", kPipeline = "gst:", kAppsink = "appsink";
// Properties of GStreamer's sources.
constexpr absl::string_view kSecrets[] = {" user-id=", " user-pw=", " proxy-id=", " proxy-pw=", " passphrase="};
constexpr char kFfmpeg[] = "ffmpeg", kGstreamer[] = "gst-launch-1.0";
// How long FFmpeg waits for an address, microseconds; less than the reader does, whose message says less.
constexpr char kFfmpegTimeout[] = "8000000";

// What an address may open in turn: FFmpeg's own list would have files in it.
struct Scheme {
  const char* name;
  bool live;
  const char* protocols;       // of FFmpeg
  const char* timeout_option;  // of FFmpeg
};
constexpr Scheme kSchemes[] = {
    {"rtsp", true, "rtsp,rtp,tcp,udp", "-timeout"},
    {"rtsps", true, "rtsps,rtsp,rtp,srtp,tcp,tls,udp", "-timeout"},
    {"http", false, "http,https,tcp,tls,crypto", "-rw_timeout"},
    {"https", false, "https,tcp,tls,crypto", "-rw_timeout"},
    {"rtmp", true, "rtmp,tcp", "-rw_timeout"},
    {"rtmps", true, "rtmps,rtmp,tcp,tls", "-rw_timeout"},
};

const Scheme* Find(absl::string_view scheme) {
  const auto* const at =
      std::find_if(std::begin(kSchemes), std::end(kSchemes), [&](const Scheme& s) { return s.name == scheme; });
  return at == std::end(kSchemes) ? nullptr : at;
}

// The path of a program in $PATH; empty if it is not there.
std::string Which(absl::string_view program) {
  const char* const path = std::getenv("PATH");
  for (const absl::string_view folder : absl::StrSplit(path != nullptr ? path : "/usr/bin:/bin", ':')) {
    std::string candidate = absl::StrCat(folder, "/", program);
    if (absl::StartsWith(folder, "/") && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

// Pixels are converted only where they are none of the formats, so luma stays as it was coded. The first one leaves
// chroma out, which is a third of the bytes and more. RGB becomes planar RGB in it, of which there is no luma to take:
// FFmpeg ends before the first byte. The last one calls planes of G, B and R what y4m has: Y, Cb and Cr.
const char* FilterOf(Planes planes) {
  switch (planes) {
    case Planes::kLuma:
      return "format=yuv410p|yuv411p|yuv420p|yuvj420p|yuv422p|yuvj422p|yuv440p|yuvj440p|yuv444p|yuvj444p|yuva420p|"
             "yuva422p|yuva444p|gray|gbrp|gbrap,extractplanes=y";
    case Planes::kNv12:
      return "format=yuv420p|yuvj420p";
    case Planes::kRgb:
      break;
  }
  return "format=rgb24,format=gbrp,mergeplanes=0x000102:yuv444p";
}

// Writes a frame's time, in ns, into a line of descriptor 3 (FrameTimes) before the frame goes on; the filter writes
// none of frames without metadata.
constexpr char kTimesFilter[] =
    "settb=1/1000000000,metadata=mode=add:key=glint:value=1,"
    "metadata=mode=print:key=glint:file=pipe\\\\:3:direct=1,";

std::vector<std::string> FfmpegArguments(std::string program, const std::string& name, const Scheme* scheme,
                                         Planes planes) {
  // Lines with their levels are what LastWords tells damage from. Those of "info" have the turn.
  std::vector<std::string> arguments = {std::move(program), "-hide_banner",      "-nostdin", "-nostats",
                                        "-loglevel",        "repeat+level+info", "-hwaccel", "auto"};
  const auto add = [&](std::initializer_list<std::string> more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
  };
  add({"-protocol_whitelist", scheme != nullptr ? scheme->protocols : "file"});
  if (scheme != nullptr) add({scheme->timeout_option, kFfmpegTimeout});
  if (scheme != nullptr && absl::StartsWith(scheme->name, "rtsp")) add({"-rtsp_transport", "tcp"});
  // Not turned, as GStreamer's frames are not, and as pictures are whose EXIF says so.
  add({"-noautorotate", "-i", scheme != nullptr ? name : absl::StrCat("file:", name)});
  add({"-map", "0:v:0", "-vf", absl::StrCat(kTimesFilter, FilterOf(planes))});
  add({"-fps_mode", "passthrough", "-f", "yuv4mpegpipe", "pipe:1"});
  return arguments;
}

// file:///... with all but letters, digits, "/", "-", "." and "_" as %XX. So no character of it is gst-launch's.
std::string FileUri(const std::string& name) {
  std::string uri = "file://";
  for (const char c : std::filesystem::absolute(name).string()) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("/-._", absl::string_view(&c, 1))) {
      uri += c;
    } else {
      absl::StrAppendFormat(&uri, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

// Whether GStreamer has an element of that name, by the program that lists them.
bool HasElement(const std::string& element) {
  const std::string program = Which("gst-inspect-1.0");
  if (program.empty()) return false;
  Patience patience;
  patience.timeout = absl::Seconds(10);
  const auto process = Process::Start({program, "--exists", element}, patience);
  if (!process.ok()) return false;
  uint8_t byte = 0;
  const auto said = (*process)->Read(&byte, 1);
  return said.ok() && *said == 0 && (*process)->Finish().ok();
}

// To NV12 and back: decoders' own buffers have gaps, which y4menc writes into the file, and a conversion leaves the
// gaps behind and luma as it was. Jetson's decoder has frames in memory (NVMM) that only its own converter takes.
// identity's messages are the times (FrameTimes); gst-launch writes them, with others, to standard output.
std::vector<std::string> GstreamerArguments(std::string program, const std::string& name, bool is_address) {
  const char* const converter = HasElement("nvvidconv") ? "nvvidconv" : "videoconvert";
  return {std::move(program),
          "-v",
          "uridecodebin",
          absl::StrCat("uri=", is_address ? name : FileUri(name)),
          "!",
          converter,
          "!",
          "video/x-raw,format=NV12",
          "!",
          "videoconvert",
          "!",
          "video/x-raw,format=I420",
          "!",
          "identity",
          "silent=false",
          "!",
          "y4menc",
          "!",
          "fdsink",
          "fd=3"};
}

}  // namespace

bool IsAddress(absl::string_view name) { return absl::StrContains(name, kSeparator); }

absl::StatusOr<std::string> SchemeOf(absl::string_view address) {
  const size_t end = std::min(address.find(kSeparator), address.size());
  const std::string scheme = absl::AsciiStrToLower(address.substr(0, end));
  if (Find(scheme) == nullptr) return NotOneOfError("address.scheme", scheme, "rtsp, rtsps, http, https, rtmp, rtmps");
  for (const char c : address) {
    if (c <= ' ' || c > '~' || absl::StrContains("\"'<>\\^`{|}!", absl::string_view(&c, 1))) {
      return ContradictionError("address", absl::StrCat("\"", Echo(absl::string_view(&c, 1)), "\" must be written as ",
                                                        absl::StrFormat("%%%02X", static_cast<unsigned char>(c))));
    }
  }
  const absl::string_view rest = address.substr(end + kSeparator.size());
  if (rest.empty() || rest[0] == '/') return ContradictionError("address", "no host");
  return scheme;
}

bool IsLiveScheme(absl::string_view scheme) {
  const Scheme* const found = Find(scheme);
  return found != nullptr && found->live;
}

std::string WithoutPassword(absl::string_view name) {
  std::string shown(name);
  const auto after = [&shown](absl::string_view what, size_t from) {
    const size_t at = absl::string_view(shown).find(what, from);
    return at == absl::string_view::npos ? at : at + what.size();
  };
  for (size_t at = after(kSeparator, 0); at != std::string::npos; at = after(kSeparator, at)) {
    const size_t end = std::min(shown.find_first_of("/?# \"'", at), shown.size());
    const size_t user = shown.substr(at, end - at).rfind('@');
    if (user != std::string::npos) shown.erase(at, user + 1);
  }
  for (const absl::string_view secret : kSecrets) {
    for (size_t at = after(secret, 0); at != std::string::npos; at = after(secret, at)) {
      const size_t quote = shown[at] == '"' ? 1 : 0;
      const size_t end = shown.find(quote > 0 ? '"' : ' ', at + quote);
      shown.erase(at, end == std::string::npos ? end : end + quote - at);
    }
  }
  return shown;
}

absl::StatusOr<std::vector<std::string>> DecoderArguments(Decoder decoder, const std::string& name, Planes planes) {
  const Scheme* scheme = nullptr;
  if (IsAddress(name)) {
    GLINT_ASSIGN_OR_RETURN(const auto parsed, SchemeOf(name));
    scheme = Find(parsed);
  }
  if (decoder != Decoder::kGstreamer) {
    std::string program = Which(kFfmpeg);
    if (!program.empty()) return FfmpegArguments(std::move(program), name, scheme, planes);
  }
  if (decoder != Decoder::kFfmpeg) {
    std::string program = Which(kGstreamer);
    if (!program.empty()) return GstreamerArguments(std::move(program), name, scheme != nullptr);
  }
  const std::string missing = decoder == Decoder::kAuto     ? absl::StrCat("neither ", kFfmpeg, " nor ", kGstreamer)
                              : decoder == Decoder::kFfmpeg ? absl::StrCat("no ", kFfmpeg)
                                                            : absl::StrCat("no ", kGstreamer);
  return absl::NotFoundError(absl::StrCat(missing,
                                          " in PATH to decode it with (Debian: package ffmpeg, or "
                                          "gstreamer1.0-tools with plugins-good and libav)"));
}

std::optional<absl::string_view> PipelineOf(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, kPipeline)) return std::nullopt;
  return name;
}

absl::StatusOr<std::vector<std::string>> PipelineArguments(absl::string_view pipeline) {
  std::string program = Which(kGstreamer);
  if (program.empty()) {
    return absl::NotFoundError(absl::StrCat("no ", kGstreamer, " in PATH (Debian: package gstreamer1.0-tools)"));
  }
  if (const size_t last = pipeline.rfind('!'); last != absl::string_view::npos) {
    const std::vector<absl::string_view> sink = absl::StrSplit(pipeline.substr(last + 1), ' ', absl::SkipEmpty());
    if (!sink.empty() && sink.front() == kAppsink) pipeline = pipeline.substr(0, last);
  }
  std::vector<std::string> arguments = {std::move(program), "-v", "--gst-debug=pipeline:5", "--gst-debug-no-color",
                                        "--"};
  // gst-launch puts its arguments together again with spaces, and escapes those in them.
  for (const absl::string_view word : absl::StrSplit(pipeline, ' ')) arguments.emplace_back(word);
  for (const char* const word : {"!", "identity", "name=glint", "silent=false", "!", "fdsink", "fd=3", "sync=false"}) {
    arguments.emplace_back(word);
  }
  return arguments;
}

Channels ChannelsOf(const std::vector<std::string>& arguments, FrameTimes* times) {
  Channels channels;
  channels.output = IsGstreamer(arguments) ? 3 : 1;
  channels.notes = IsGstreamer(arguments) ? 1 : 3;
  channels.take_notes = [times](absl::string_view bytes) { times->Add(bytes); };
  return channels;
}

bool IsGstreamer(const std::vector<std::string>& arguments) { return absl::EndsWith(arguments.front(), kGstreamer); }

}  // namespace glint::video
