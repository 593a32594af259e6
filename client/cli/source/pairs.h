// Pictures of several sources that belong together, on their way to the server and back.
#ifndef GLINT_CLIENT_CLI_SOURCE_PAIRS_H_
#define GLINT_CLIENT_CLI_SOURCE_PAIRS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/source/source.h"
#include "client/cli/source/waiting.h"
#include "features/types.h"

namespace glint::cli {

// One picture of each of several sources, again and again. Files belong together by name or time (picture_files.h);
// frames of videos by their times, within half the time since the last frame of the source that has more of them, and
// of live sources whose times are of the system's clock, and of a recording's topics, within half the period of the
// faster one; what has no time, and what else is live, as it comes. Thread-compatible.
class AlignedSource {
 public:
  // Errors of OpenSource() and Align().
  static absl::StatusOr<AlignedSource> Open(const std::vector<std::string>& names, SendFormat format,
                                            const VideoOptions& video);

  // Of sources whose pictures belong together as they come. `numbers`: number() of each.
  static AlignedSource Of(std::vector<std::unique_ptr<Source>> sources, std::vector<int64_t> numbers);

  // OUT_OF_RANGE at the end of any. Any other error is about a picture, which costs its partners, too, and the next
  // ones can be asked for.
  absl::Status Next(std::vector<Picture>* pictures);
  // How many come before the last ones, with those that could not be read or, of two sources of files, were left out.
  int64_t number() const;
  double rate() const { return sources_.front()->rate(); }

  // What was left out so far since it has no partner, for people: how many, and the first names. Empty: nothing.
  std::string LeftOut() const;

 private:
  AlignedSource() = default;

  // Of what is kept for each source.
  void SetSize(size_t sources);
  // Fills `held_`. Its errors are those of Next().
  absl::Status Fill();
  void LeaveOut(const std::string& name);
  // Between frames, of the source that has more of them.
  absl::Duration Step() const;

  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<int64_t> numbers_;  // of aligned files
  bool by_time_ = true;           // until a picture has none; not for files, which are aligned, nor times of arrival
  std::vector<std::optional<absl::Duration>> times_;  // of each source's last frame, once there was one
  std::vector<absl::Duration> steps_;                 // to it from the one before; infinite: it is the first one
  std::vector<Picture> held_;                         // the first `filled_` are pictures
  std::vector<bool> filled_;
  int64_t count_ = 0;  // of calls of Next()
  int64_t left_out_ = 0;
  std::vector<std::string> left_out_names_;  // the first ones
  std::string goes_on_;                      // what goes on after another one's end; empty: nothing
};

struct PicturePair {
  std::shared_ptr<const Picture> first, second;  // `second` may be null: one picture with both eyes
  int64_t number = 0;                            // AlignedSource::number()
};

// Where pairs come from: for glint match, stereo and localize. Thread-compatible.
class PairSource {
 public:
  // Two names: pictures of one with those of the other, as AlignedSource has them. One name: each picture with each of
  // the `next` that follow it, or with `next` 0 on its own.
  static absl::StatusOr<PairSource> Open(const std::vector<std::string>& names, int next, SendFormat format,
                                         const VideoOptions& video);

  // AlignedSource::Of() two sources.
  static PairSource Of(std::vector<std::unique_ptr<Source>> sources, std::vector<int64_t> numbers) {
    return PairSource(AlignedSource::Of(std::move(sources), std::move(numbers)), 2, 0);
  }

  // OUT_OF_RANGE at the end. Any other error is about a picture, and the next pair can be asked for.
  absl::Status Next(PicturePair* pair);
  // The pair that Next() gives next, or its error, which is then over.
  absl::Status Peek(PicturePair* pair);
  double rate() const { return source_.rate(); }
  std::string LeftOut() const { return source_.LeftOut(); }

 private:
  PairSource(AlignedSource source, size_t names, int next) : source_(std::move(source)), names_(names), next_(next) {}

  AlignedSource source_;
  size_t names_;
  int next_;
  std::deque<std::shared_ptr<const Picture>> before_;  // the last `next_`, oldest first
  std::deque<PicturePair> ready_;
};

// Of each image of the source's next pair, pixels; of half of a picture that has both. Errors of PairSource::Peek(),
// and INVALID_ARGUMENT: cannot be decoded.
absl::StatusOr<Shape> ShapeOf(PairSource* source);

using WaitingPairs = Waiting<PicturePair>;

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_PAIRS_H_
