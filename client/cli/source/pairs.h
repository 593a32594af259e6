// Pairs of pictures on their way to the server and back: for glint match and glint stereo.
#ifndef GLINT_CLIENT_CLI_SOURCE_PAIRS_H_
#define GLINT_CLIENT_CLI_SOURCE_PAIRS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/source/source.h"
#include "client/cli/source/waiting.h"

namespace glint::cli {

struct PicturePair {
  std::shared_ptr<const Picture> first, second;  // `second` may be null: one picture with both eyes
};

// Where pairs come from. Thread-compatible.
class PairSource {
 public:
  // Two names: the first picture of one with the first of the other, and so on, until one has no more. One name: each
  // picture with each of the `next` that follow it, or with `next` 0 on its own. Errors of OpenSource().
  static absl::StatusOr<PairSource> Open(const std::vector<std::string>& names, int next, SendFormat format,
                                         const VideoOptions& video);

  // OUT_OF_RANGE at the end. Any other error is about a picture, and the next pair can be asked for.
  absl::Status Next(PicturePair* pair);
  double rate() const { return sources_.front()->rate(); }

 private:
  PairSource(std::vector<std::unique_ptr<Source>> sources, int next) : sources_(std::move(sources)), next_(next) {}

  std::vector<std::unique_ptr<Source>> sources_;
  int next_;
  std::deque<std::shared_ptr<const Picture>> before_;  // the last `next_`, oldest first
  std::deque<PicturePair> ready_;
};

using WaitingPairs = Waiting<PicturePair>;

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_PAIRS_H_
