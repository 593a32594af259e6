// The page's files, which are part of the program.
#ifndef GLINT_CLIENT_VIEW_PAGE_H_
#define GLINT_CLIENT_VIEW_PAGE_H_

#include "absl/strings/string_view.h"

namespace glint::view {

struct PageFile {
  absl::string_view path;  // of the request: "/view.js"
  absl::string_view type;  // "text/javascript; charset=utf-8"
  absl::string_view text;
};

// Null if there is no such file.
const PageFile* FindPageFile(absl::string_view path);

}  // namespace glint::view

#endif  // GLINT_CLIENT_VIEW_PAGE_H_
