// Early returns of functions that return absl::Status or absl::StatusOr.
#ifndef GLINT_FEATURES_STATUS_MACROS_H_
#define GLINT_FEATURES_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the absl::Status that `expression` gives, unless it is OK.
//
//   GLINT_RETURN_IF_ERROR(ValidateOptions(options));
#define GLINT_RETURN_IF_ERROR(expression)        \
  do {                                           \
    absl::Status glint_status = (expression);    \
    if (!glint_status.ok()) return glint_status; \
  } while (false)

// Assigns the value of the absl::StatusOr that the second argument gives to the first, a declaration or an lvalue, or
// returns its status. Several statements: not the body of an `if` without braces. A declaration with a comma of its own
// needs an alias.
//
//   GLINT_ASSIGN_OR_RETURN(const Frame frame, ReadFrame(path));
#define GLINT_ASSIGN_OR_RETURN(declaration, ...) \
  GLINT_ASSIGN_OR_RETURN_AS(GLINT_STATUS_CONCAT(glint_status_or_, __LINE__), declaration, (__VA_ARGS__))

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot have them.
#define GLINT_ASSIGN_OR_RETURN_AS(name, declaration, expression) \
  auto name = expression;                                        \
  if (!name.ok()) return std::move(name).status();               \
  declaration = *std::move(name)
// NOLINTEND(bugprone-macro-parentheses)

#define GLINT_STATUS_CONCAT(a, b) GLINT_STATUS_CONCAT_AGAIN(a, b)
#define GLINT_STATUS_CONCAT_AGAIN(a, b) a##b

#endif  // GLINT_FEATURES_STATUS_MACROS_H_
