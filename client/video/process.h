// Bytes of files, pipes and of other programs' standard output.
#ifndef GLINT_CLIENT_VIDEO_PROCESS_H_
#define GLINT_CLIENT_VIDEO_PROCESS_H_

#include <poll.h>
#include <sys/types.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/video/y4m.h"

namespace glint::video {

// How long a read waits for bytes.
struct Patience {
  absl::Duration timeout = absl::InfiniteDuration();  // DEADLINE_EXCEEDED after so long without a byte
  std::function<bool()> stop = [] { return false; };  // asked every 50 ms; CANCELLED when true
};

// What is waited for at once: bytes, standard error and notes; -1: not that.
using Descriptors = std::array<pollfd, 3>;

// A file descriptor; 0 is standard input and stays open.
class DescriptorBytes : public ByteSource {
 public:
  DescriptorBytes(int descriptor, Patience patience) : descriptor_(descriptor), patience_(std::move(patience)) {}
  DescriptorBytes(const DescriptorBytes&) = delete;
  DescriptorBytes& operator=(const DescriptorBytes&) = delete;
  ~DescriptorBytes() override;

  absl::StatusOr<size_t> Read(uint8_t* to, size_t size) override;

 private:
  const int descriptor_;
  const Patience patience_;
};

// What a program says on standard error. Lines may have a level as FFmpeg's have with -loglevel level+info; of the
// level "warning" only one about a damaged packet counts, and of "info" the one about the turn.
class LastWords {
 public:
  void Add(absl::string_view bytes);
  // One line, printable: the first that begins with "ERROR", with GStreamer's reason below it, else the last. Each is
  // of at most kMaxLine bytes.
  std::string text() const;
  // The first line in which FFmpeg says that the video is damaged or cut off; empty: none.
  const std::string& damage() const { return damage_; }
  // FFmpeg's words of how frames are to be turned, such as "rotation of -90.00 degrees"; empty: not at all.
  const std::string& turn() const { return turn_; }
  // Of GStreamer's pipeline, on its clock, with PipelineArguments(); nothing: not told yet.
  std::optional<absl::Duration> base_time() const { return base_time_; }

 private:
  static constexpr size_t kMaxLine = 300;
  void EndLine();

  std::string line_, last_, error_, damage_, turn_;
  std::optional<absl::Duration> base_time_;
  int after_error_ = 0;  // lines
};

// On which descriptors a program is to write what is read here.
struct Channels {
  int output = 1;                                               // 1 or 3
  int notes = -1;                                               // 1 or 3, another one than `output`; -1: it writes none
  std::function<void(absl::string_view)> take_notes = nullptr;  // gets their bytes, in Read() and WaitForNotes()
};

// Another program and its output. It is started without a shell, in a process group of its own, so that
// Ctrl-C reaches it through this program alone. Its standard input is empty. The destructor ends it and waits for that.
// Its words are English (LC_ALL=C). When this program dies at once, it ends at its next write.
class Process : public ByteSource {
 public:
  // arguments[0] is the program's path. Errors of posix_spawn().
  static absl::StatusOr<std::unique_ptr<Process>> Start(const std::vector<std::string>& arguments, Patience patience,
                                                        Channels channels = {});
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() override;

  absl::StatusOr<size_t> Read(uint8_t* to, size_t size) override;
  // Returns when some of its notes were taken. False: they have ended, none came until `end`, or patience's stop.
  bool WaitForNotes(absl::Time end);
  // After the end of its output: waits two seconds for its exit, then ends it. INVALID_ARGUMENT: the status is not 0,
  // or it had to be ended; with the program's name and its last words.
  absl::Status Finish();
  // Whether Read() has given 0.
  bool output_ended() const { return output_ended_; }
  // The program's name without folders, and ": " and its last words if there are any.
  std::string Told() const;
  // The same with the damage to the video that it told, after Finish(); empty: it told none.
  std::string ToldDamage() const;
  const LastWords& last_words() const { return last_words_; }

 private:
  // Ends of pipes.
  struct Ends {
    int output, errors, notes;
  };
  Process(std::string name, pid_t id, Ends ends, Patience patience, Channels channels)
      : name_(std::move(name)),
        id_(id),
        ends_(ends),
        patience_(std::move(patience)),
        take_notes_(std::move(channels.take_notes)) {}

  // Takes what there is of standard error and of notes, where `wait` says that there is something.
  void TakeWords(const Descriptors& wait);
  // Waits for the exit, at most until `end`. False: it has not come.
  bool WaitUntil(absl::Time end);
  void Kill(int signal) const;

  const std::string name_;
  const pid_t id_;
  Ends ends_;  // -1: closed
  const Patience patience_;
  const std::function<void(absl::string_view)> take_notes_;
  LastWords last_words_;
  bool output_ended_ = false;
  bool exited_ = false;
  int status_ = 0;  // as waitpid() gave it
};

}  // namespace glint::video

#endif  // GLINT_CLIENT_VIDEO_PROCESS_H_
