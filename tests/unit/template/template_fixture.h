// Renders templates with variables given as JSON.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "json/reader.h"
#include "template/render.h"

namespace modelutils::test {

/// Returns the rendered text, or "CODE: MESSAGE (PLACE)".
inline std::string rendered(const std::string& source, const std::string& variables = "{}", i64 now = 0,
                            const jinja::Limits& limits = {}) {
  const auto shown = [](const Error& error) {
    return error.code + ": " + error.message + (error.where.empty() ? "" : " (" + error.where + ")");
  };
  const auto document = json::parse(variables, "variables");
  if (!document) return shown(document.error());
  const auto parsed = jinja::parse(source);
  if (!parsed) return shown(parsed.error());
  jinja::RenderRequest request;
  request.now = now;
  request.limits = limits;
  json::Object object;
  if (!(*document)->root.get(object)) return "variables must be an object";
  for (const json::Member member : object) request.variables.emplace_back(std::string(member.key), member.value);
  const auto text = jinja::render(*parsed, request);
  return text ? *text : shown(text.error());
}

}  // namespace modelutils::test
