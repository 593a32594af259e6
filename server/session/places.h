// Places of one kind, of which a server has a limited number: for calls, streams, watchers, connections.
//
// A peer may hold a share of them. Where all are taken, a newcomer gets the place of the holder that was silent longest
// among those of the site that holds most, if that is more than the newcomer's own site holds, or its own; so whoever
// opens many and says nothing keeps nobody out. Otherwise the newcomer is refused. Within a site, connections that hold
// at least two more than the newcomer's are to it as other sites are.
#ifndef GLINT_SERVER_SESSION_PLACES_H_
#define GLINT_SERVER_SESSION_PLACES_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <unordered_set>

#include "absl/status/status.h"

namespace glint {

// Whom a place is counted for. An empty name is this process itself, which has no share and loses no place.
struct Peer {
  std::string name;
  std::string site;             // the network around it that it may belong to as a whole, or the name again
  std::string connection = {};  // one of those that the peer has, such as of one of its programs
};

// Most places of one peer by default: three quarters of `total`, at least one, but not all.
int ShareOfOnePeer(int total);
// Places that one peer keeps while it uses them, whoever comes: less than half of `total`, so that two peers cannot
// hold all; at least one.
int KeptByOnePeer(int total);

class Places;
struct PlacePart;

// Who has a place or waits for one. Both methods are called with the lock of Places held, and must not call it back.
class PlaceHolder {
 public:
  // The place may be used from now on.
  virtual void PlaceGranted() = 0;
  // Another one needs the place, or is to wait in its place: it should be given back soon. Called at most once, and
  // PlaceGranted() not any more.
  virtual void Preempt() = 0;

 protected:
  ~PlaceHolder() = default;
};

// The place of one holder. The destructor gives it back.
class Place {
 public:
  static constexpr int64_t kBusy = std::numeric_limits<int64_t>::max();

  explicit Place(PlaceHolder* holder) : holder_(holder) {}
  ~Place() { GiveBack(); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // Gives the place back, or waits for it no longer; no-op without one. Takes the lock of Places.
  void GiveBack();
  // When the holder was last heard (MonotonicNs()); kBusy: it waits for the server. Thread-safe, without a lock.
  void SilentSince(int64_t when) { silent_since_.store(when, std::memory_order_relaxed); }
  // The holder waits for nothing but that its client takes the last answer: a newcomer of any site may wait for the
  // place, and Preempt() asks for no more than that it does not take long. Thread-safe, without a lock.
  void Leave() { leaves_.store(true, std::memory_order_relaxed); }
  // It is outside all limits.
  bool reserved() const { return reserved_; }

 private:
  friend class Places;
  struct Count {
    int places = 0;
    int held = 0;  // of these, those of holders that were not preempted
  };

  PlaceHolder* const holder_;
  Places* places_ = nullptr;  // null: none. The rest is guarded by its lock
  std::map<std::string, Count>::iterator peer_, site_;
  std::string connection_;
  PlacePart* part_ = nullptr;
  std::atomic<int64_t> silent_since_{0};
  std::atomic<bool> leaves_{false};
  bool granted_ = false;
  bool preempted_ = false;  // counted no longer
  bool reserved_ = false;
};

// Some of the places, for which there is a limit of their own. Used with the Places that it is a part of alone.
struct PlacePart {
  int limit = 0;
  const char* what = "";      // "streams that track"
  const char* flag = "";      // "--max-track-streams"
  int held = 0, granted = 0;  // guarded by the lock of Places
};

// Thread-safe. Must outlive its places.
class Places {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  struct Limits {
    const char* field = "";   // what errors begin with: "sessions"
    const char* advice = "";  // what they end with: "try again later"; may be empty
    int total = 1;
    const char* flag = "";  // of `total`
    int share = 0;          // of one peer; 0: all
    const char* share_flag = "";
    // Places that busy holders of one site do not lose, and of a part KeptByOnePeer(); 0: they lose none.
    int kept = 0;
    int64_t patience_ns = 0;           // silence after which a place may go to another site
    int64_t own_patience_ns = kNever;  // and to a newcomer of the same site
  };

  explicit Places(const Limits& limits) : limits_(limits) {}
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  enum class Admission {
    kGranted,        // PlaceGranted() was called
    kWaiting,        // it will be, unless the place is given back before
    kNoPlace,        // all are taken
    kNoPart,         // all of the part
    kOverShare,      // the peer has its share
    kOverSiteShare,  // its site has
  };
  // Takes a place for `place`, which must have none, and has none if it is refused. The peer is silent from now on.
  // `part` may be null.
  Admission Enter(const Peer& peer, PlacePart* part, Place* place);
  // Takes one outside all limits, for the server's own use.
  void TakeReserved(Place* place);

  // RESOURCE_EXHAUSTED of a refusal, with limit and flag.
  absl::Status ErrorOf(Admission refusal, const Peer& peer, const PlacePart* part) const;
  // RESOURCE_EXHAUSTED of a holder that was preempted.
  absl::Status PreemptedError() const;

  // Number of places in use, including reserved ones.
  int open() const;
  // Number of places that one peer, and one site, may have.
  int share() const;
  int site_share() const;

 private:
  friend class Place;

  // With the mutex.
  Admission ShareLeft(const Peer& peer) const;
  Place* Victim(const Peer& newcomer, Admission refusal, const PlacePart* part, int64_t now) const;
  void Count(Place* place, int change);
  void Forget(Place* place);
  void GrantWaiting();

  const Limits limits_;
  mutable std::mutex mutex_;
  int held_ = 0;     // places of holders that were not preempted, and of those that wait for such
  int granted_ = 0;  // places in use
  int reserved_ = 0;
  std::map<std::string, Place::Count> peers_, sites_;  // none without places
  std::unordered_set<Place*> holders_;
  std::deque<Place*> waiting_;  // as many as preempted holders, at most
};

}  // namespace glint

#endif  // GLINT_SERVER_SESSION_PLACES_H_
