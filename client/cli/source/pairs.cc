#include "client/cli/source/pairs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/base/command.h"
#include "client/cli/source/picture_files.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr size_t kNamesSaid = 5;

}  // namespace

absl::StatusOr<AlignedSource> AlignedSource::Open(const std::vector<std::string>& names, SendFormat format,
                                                  const VideoOptions& video) {
  AlignedSource aligned;
  std::vector<std::vector<std::string>> files;
  for (const std::string& name : names) {
    if (video.bag != nullptr) break;  // no name of files
    GLINT_ASSIGN_OR_RETURN(auto found, PictureFiles(name));
    if (!found.empty()) files.push_back(std::move(found));
  }
  aligned.by_time_ = names.size() > 1 && files.empty();
  if (names.size() > 1 && files.size() == names.size()) {
    for (const std::string& name : names) {
      if (const std::string others = OtherFiles(name); !others.empty()) Complain("", others);
    }
    GLINT_ASSIGN_OR_RETURN(auto together, Align(std::move(files)));
    for (auto& one : together.files) aligned.sources_.push_back(OpenFiles(std::move(one), format));
    aligned.numbers_ = std::move(together.number);
    for (const std::string& name : together.alone) aligned.LeaveOut(name);
  } else {
    // One program may write the pipes of all, and open or fill them in any order.
    VideoOptions options = video;
    options.paired = names.size() > 1;
    for (const std::string& name : names) {
      GLINT_ASSIGN_OR_RETURN(auto source, OpenSource(name, format, options));
      aligned.sources_.push_back(std::move(source));
    }
    for (const auto& source : aligned.sources_) {
      if (options.paired) GLINT_RETURN_IF_ERROR(source->Begin());
    }
  }
  const TimeZero zero = aligned.sources_.front()->time_zero();
  for (const auto& source : aligned.sources_) {
    aligned.by_time_ = aligned.by_time_ && zero != TimeZero::kArrival && source->time_zero() == zero;
  }
  aligned.SetSize(names.size());
  return aligned;
}

AlignedSource AlignedSource::Of(std::vector<std::unique_ptr<Source>> sources, std::vector<int64_t> numbers) {
  AlignedSource aligned;
  aligned.by_time_ = false;
  aligned.SetSize(sources.size());
  aligned.sources_ = std::move(sources);
  aligned.numbers_ = std::move(numbers);
  return aligned;
}

void AlignedSource::SetSize(size_t sources) {
  times_.resize(sources);
  steps_.resize(sources, absl::InfiniteDuration());
  held_.resize(sources);
  filled_.resize(sources);
}

absl::Status AlignedSource::Fill() {
  absl::Status status;
  bool ended = false;
  for (size_t s = 0; s < sources_.size(); ++s) {
    if (filled_[s]) continue;
    const absl::Status next = sources_[s]->Next(&held_[s]);
    filled_[s] = next.ok();
    ended = ended || absl::IsOutOfRange(next);
    if (!absl::IsOutOfRange(next)) status.Update(next);
    if (!next.ok()) continue;
    by_time_ = by_time_ && held_[s].time.has_value();
    if (!by_time_) continue;
    if (times_[s].has_value()) steps_[s] = *held_[s].time - *times_[s];
    times_[s] = held_[s].time;
  }
  if (ended) {
    for (size_t s = 0; s < sources_.size() && goes_on_.empty(); ++s) {
      if (filled_[s] && !sources_[s]->live()) goes_on_ = held_[s].name;
    }
  }
  // The error of a video is its end: the others' frames are what goes on.
  if (ended || (!status.ok() && !by_time_)) filled_.assign(filled_.size(), false);
  return !status.ok() ? status : ended ? absl::OutOfRangeError("no more pictures") : absl::OkStatus();
}

