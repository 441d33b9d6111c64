// SPDX-License-Identifier: Apache-2.0
#include "api/rest_path.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tinkaf {

namespace {

constexpr std::string_view unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                        "0123456789-._~";

void append_encoded(std::string& out, std::string_view text, char also_kept) {
  for (auto c : text) {
    if (unreserved.find(c) != std::string_view::npos || (c == also_kept && also_kept != '\0'))
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
}

} // namespace

RestPath::RestPath(std::string_view fixed) : text_("/api/v1/") {
  text_ += fixed;
}

RestPath& RestPath::then(std::string_view fixed) {
  text_ += '/';
  text_ += fixed;
  return *this;
}

RestPath& RestPath::id(std::string_view id) {
  text_ += '/';
  append_encoded(text_, id, ':');
  return *this;
}

RestPath& RestPath::checkpoint(const CheckpointRef& checkpoint) {
  std::string_view text = checkpoint.checkpoint_id;
  auto slash = text.find('/');
  return id(text.substr(0, slash)).id(text.substr(slash + 1));
}

RestPath& RestPath::query(std::string_view name, std::string_view value) {
  if (value.empty())
    return *this;
  text_ += has_query_ ? '&' : '?';
  has_query_ = true;
  text_ += name;
  text_ += '=';
  append_encoded(text_, value, '\0');
  return *this;
}

RestPath& RestPath::query(std::string_view name, std::int64_t value) {
  return query(name, std::to_string(value));
}

Result<void> check_id(std::string_view name, std::string_view id) {
  if (id.empty())
    return fail(Errc::invalid_argument, fmt::format("{} is empty", name));
  if (id == "." || id == "..")
    return fail(Errc::invalid_argument, fmt::format("{} is `{}`, which is no id", name, id));
  return {};
}

Result<void> check_run_id(std::string_view id) {
  if (auto checked = check_id("training_run_id", id); !checked)
    return checked;
  auto odd = [](char c) { return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::any_of(id.begin(), id.end(), odd))
    return fail(Errc::invalid_argument,
                fmt::format("training_run_id is `{}`, but must be a run's id, without slashes and "
                            "control characters, such as <session id>:train:0",
                            id));
  return {};
}

Result<void> check(const CheckpointRef& checkpoint) {
  if (auto run = check_run_id(checkpoint.training_run_id); !run)
    return run;
  std::string_view text = checkpoint.checkpoint_id;
  if (text.empty())
    return fail(Errc::invalid_argument, "checkpoint_id is empty");
  auto slash = text.find('/');
  auto kind = text.substr(0, slash);
  if (slash == std::string_view::npos || text.find('/', slash + 1) != std::string_view::npos
      || (kind != "weights" && kind != "sampler_weights"))
    return fail(Errc::invalid_argument, fmt::format("checkpoint_id is `{}`, but must be "
                                                    "weights/<name> or sampler_weights/<name>",
                                                    text));
  return check_id("the name in checkpoint_id", text.substr(slash + 1));
}

} // namespace tinkaf
