#include "client/cli/output/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "client/cli/base/command.h"
#include "features/atomic_file.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "features/utf8.h"

namespace glint::cli {
namespace {

// Records wait until there are so many bytes of them.
constexpr size_t kRecordBytes = 4096;

void AppendHex(const uint8_t* bytes, int count, std::string* out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  for (int i = 0; i < count; ++i) {
    out->push_back(kDigits[bytes[i] >> 4]);
    out->push_back(kDigits[bytes[i] & 15]);
  }
}

// Whether the path is free or a file, and not a device, a pipe or a folder.
bool IsReplaceable(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(path, error);
  return !std::filesystem::exists(there) || std::filesystem::is_regular_file(there);
}

// An error of AtomicFile, whose text begins with Echo(path), as DATA_LOSS with all of the path.
absl::Status WithWholePath(const std::string& path, const absl::Status& status) {
  if (status.ok()) return status;
  absl::string_view text = status.message();
  return absl::ConsumePrefix(&text, Echo(path)) ? absl::DataLossError(absl::StrCat(path, text))
                                                : absl::DataLossError(text);
}

const uint8_t* DescriptorRow(const Features& features, size_t i) {
  return features.descriptors.data() + i * static_cast<size_t>(features.descriptor_bytes);
}

class CsvFormatter : public Formatter {
 public:
  CsvFormatter(bool descriptors, bool rays) : descriptors_(descriptors), rays_(rays) {}

  void AppendHeader(std::string* out) const override {
    absl::StrAppend(out, "image,x,y,size,angle,response,octave", descriptors_ ? ",descriptor" : "",
                    rays_ ? ",ray_x,ray_y,ray_z" : "", "\n");
  }

  void Append(absl::string_view image, const absl::Status&, const client::Detection& detection,
              std::string* out) const override {
    const Features& f = detection.features;
    for (size_t i = 0; i < f.count(); ++i) {
      AppendCsvField(image, out);
      AppendCsvFloats({f.x[i], f.y[i], f.size[i], f.angle[i], f.response[i]}, out);
      absl::StrAppend(out, ",", f.octave[i]);
      if (descriptors_) {
        out->push_back(',');
        AppendHex(DescriptorRow(f, i), f.descriptor_bytes, out);
      }
      if (rays_) AppendCsvFloats({detection.rays.x[i], detection.rays.y[i], detection.rays.z[i]}, out);
      out->push_back('\n');
    }
  }

 private:
  const bool descriptors_, rays_;
};

void AppendRay(const client::Rays& rays, size_t i, std::string* out) {
  std::string values;
  AppendCsvFloats({rays.x[i], rays.y[i], rays.z[i]}, &values);
  absl::StrAppend(out, ",\"ray\":[", values.substr(1), "]");
}

// One object a line.
class JsonFormatter : public Formatter {
 public:
  void AppendHeader(std::string*) const override {}

