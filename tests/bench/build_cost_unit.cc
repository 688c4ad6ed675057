// The unit of measurement for tests/bench/build_cost: the cost of compiling this file is 1. Includes only standard
// headers and must never change, so that results of different days, machines and compilers can be compared.
#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::map<std::string, std::vector<std::string>> words_by_initial(const std::string& text) {
  std::map<std::string, std::vector<std::string>> found;
  std::istringstream words(text);
  for (std::string word; words >> word;) found[word.substr(0, 1)].push_back(word);
  for (auto& [initial, of_initial] : found) std::sort(of_initial.begin(), of_initial.end(), std::greater<>());
  return found;
}

}  // namespace

int main(int count, char** arguments) {
  std::ostringstream text;
  for (int i = 0; i < count; ++i) text << arguments[i] << ' ';
  return static_cast<int>(words_by_initial(text.str()).size() % 2);
}
