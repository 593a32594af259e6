// One file of a recording, of any format.
#ifndef GLINT_BAG_RECORDING_FILE_H_
#define GLINT_BAG_RECORDING_FILE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bag/bag.h"

namespace glint::bag {

// By its content. What Zstandard has compressed as a whole (NAME.db3.zstd, NAME.mcap.zstd) is decompressed into a
// temporary file (TMPDIR, or else /tmp), which has no name once it is open: at most half the space that is free there,
// 16 GiB, and 256 times the file's size. `notes` get what is damaged of it. Errors: those of Bag::Open().
absl::StatusOr<std::unique_ptr<Bag>> OpenRecordingFile(const std::string& path, std::vector<std::string>* notes);

}  // namespace glint::bag

#endif  // GLINT_BAG_RECORDING_FILE_H_
