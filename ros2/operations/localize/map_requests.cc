#include "ros2/operations/localize/map_requests.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/status_macros.h"

namespace glint::ros2 {

void MapRequests::Begin() {
  const absl::MutexLock lock(&mutex_);
  if (!is_closed_) no_stream_ = absl::OkStatus();
}

void MapRequests::End(const absl::Status& why) {
  constexpr char kText[] = "no stream to a server is open";
  FailAll(why.ok() ? absl::UnavailableError(kText) : absl::Status(why.code(), absl::StrCat(kText, ": ", why.message())),
          /*for_good=*/false);
}

void MapRequests::Close() { FailAll(absl::CancelledError("the node ends"), /*for_good=*/true); }

void MapRequests::FailAll(const absl::Status& why, bool for_good) {
  std::vector<Request> failed;
  {
    const absl::MutexLock lock(&mutex_);
    is_closed_ |= for_good;
    no_stream_ = why;
    failed = std::exchange(requests_, {});
  }
  for (const Request& request : failed) request.done(why);
}

void MapRequests::Add(Kind kind, const std::string& name, Done done) {
  absl::Status no_stream;
  {
    const absl::MutexLock lock(&mutex_);
    no_stream = no_stream_;
    if (no_stream.ok()) {
      requests_.push_back({kind, name, next_id_++, std::move(done)});
      return;
    }
  }
  done(no_stream);
}

absl::Status MapRequests::Write(client::LocalizeStream* stream) {
  while (true) {
    Kind kind = Kind::kSave;
    std::string name;
    uint64_t id = 0;
    {
      const absl::MutexLock lock(&mutex_);
      const auto next =
          std::find_if(requests_.begin(), requests_.end(), [](const Request& request) { return !request.written; });
      if (next == requests_.end()) return absl::OkStatus();
      next->written = true;
      kind = next->kind;
      name = next->name;
      id = next->id;
    }
    GLINT_RETURN_IF_ERROR(kind == Kind::kSave ? stream->SaveMap(id, name) : stream->LoadMap(id, name));
  }
}

void MapRequests::Answered(uint64_t id, const absl::Status& status) {
  Done done;
  {
    const absl::MutexLock lock(&mutex_);
    const auto found =
        std::find_if(requests_.begin(), requests_.end(), [id](const Request& request) { return request.id == id; });
    if (found == requests_.end()) return;
    done = std::move(found->done);
    requests_.erase(found);
  }
  done(status);
}

}  // namespace glint::ros2
