// tests/bench/run compiles this file to measure the machine's speed: it prints the CPU time of our build as a multiple
// of this file's. The file includes none of our headers and must not change, or ratios of different days cannot be
// compared.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

using Value = std::variant<long, double, std::string, std::vector<std::string>>;

std::map<std::string, Value> parse(std::istream& in) {
  static const std::regex assignment("\\s*([a-z_]+)\\s*=\\s*([^#]*)(#.*)?");
  std::map<std::string, Value> result;
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, assignment)) continue;
    const std::string text = match[2];
    if (text.find(',') != std::string::npos) {
      std::vector<std::string> parts;
      std::istringstream stream(text);
      for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
      std::sort(parts.begin(), parts.end(), std::greater<>());
      result[match[1]] = std::move(parts);
    } else if (text.find('.') != std::string::npos) {
      result[match[1]] = std::stod(text);
    } else {
      result[match[1]] = std::stol(text);
    }
  }
  return result;
}

int main() {
  std::unordered_map<std::string, std::function<void(const Value&)>> printers;
  for (const auto& [name, value] : parse(std::cin)) {
    printers[name] = [key = std::make_shared<std::string>(name)](const Value& shown) {
      std::cout << *key << ": ";
      std::visit(
          [](const auto& inner) {
            if constexpr (requires { inner.begin()->size(); }) {
              for (const auto& part : inner) std::cout << part << ' ';
            } else {
              std::cout << inner;
            }
          },
          shown);
      std::cout << '\n';
    };
    printers[name](value);
  }
}
