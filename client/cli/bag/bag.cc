// glint bag: what is in a recording, and what Glint can do with it.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/bag/survey.h"
#include "client/cli/bag/uses.h"
#include "client/cli/base/command.h"
#include "client/cli/base/flags.h"
#include "client/cli/output/output.h"
#include "client/cli/source/picture_files.h"
#include "features/error.h"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kName[] = "bag";
constexpr double kScanSeconds = 2.5;
constexpr size_t kTopicsSaid = 20;

struct Recording {
  BagFile& bag;
  const std::vector<TopicFacts>& facts;
  const BagFacts& scan;
  const bool is_scanned;  // as far as `scan` says
  const Uses& uses;
  std::vector<std::string> notes;
  uint64_t bytes;

  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN, messages = 0;
};

std::string Help(const Flags& flags) {
  return "Usage: glint bag [OPTION]... FILE\n\n" +
         Wrap(
             "Lists the topics of a recording of ROS: MCAP, a folder or an SQLite file of rosbag2, a ROS 1 bag. Says "
             "what Glint can do with each, and the command lines that make most of them. Rates and gaps are those of "
             "the recording. No server is needed.",
             0) +
         flags.Help() +
         "\nExit status\n"
         "  0 read; 1 it cannot be read, or parts of it are damaged; 2 wrong command line;\n"
         "  74 standard output cannot be written; 130 interrupted\n"
         "\nExamples\n"
         "  glint bag drive.mcap\n"
         "  glint bag --format json drive/ | jq .commands\n";
}

// Of the file, or of all files of a folder.
uint64_t BytesOf(const std::string& path) {
  std::error_code error;
  uint64_t bytes = 0;
  if (!fs::is_directory(path, error)) {
    bytes = fs::file_size(path, error);
    return error ? 0 : bytes;
  }
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    std::error_code none;
    if (at->is_regular_file(none)) bytes += at->file_size(none);
  }
  return bytes;
}

double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

// "800", or "793 of 800" where a scan found others than were counted.
std::string CountText(const BagFacts& scan, int64_t read, int64_t counted) {
  return scan.is_whole && read != counted ? absl::StrCat(read, " of ", counted) : absl::StrCat(counted);
}

// Nothing: the counts are right, or not all was read.
std::optional<std::string> WrongCounts(const BagFile& bag, const BagFacts& scan) {
  std::vector<std::string> wrong;
  for (size_t i = 0; scan.is_whole && i < scan.topics.size(); ++i) {
    const bag::Topic& topic = bag.topics()[i];
    const int64_t read = scan.topics[i].read;
    if (read != topic.messages) {
      wrong.push_back(absl::StrCat(Echo(topic.name), " ", CountText(scan, read, topic.messages)));
    }
  }
  if (wrong.empty()) return std::nullopt;
  return absl::StrCat("messages that could be read, of those counted: ", SomeOf(wrong, kTopicsSaid));
}

std::string Table(const Recording& r) {
  std::string text =
      absl::StrFormat("%s: %s, %.1f MB, %d topics, %s messages", r.bag.path(), r.bag.format(),
                      static_cast<double>(r.bytes) * 1e-6, r.facts.size(), CountText(r.scan, r.scan.read, r.messages));
  if (r.messages > 0) {
    absl::StrAppendFormat(&text, ", %.3f s from %s to %s", Seconds(r.last_ns - r.first_ns), StampText(r.first_ns),
                          StampText(r.last_ns));
  }
  size_t name_width = 5, type_width = 4, count_width = 8;
  std::vector<std::string> counts;
  for (const bag::Topic& topic : r.bag.topics()) {
    counts.push_back(CountText(r.scan, r.facts[counts.size()].read, topic.messages));
    name_width = std::max(name_width, Echo(topic.name).size());
    type_width = std::max(type_width, Echo(topic.type).size());
    count_width = std::max(count_width, counts.back().size());
  }
  const auto line = [&](const std::string& name, const std::string& type, const std::string& messages,
                        const std::string& rate, const std::string& gap, const std::string& use) {
    absl::StrAppendFormat(&text, "%-*s  %-*s  %*s  %8s  %9s  %s\n", name_width, name, type_width, type, count_width,
                          messages, rate, gap, use);
  };
  text += "\n\n";
  line("topic", "type", "messages", "Hz", "gap s", "use");
  for (int i = 0; i < static_cast<int>(r.facts.size()); ++i) {
    const bag::Topic& topic = r.bag.topic(i);
    const TopicFacts& facts = r.facts[static_cast<size_t>(i)];
    const double rate = RateOf(topic);
    line(Echo(topic.name), Echo(topic.type), counts[static_cast<size_t>(i)],
         rate > 0 ? absl::StrFormat("%.1f", rate) : "-",
         facts.read > 1 ? absl::StrFormat("%.3f", Seconds(facts.largest_gap_ns)) : "-",
         UseText(r.bag, r.facts, r.uses, i));
  }
  if (r.is_scanned && !r.scan.is_whole && r.messages > 0) {
    absl::StrAppendFormat(&text,
                          "\nRead in %g s: %d of %d messages (%.1f %%), up to %s. Gaps and damage are of these; --scan "
                          "reads all.\n",
                          kScanSeconds, r.scan.read, r.messages,
                          100 * static_cast<double>(r.scan.read) / static_cast<double>(r.messages),
                          StampText(r.scan.last_ns));
  }
  const std::vector<std::string> commands = CommandLines(&r.bag, r.uses);
  if (!commands.empty()) text += "\nTry\n";
  for (const std::string& command : commands) absl::StrAppend(&text, "  ", command, "\n");
  return text;
}

