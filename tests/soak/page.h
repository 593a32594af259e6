// The server's metrics page, fetched and summed.
#ifndef GLINT_TESTS_SOAK_PAGE_H_
#define GLINT_TESTS_SOAK_PAGE_H_

#include <map>
#include <optional>
#include <string>

namespace glint::soak {

// Every series of a page, by its name with labels as the page has it.
class Page {
 public:
  // GET http://ADDRESS/metrics; nothing if that fails.
  static std::optional<Page> Fetch(const std::string& address);

  // Over all series of the name whose labels contain `labels`; 0 without any.
  double Sum(const std::string& name, const std::string& labels = "") const;
  // All series whose names begin like that.
  void Print(const std::string& prefix) const;
  bool Has(const std::string& name) const;

 private:
  std::map<std::string, double> series_;
};

}  // namespace glint::soak

#endif  // GLINT_TESTS_SOAK_PAGE_H_