  void Append(absl::string_view image, const absl::Status& status, const client::Detection& detection,
              std::string* out) const override {
    out->append("{\"image\":");
    AppendJsonString(image, out);
    absl::StrAppend(out, ",\"status\":\"", absl::StatusCodeToString(status.code()), "\"");
    if (!status.ok()) {
      out->append(",\"message\":");
      AppendJsonString(status.message(), out);
      out->append("}\n");
      return;
    }
    const Features& f = detection.features;
    absl::StrAppend(out, ",\"count\":", f.count(), ",\"truncated\":", f.truncated ? "true" : "false",
                    ",\"keypoints\":[");
    for (size_t i = 0; i < f.count(); ++i) {
      const std::pair<absl::string_view, float> values[] = {{"{\"x\":", f.x[i]},
                                                            {",\"y\":", f.y[i]},
                                                            {",\"size\":", f.size[i]},
                                                            {",\"angle\":", f.angle[i]},
                                                            {",\"response\":", f.response[i]}};
      if (i > 0) out->push_back(',');
      for (const auto& [name, value] : values) {
        absl::StrAppend(out, name);
        AppendFloat(value, out);
      }
      absl::StrAppend(out, ",\"octave\":", f.octave[i]);
      if (f.descriptor_bytes > 0) {
        out->append(",\"descriptor\":\"");
        AppendHex(DescriptorRow(f, i), f.descriptor_bytes, out);
        out->push_back('"');
      }
      if (!detection.rays.x.empty()) AppendRay(detection.rays, i, out);
      out->push_back('}');
    }
    const client::Timings& t = detection.timings;
    absl::StrAppend(out, "],\"timings\":{\"receive_ns\":", t.receive_ns, ",\"queue_ns\":", t.queue_ns);
    absl::StrAppend(out, ",\"decode_ns\":", t.decode_ns, ",\"upload_ns\":", t.upload_ns);
    absl::StrAppend(out, ",\"detect_ns\":", t.detect_ns, ",\"download_ns\":", t.download_ns);
    absl::StrAppend(out, ",\"serialize_ns\":", t.serialize_ns, ",\"order_ns\":", t.order_ns);
    absl::StrAppend(out, ",\"total_ns\":", t.total_ns);
    absl::StrAppend(out, ",\"round_trip_ns\":", absl::ToInt64Nanoseconds(detection.round_trip));
    absl::StrAppend(out, ",\"lane\":", t.lane, ",\"device\":");
    AppendJsonString(t.device, out);
    absl::StrAppend(out, ",\"queue_depth\":", t.queue_depth, "}}\n");
  }
};

class TableFormatter : public Formatter {
 public:
  void AppendHeader(std::string* out) const override {
    absl::StrAppendFormat(out, "%-36s %9s %10s %9s %9s\n", "image", "keypoints", "detect ms", "server ms", "trip ms");
  }

