#include "bag/bag.h"

#include <filesystem>
#include <system_error>

#include "bag/rosbag2_folder.h"

namespace glint::bag {

absl::StatusOr<std::unique_ptr<Bag>> Bag::Open(const std::string& path) {
  std::error_code error;  // of what cannot be looked at; opening it says what it is
  return std::filesystem::is_directory(path, error) ? OpenRosbag2Folder(path) : OpenOneFile(path);
}

}  // namespace glint::bag