absl::Status AlignedSource::Next(std::vector<Picture>* pictures) {
  ++count_;
  for (bool together = false; !together;) {
    GLINT_RETURN_IF_ERROR(Fill());
    together = true;
    if (!by_time_) break;
    absl::Duration latest = *held_[0].time;
    for (const Picture& picture : held_) latest = std::max(latest, *picture.time);
    const absl::Duration tolerance = Step() / 2;
    for (size_t s = 0; s < held_.size(); ++s) {
      if (latest - *held_[s].time <= tolerance) continue;
      LeaveOut(held_[s].name);
      filled_[s] = together = false;
    }
  }
  filled_.assign(filled_.size(), false);
  pictures->resize(held_.size());
  pictures->swap(held_);
  return absl::OkStatus();
}

absl::Duration AlignedSource::Step() const {
  absl::Duration step = absl::InfiniteDuration();
  for (size_t s = 0; s < sources_.size(); ++s) {
    // Of live frames some are skipped, which makes steps longer.
    const bool is_live = sources_[s]->live();
    const absl::Duration period = absl::Seconds(1 / sources_[s]->rate());
    step = std::min(step, is_live ? period : steps_[s]);
    // The first pictures of a recording need not be of one moment.
    if (sources_[s]->time_zero() == TimeZero::kEpoch) step = std::min(step, period);
  }
  return step;
}

int64_t AlignedSource::number() const {
  const int64_t last = count_ - 1;
  return last < static_cast<int64_t>(numbers_.size()) ? numbers_[static_cast<size_t>(last)] : last;
}

void AlignedSource::LeaveOut(const std::string& name) {
  ++left_out_;
  if (left_out_names_.size() < kNamesSaid) left_out_names_.push_back(name);
}

std::string AlignedSource::LeftOut() const {
  std::string text;
  if (left_out_ > 0) {
    text = absl::StrCat(
        left_out_,
        left_out_ == 1 ? " picture has no partner and is left out: " : " pictures have no partner and are left out: ",
        absl::StrJoin(left_out_names_, ", "), left_out_ > static_cast<int64_t>(kNamesSaid) ? ", ..." : "");
  }
  if (!goes_on_.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", goes_on_,
                    " and what follows it have no partner: another source has ended");
  }
  return text;
}

absl::StatusOr<PairSource> PairSource::Open(const std::vector<std::string>& names, int next, SendFormat format,
                                            const VideoOptions& video) {
  GLINT_ASSIGN_OR_RETURN(auto source, AlignedSource::Open(names, format, video));
  return PairSource(std::move(source), names.size(), next);
}

absl::Status PairSource::Next(PicturePair* pair) {
  while (ready_.empty()) {
    std::vector<Picture> pictures;
    GLINT_RETURN_IF_ERROR(source_.Next(&pictures));
    auto first = std::make_shared<const Picture>(std::move(pictures[0]));
    const int64_t number = source_.number();
    if (names_ == 2) {
      ready_.push_back({std::move(first), std::make_shared<const Picture>(std::move(pictures[1])), number});
    } else if (next_ == 0) {
      ready_.push_back({std::move(first), nullptr, number});
    } else {
      for (const auto& before : before_) ready_.push_back({before, first, number});
      before_.push_back(std::move(first));
      if (before_.size() > static_cast<size_t>(next_)) before_.pop_front();
    }
  }
  *pair = std::move(ready_.front());
  ready_.pop_front();
  return absl::OkStatus();
}

absl::Status PairSource::Peek(PicturePair* pair) {
  GLINT_RETURN_IF_ERROR(Next(pair));
  ready_.push_front(*pair);
  return absl::OkStatus();
}

absl::StatusOr<Shape> ShapeOf(PairSource* source) {
  PicturePair pair;
  GLINT_RETURN_IF_ERROR(source->Peek(&pair));
  const cv::Mat canvas = pair.first->Canvas();
  if (canvas.empty()) return absl::InvalidArgumentError(absl::StrCat(pair.first->name, ": cannot be decoded"));
  return Shape{pair.second == nullptr ? canvas.cols / 2 : canvas.cols, canvas.rows};
}

}  // namespace glint::cli