  void Append(absl::string_view image, const absl::Status& status, const client::Detection& detection,
              std::string* out) const override {
    if (!status.ok()) {
      absl::StrAppendFormat(out, "%-36s %s\n", image, Describe(status));
      return;
    }
    absl::StrAppendFormat(
        out, "%-36s %8d%s %10.3f %9.3f %9.3f\n", image, detection.features.count(),
        detection.features.truncated ? "+" : " ", static_cast<double>(detection.timings.detect_ns) * 1e-6,
        static_cast<double>(detection.timings.total_ns) * 1e-6, absl::ToDoubleMilliseconds(detection.round_trip));
  }
};

}  // namespace

absl::StatusOr<OutputFile> OutputFile::Open(const std::string& path) {
  if (path.empty() || path == "-") return OutputFile(STDOUT_FILENO, "standard output");
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return absl::DataLossError(absl::StrCat(path, ": ", std::strerror(errno)));
  return OutputFile(fd, path);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      name_(std::move(other.name_)),
      records_(std::exchange(other.records_, "")),
      bytes_(other.bytes_) {}

OutputFile::~OutputFile() {
  if (fd_ >= 0 && !is_standard_output()) Close().IgnoreError();  // who wants to know has called it
}

bool OutputFile::is_standard_output() const { return fd_ == STDOUT_FILENO; }

absl::Status OutputFile::Write(absl::string_view text) {
  if (is_standard_output()) {
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? absl::OkStatus() : Error();
  }
  if (records_.size() + text.size() > kRecordBytes) {
    GLINT_RETURN_IF_ERROR(Flush());
  }
  absl::StrAppend(&records_, text);
  return absl::OkStatus();
}

absl::Status OutputFile::Flush() {
  if (is_standard_output()) {
    errno = 0;
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return absl::OkStatus();
    if (errno == 0) errno = EIO;  // of an earlier write, which only the flag is left of
    return Error();
  }
  const std::string records = std::exchange(records_, "");
  for (size_t at = 0; at < records.size();) {
    const ssize_t written = write(fd_, records.data() + at, records.size() - at);
    if (written >= 0) at += static_cast<size_t>(written);
    if (written >= 0 || errno == EINTR) continue;
    absl::Status error = Error();
    (void)!ftruncate(fd_, bytes_);  // takes back a part of a record; a pipe has none
    return error;
  }
  bytes_ += static_cast<int64_t>(records.size());
  return absl::OkStatus();
}

absl::Status OutputFile::Close() {
  absl::Status status = Flush();
  if (is_standard_output() || fd_ < 0) return status;
  if (close(std::exchange(fd_, -1)) != 0) status.Update(Error());
  return status;
}

absl::Status WriteWholeFile(const std::string& path, absl::string_view bytes) {
  if (!IsReplaceable(path)) {
    GLINT_ASSIGN_OR_RETURN(auto device, OutputFile::Open(path));
    GLINT_RETURN_IF_ERROR(device.Write(bytes));
    return device.Close();
  }
  auto file = AtomicFile::Create(path);
  if (!file.ok()) return WithWholePath(path, file.status());
  file->Append(bytes.data(), bytes.size());
  return WithWholePath(path, file->Commit(/*sync=*/false));
}

absl::Status CheckWholeFile(const std::string& path) {
  return IsReplaceable(path) ? WithWholePath(path, AtomicFile::Create(path).status()) : absl::OkStatus();
}

absl::Status OutputFile::Error() const {
  if (errno == EPIPE) return absl::CancelledError(absl::StrCat(name_, ": ", std::strerror(errno)));
  return absl::DataLossError(absl::StrCat(name_, ": ", std::strerror(errno)));
}

void AppendFloat(float value, std::string* out) {
  char digits[32];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof(digits), value);
  out->append(digits, end.ptr);
}

void AppendCsvFloats(std::initializer_list<float> values, std::string* out) {
  for (const float value : values) {
    out->push_back(',');
    AppendFloat(value, out);
  }
}

void AppendJsonString(absl::string_view text, std::string* out) {
  out->push_back('"');
  for (const char c : Utf8Text(text)) {
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(out, "\\u%04x", static_cast<unsigned>(c));
    } else {
      out->push_back(c);
    }
  }
  out->push_back('"');
}

void AppendCsvField(absl::string_view bytes, std::string* out) {
  const std::string text = Utf8Text(bytes);
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    absl::StrAppend(out, text);
    return;
  }
  out->push_back('"');
  for (const char c : text) {
    if (c == '"') out->push_back('"');
    out->push_back(c);
  }
  out->push_back('"');
}

std::unique_ptr<Formatter> Formatter::Make(Format format, bool descriptors, bool rays) {
  switch (format) {
    case Format::kNone:
      return nullptr;
    case Format::kTable:
      return std::make_unique<TableFormatter>();
    case Format::kJson:
      return std::make_unique<JsonFormatter>();
    case Format::kCsv:
      return std::make_unique<CsvFormatter>(descriptors, rays);
  }
  return nullptr;
}

int OutputError(const std::string& command, const absl::Status& status) {
  if (absl::IsCancelled(status)) {
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  if (absl::IsInvalidArgument(status)) return UsageError(command, status.message());
  Complain(command, status.message());
  return kCannotWrite;
}

bool OnTerminal(const std::string& output) { return output.empty() && isatty(STDOUT_FILENO) != 0; }

int Print(const std::string& command, const std::string& text) {
  auto output = OutputFile::Open("");
  absl::Status status = output->Write(text);
  if (status.ok()) status = output->Flush();
  return status.ok() ? kOk : OutputError(command, status);
}

int CheckStandardOutput(int status) {
  if (status == kCannotWrite) return status;  // which has been said, of whatever output
  const absl::Status flushed = OutputFile::Open("")->Flush();
  return flushed.ok() ? status : OutputError("", flushed);
}

}  // namespace glint::cli
