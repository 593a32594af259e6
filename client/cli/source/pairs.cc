#include "client/cli/source/pairs.h"

#include <utility>

#include "features/status_macros.h"

namespace glint::cli {

absl::StatusOr<PairSource> PairSource::Open(const std::vector<std::string>& names, int next, SendFormat format,
                                            const VideoOptions& video) {
  std::vector<std::unique_ptr<Source>> sources;
  for (const std::string& name : names) {
    GLINT_ASSIGN_OR_RETURN(auto source, OpenSource(name, format, video));
    sources.push_back(std::move(source));
  }
  return PairSource(std::move(sources), next);
}

absl::Status PairSource::Next(PicturePair* pair) {
  while (ready_.empty()) {
    auto first = std::make_shared<Picture>();
    absl::Status status = sources_[0]->Next(first.get());
    if (sources_.size() == 2) {
      auto second = std::make_shared<Picture>();
      absl::Status other = sources_[1]->Next(second.get());
      // At the end of either there are no more pairs; a picture that cannot be read costs the other its partner.
      if (absl::IsOutOfRange(status) || absl::IsOutOfRange(other)) return absl::OutOfRangeError("no more pairs");
      if (!status.ok()) return status;
      if (!other.ok()) return other;
      ready_.push_back({std::move(first), std::move(second)});
    } else if (!status.ok()) {
      return status;
    } else if (next_ == 0) {
      ready_.push_back({std::move(first), nullptr});
    } else {
      for (const auto& before : before_) ready_.push_back({before, first});
      before_.push_back(std::move(first));
      if (before_.size() > static_cast<size_t>(next_)) before_.pop_front();
    }
  }
  *pair = std::move(ready_.front());
  ready_.pop_front();
  return absl::OkStatus();
}

}  // namespace glint::cli
