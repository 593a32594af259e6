// Names of files are bytes; what programs read of them is text.
#ifndef GLINT_FEATURES_UTF8_H_
#define GLINT_FEATURES_UTF8_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace glint {

// Bytes of the character in UTF-8 (RFC 3629) that `text`, which is not empty, begins with; 0 if there is none.
size_t Utf8Size(absl::string_view text);

// `bytes` in UTF-8: each byte that is no part of a character becomes "\xe4", and a backslash before "x" and two
// hexadecimal digits in lower case becomes "\x5c", so that different bytes have different texts.
// python/glint/names.py has the same rule.
std::string Utf8Text(absl::string_view bytes);

}  // namespace glint

#endif  // GLINT_FEATURES_UTF8_H_
