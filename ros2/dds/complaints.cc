#include <string>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "ros2/dds/endpoints.h"
#include "ros2/names.h"

namespace glint::ros2 {
namespace {

namespace dds = eprosima::fastdds::dds;

struct Names {
  const char* policy;
  const char* more;  // than `less`, what asks for more
  const char* less;
};

Names NamesOf(dds::QosPolicyId_t policy) {
  switch (policy) {
    case dds::RELIABILITY_QOS_POLICY_ID:
      return {"reliability", "reliable", "best effort"};
    case dds::DURABILITY_QOS_POLICY_ID:
      return {"durability", "transient local", "volatile"};
    case dds::DEADLINE_QOS_POLICY_ID:
      return {"deadline", "", ""};
    case dds::LIVELINESS_QOS_POLICY_ID:
      return {"liveliness", "", ""};
    case dds::OWNERSHIP_QOS_POLICY_ID:
      return {"ownership", "", ""};
    case dds::DATAREPRESENTATION_QOS_POLICY_ID:
      return {"data representation", "", ""};
    default:
      return {"quality of service", "", ""};
  }
}

}  // namespace

void Complaints::AddIncompatible(const dds::IncompatibleQosStatus& status, Warnings* warnings) {
  if (status.total_count == told_incompatible_) return;
  told_incompatible_ = status.total_count;
  const Names names = NamesOf(status.last_policy_id);
  const absl::string_view topic = topic_;
  if (*names.more == '\0') {
    warnings->AddOnce(absl::StrCat("topic ", topic, ": a ", is_writer_ ? "subscription" : "publisher",
                                   " elsewhere does not match for its ", names.policy,
                                   ": nothing goes between it and us"));
  } else if (is_writer_) {
    warnings->AddOnce(absl::StrCat("topic ", topic, ": a subscription elsewhere asks for ", names.policy, " ",
                                   names.more, ", we publish ", names.less, ": it gets nothing; publish ", names.more,
                                   ", or let it ask for ", names.less));
  } else {
    warnings->AddOnce(absl::StrCat("topic ", topic, ": a publisher elsewhere offers ", names.policy, " ", names.less,
                                   ", we ask for ", names.more, ": we get nothing from it; subscribe ", names.less,
                                   ", or let it publish ", names.more));
  }
}

void Complaints::AddTypes(const Graph& graph, Warnings* warnings) const {
  for (const RemoteEnd& other : graph.EndsOf(end_.topic)) {
    if (other.is_writer == is_writer_) continue;
    const char* const who = other.is_writer ? "a publisher" : "a subscription";
    if (other.type != end_.type) {
      warnings->AddOnce(absl::StrCat("topic ", topic_, ": ", who, " elsewhere has type ", Echo(other.type),
                                     ", we have ", end_.type, ": nothing goes between it and us"));
    } else if (!other.hash.empty() && !end_.hash.empty() && other.hash != end_.hash) {
      warnings->AddOnce(absl::StrCat("topic ", topic_, ": ", who, " elsewhere has another definition of ", end_.type,
                                     " (", Echo(other.hash), ", we have ", end_.hash, "): messages may not be read"));
    }
  }
}

void Complaints::AddLosses(const SubscriptionCounts& counts, const ReceiveBuffer& buffer, Warnings* warnings) {
  if (counts.lost <= 2 * told_lost_) return;
  told_lost_ = counts.lost;
  std::string cure;
  if (buffer.bytes < buffer.wanted) {
    cure = absl::StrCat("the socket's receive buffer is ", buffer.bytes, " bytes: raise net.core.rmem_max to ",
                        buffer.wanted, ", ");
  }
  absl::StrAppend(&cure, end_.qos.reliable ? "raise the depth of publisher and subscription, "
                                           : "subscribe and publish reliable, ");
  warnings->Add(absl::StrCat("topic ", topic_, ": ", counts.lost, " of ", counts.lost + counts.received,
                             " messages were lost; ", cure, "or publish them compressed or less often"));
}

}  // namespace glint::ros2
