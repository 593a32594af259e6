// Bytes of files, pipes and of other programs' standard output.
#ifndef GLINT_CLIENT_VIDEO_PROCESS_H_
#define GLINT_CLIENT_VIDEO_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <memory>
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

// What a program says on standard error. Lines may have a level as FFmpeg's have with -loglevel level+warning; of the
// level "warning" only one about a damaged packet counts.
class LastWords {
 public:
  void Add(absl::string_view bytes);
  // One line, of at most kMaxLine bytes, printable: the first that begins with "ERROR", else the last.
  std::string text() const;
  // The first line in which FFmpeg says that the video is damaged or cut off; empty: none.
  const std::string& damage() const { return damage_; }

 private:
  static constexpr size_t kMaxLine = 300;
  void EndLine();

  std::string line_, last_, error_, damage_;
};

// Another program and its standard output. It is started without a shell, in a process group of its own, so that
// Ctrl-C reaches it through this program alone. Its standard input is empty. The destructor ends it and waits for that.
// When this program dies at once, it ends at its next write.
class Process : public ByteSource {
 public:
  // arguments[0] is the program's path. Errors of posix_spawn().
  static absl::StatusOr<std::unique_ptr<Process>> Start(const std::vector<std::string>& arguments, Patience patience);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() override;

  absl::StatusOr<size_t> Read(uint8_t* to, size_t size) override;
  // After the end of its output: waits two seconds for its exit, then ends it. INVALID_ARGUMENT: the status is not 0,
  // or it had to be ended; with the program's name and its last words.
  absl::Status Finish();
  // Whether Read() has given 0.
  bool output_ended() const { return output_ended_; }
  // The program's name without folders, and ": " and its last words if there are any.
  std::string Told() const;
  // The same with the damage to the video that it told, after Finish(); empty: it told none.
  std::string ToldDamage() const;

 private:
  Process(std::string name, pid_t id, int output, int errors, Patience patience)
      : name_(std::move(name)), id_(id), output_(output), errors_(errors), patience_(std::move(patience)) {}

  // Keeps what there is of standard error. False at its end.
  bool TakeErrors();
  // Waits for the exit, at most until `end`. False: it has not come.
  bool WaitUntil(absl::Time end);
  void Kill(int signal) const;

  const std::string name_;
  const pid_t id_;
  int output_, errors_;  // ends of pipes; -1: closed
  const Patience patience_;
  LastWords last_words_;
  bool output_ended_ = false;
  bool exited_ = false;
  int status_ = 0;  // as waitpid() gave it
};

}  // namespace glint::video

#endif  // GLINT_CLIENT_VIDEO_PROCESS_H_
