#include "ros2/dds/log.h"

#include <fastdds/dds/log/Log.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "ros2/dds/warnings.h"

namespace glint::ros2 {
namespace {

using eprosima::fastdds::dds::Log;

class Consumer : public eprosima::fastdds::dds::LogConsumer {
 public:
  explicit Consumer(Warnings* errors) : errors_(*errors) {}
  void Consume(const Log::Entry& entry) override {
    if (entry.kind == Log::Kind::Error) errors_.AddOnce(absl::StrCat("Fast DDS: ", Echo(entry.message)));
  }

 private:
  Warnings& errors_;
};

}  // namespace

std::vector<std::string> TakeFastDdsErrors(bool flush) {
  static Warnings* const errors = [] {
    auto* const made = new Warnings;  // its log's thread ends after everything else
    Log::SetVerbosity(Log::Kind::Error);
    Log::ClearConsumers();
    Log::RegisterConsumer(std::make_unique<Consumer>(made));
    return made;
  }();
  if (flush) Log::Flush();
  return errors->Take();
}

}  // namespace glint::ros2
