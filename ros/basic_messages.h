// ROS's std_msgs, builtin_interfaces, rosgraph_msgs, diagnostic_msgs and std_srvs; see messages.h.
#ifndef GLINT_ROS_BASIC_MESSAGES_H_
#define GLINT_ROS_BASIC_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace glint::ros {

// Since the epoch; of a simulation, since its start. In ROS 1 `sec` has no sign.
struct Time {
  static constexpr char kName[] = "builtin_interfaces/msg/Time";
  int32_t sec = 0;
  uint32_t nanosec = 0;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("sec", self.sec);
    v("nanosec", self.nanosec);
  }
};

struct Duration {
  static constexpr char kName[] = "builtin_interfaces/msg/Duration";
  int32_t sec = 0;
  uint32_t nanosec = 0;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("sec", self.sec);
    v("nanosec", self.nanosec);
  }
};

inline int64_t NanosecondsOf(const Time& time) { return time.sec * int64_t{1'000'000'000} + time.nanosec; }
// Of `nanoseconds` in -2^31 * 10^9 .. 2^31 * 10^9 - 1.
inline Time TimeOf(int64_t nanoseconds) {
  const int64_t rest = (nanoseconds % 1'000'000'000 + 1'000'000'000) % 1'000'000'000;
  return {static_cast<int32_t>((nanoseconds - rest) / 1'000'000'000), static_cast<uint32_t>(rest)};
}

// ROS 1's has a number `seq` in front, which is passed over.
struct Header {
  static constexpr char kName[] = "std_msgs/msg/Header";
  Time stamp;
  std::string frame_id;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("stamp", self.stamp);
    v("frame_id", self.frame_id);
  }
};

struct String {
  static constexpr char kName[] = "std_msgs/msg/String";
  std::string data;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("data", self.data);
  }
};

struct Clock {
  static constexpr char kName[] = "rosgraph_msgs/msg/Clock";
  Time clock;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("clock", self.clock);
  }
};

struct KeyValue {
  static constexpr char kName[] = "diagnostic_msgs/msg/KeyValue";
  std::string key;
  std::string value;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("key", self.key);
    v("value", self.value);
  }
};

struct DiagnosticStatus {
  static constexpr char kName[] = "diagnostic_msgs/msg/DiagnosticStatus";
  static constexpr std::byte kOk{0}, kWarn{1}, kError{2}, kStale{3};
  std::byte level = kOk;
  std::string name;
  std::string message;
  std::string hardware_id;
  std::vector<KeyValue> values;

  template <class V>
  static void VisitConstants(V&& v) {
    v("OK", kOk);
    v("WARN", kWarn);
    v("ERROR", kError);
    v("STALE", kStale);
  }
  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("level", self.level);
    v("name", self.name);
    v("message", self.message);
    v("hardware_id", self.hardware_id);
    v("values", self.values);
  }
};

struct DiagnosticArray {
  static constexpr char kName[] = "diagnostic_msgs/msg/DiagnosticArray";
  Header header;
  std::vector<DiagnosticStatus> status;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("header", self.header);
    v("status", self.status);
  }
};

// Services: a message each way. The name of the service is in theirs.
struct EmptyRequest {
  static constexpr char kName[] = "std_srvs/srv/Empty_Request";
  template <class Self, class V>
  static void Visit(Self&, V&&) {}
};
struct EmptyResponse {
  static constexpr char kName[] = "std_srvs/srv/Empty_Response";
  template <class Self, class V>
  static void Visit(Self&, V&&) {}
};
struct Empty {
  static constexpr char kName[] = "std_srvs/srv/Empty";
  using Request = EmptyRequest;
  using Response = EmptyResponse;
};

struct TriggerRequest {
  static constexpr char kName[] = "std_srvs/srv/Trigger_Request";
  template <class Self, class V>
  static void Visit(Self&, V&&) {}
};
struct TriggerResponse {
  static constexpr char kName[] = "std_srvs/srv/Trigger_Response";
  bool success = false;
  std::string message;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("success", self.success);
    v("message", self.message);
  }
};
struct Trigger {
  static constexpr char kName[] = "std_srvs/srv/Trigger";
  using Request = TriggerRequest;
  using Response = TriggerResponse;
};

struct SetBoolRequest {
  static constexpr char kName[] = "std_srvs/srv/SetBool_Request";
  bool data = false;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("data", self.data);
  }
};
struct SetBoolResponse {
  static constexpr char kName[] = "std_srvs/srv/SetBool_Response";
  bool success = false;
  std::string message;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("success", self.success);
    v("message", self.message);
  }
};
struct SetBool {
  static constexpr char kName[] = "std_srvs/srv/SetBool";
  using Request = SetBoolRequest;
  using Response = SetBoolResponse;
};

}  // namespace glint::ros

#endif  // GLINT_ROS_BASIC_MESSAGES_H_
