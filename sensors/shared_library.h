// An optional library, such as the driver's.
#ifndef GLINT_SENSORS_SHARED_LIBRARY_H_
#define GLINT_SENSORS_SHARED_LIBRARY_H_

#include <dlfcn.h>

#include <string>

namespace glint {

// Loaded for as long as the object lives. Thread-compatible.
class SharedLibrary {
 public:
  // `path`: as dlopen() takes it.
  explicit SharedLibrary(const std::string& path) : library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  ~SharedLibrary() {
    if (library_ != nullptr) dlclose(library_);
  }
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  bool loaded() const { return library_ != nullptr; }
  // False if the library, or the function in it, is not there.
  template <typename Function>
  bool Find(const char* name, Function* function) const {
    *function = library_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library_, name));
    return *function != nullptr;
  }

 private:
  void* const library_;
};

}  // namespace glint

#endif  // GLINT_SENSORS_SHARED_LIBRARY_H_
