#include "json/value.h"

#include <simdjson.h>

#include <bit>

namespace modelutils::json {

namespace dom = simdjson::dom;

namespace {

// Converts a Place to a simdjson handle. Both consist of a document pointer and a tape index; bit_cast checks that the
// sizes match and the types are trivially copyable. The conversion costs nothing.
template <typename T>
T on_tape(Place place) {
  return std::bit_cast<T>(place);
}

template <typename T>
Place place_of(const T& handle) {
  return std::bit_cast<Place>(handle);
}

template <typename T>
bool get_scalar(Place place, T& out) {
  T value{};
  if (on_tape<dom::element>(place).get(value) != simdjson::SUCCESS) return false;
  out = value;
  return true;
}

template <typename T, typename Container>
bool get_container(Place place, Container& out) {
  T value;
  if (on_tape<dom::element>(place).get(value) != simdjson::SUCCESS) return false;
  out = Container(place_of(value));
  return true;
}

}  // namespace

bool Element::get(std::string_view& out) const {
  return get_scalar(place_, out);
}
bool Element::get(u64& out) const {
  return get_scalar(place_, out);
}
bool Element::get(i64& out) const {
  return get_scalar(place_, out);
}
bool Element::get(double& out) const {
  return get_scalar(place_, out);
}
bool Element::get(bool& out) const {
  return get_scalar(place_, out);
}
bool Element::get(Object& out) const {
  return get_container<dom::object>(place_, out);
}
bool Element::get(Array& out) const {
  return get_container<dom::array>(place_, out);
}

bool Element::is_null() const {
  return on_tape<dom::element>(place_).is_null();
}
bool Element::is_object() const {
  return on_tape<dom::element>(place_).is_object();
}

std::string Element::text() const {
  return simdjson::minify(on_tape<dom::element>(place_));
}

Array::Iterator& Array::Iterator::operator++() {
  auto at = on_tape<dom::array::iterator>(place_);
  place_ = place_of(++at);
  return *this;
}
Array::Iterator Array::begin() const {
  return Iterator(place_of(on_tape<dom::array>(place_).begin()));
}
Array::Iterator Array::end() const {
  return Iterator(place_of(on_tape<dom::array>(place_).end()));
}
std::size_t Array::size() const {
  return on_tape<dom::array>(place_).size();
}
std::optional<Element> Array::at(std::size_t index) const {
  dom::element found;
  if (on_tape<dom::array>(place_).at(index).get(found) != simdjson::SUCCESS) return std::nullopt;
  return Element(place_of(found));
}

Member Object::Iterator::operator*() const {
  const auto at = on_tape<dom::object::iterator>(place_);
  return {at.key(), Element(place_of(at.value()))};
}
Object::Iterator& Object::Iterator::operator++() {
  auto at = on_tape<dom::object::iterator>(place_);
  place_ = place_of(++at);
  return *this;
}
Object::Iterator Object::begin() const {
  return Iterator(place_of(on_tape<dom::object>(place_).begin()));
}
Object::Iterator Object::end() const {
  return Iterator(place_of(on_tape<dom::object>(place_).end()));
}
std::size_t Object::size() const {
  return on_tape<dom::object>(place_).size();
}
std::optional<Element> Object::find(std::string_view key) const {
  dom::element found;
  if (on_tape<dom::object>(place_).at_key(key).get(found) != simdjson::SUCCESS) return std::nullopt;
  return Element(place_of(found));
}

}  // namespace modelutils::json