void AppendStrings(const std::vector<std::string>& values, std::string* out) {
  *out += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) *out += ',';
    AppendJsonString(values[i], out);
  }
  *out += ']';
}

std::string Json(const Recording& r) {
  std::string out = "{\"file\":";
  AppendJsonString(r.bag.path(), &out);
  out += ",\"format\":";
  AppendJsonString(r.bag.format(), &out);
  absl::StrAppend(&out, ",\"bytes\":", r.bytes, ",\"messages\":", r.messages);
  if (r.is_scanned) absl::StrAppend(&out, ",\"messages_read\":", r.scan.read);
  absl::StrAppend(&out, ",\"read_to_end\":", r.scan.is_whole ? "true" : "false");
  if (r.messages > 0) absl::StrAppend(&out, ",\"first_ns\":", r.first_ns, ",\"last_ns\":", r.last_ns);
  out += ",\"topics\":[";
  for (int i = 0; i < static_cast<int>(r.facts.size()); ++i) {
    const bag::Topic& topic = r.bag.topic(i);
    const TopicFacts& facts = r.facts[static_cast<size_t>(i)];
    if (i > 0) out += ',';
    out += "{\"name\":";
    AppendJsonString(topic.name, &out);
    out += ",\"type\":";
    AppendJsonString(topic.type, &out);
    out += ",\"encoding\":";
    AppendJsonString(topic.encoding, &out);
    absl::StrAppend(&out, ",\"messages\":", topic.messages);
    if (r.is_scanned) absl::StrAppend(&out, ",\"messages_read\":", facts.read);
    if (topic.messages > 0) absl::StrAppend(&out, ",\"first_ns\":", topic.first_ns, ",\"last_ns\":", topic.last_ns);
    if (const double rate = RateOf(topic); rate > 0) absl::StrAppendFormat(&out, ",\"rate_hz\":%.9g", rate);
    if (facts.read > 1) absl::StrAppend(&out, ",\"largest_gap_ns\":", facts.largest_gap_ns);
    if (facts.image.width > 0) {
      absl::StrAppend(&out, ",\"width\":", facts.image.width, ",\"height\":", facts.image.height);
    }
    out += ",\"use\":";
    AppendJsonString(UseText(r.bag, r.facts, r.uses, i), &out);
    out += '}';
  }
  out += "],\"commands\":";
  AppendStrings(CommandLines(&r.bag, r.uses), &out);
  out += ",\"damage\":";
  AppendStrings(r.notes, &out);
  return out + "}\n";
}

}  // namespace

int RunBag(const std::vector<std::string>& arguments) {
  Format format = Format::kTable;
  double scan_seconds = kScanSeconds;
  Flags flags;
  flags.Section("Output");
  flags.Choice("format", {{"table", Format::kTable}, {"json", Format::kJson}}, "Default: table.", &format);
  flags.Bool("scan",
             absl::StrCat("Read all messages, however long it takes, which finds gaps and damage. Default: for ",
                          kScanSeconds, " s; --no-scan: none, so that a recording with an index is listed at once."),
             [&](bool on) { scan_seconds = on ? std::numeric_limits<double>::infinity() : 0; });
  const auto operands = flags.Parse(arguments);
  if (!operands.ok()) return UsageError(kName, operands.status().message());
  if (flags.help_wanted()) return Print(kName, Help(flags));
  if (operands->size() != 1) return UsageError(kName, operands->empty() ? "no FILE given" : "more than one FILE");

  const auto bag = BagFile::Open(operands->front());
  if (!bag.ok()) return SourceError(kName, bag.status());
  const auto facts = SurveyBag(bag->get(), scan_seconds);
  if (!facts.ok()) return SourceError(kName, facts.status());
  if (Interrupted()) return kInterrupted;
  const Uses uses = UsesOf(**bag, facts->topics);
  Recording recording = {
      **bag, facts->topics, *facts, scan_seconds > 0, uses, (*bag)->Notes(), BytesOf(operands->front())};
  if (auto wrong = WrongCounts(**bag, *facts); wrong.has_value()) recording.notes.push_back(*std::move(wrong));
  for (const bag::Topic& topic : (*bag)->topics()) {
    recording.messages += topic.messages;
    if (topic.messages == 0) continue;
    recording.first_ns = std::min(recording.first_ns, topic.first_ns);
    recording.last_ns = std::max(recording.last_ns, topic.last_ns);
  }
  for (const std::string& note : recording.notes) {
    Complain(kName, absl::StrCat(operands->front(), ": warning: ", note));
  }
  const int printed = Print(kName, format == Format::kJson ? Json(recording) : Table(recording));
  return printed == kOk && !recording.notes.empty() ? static_cast<int>(kFailed) : printed;
}

}  // namespace glint::cli
