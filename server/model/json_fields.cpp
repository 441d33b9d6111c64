// SPDX-License-Identifier: Apache-2.0
#include "server/model/json_fields.hpp"

#include "server/model/atomic_file.hpp"

#include <fmt/format.h>
#include <rapidjson/error/en.h>

#include <cmath>

namespace tinkaf::model {

Result<JsonFields> JsonFields::read(const std::filesystem::path& file) {
  const auto text = read_text_file(file);
  if (!text)
    return fail(text.error());
  JsonFields out;
  out.file_ = file.string();
  out.document_.Parse<rapidjson::kParseIterativeFlag>(text->data(), text->size());
  if (out.document_.HasParseError())
    return fail(Errc::invalid_argument,
                fmt::format("{}: at byte {}: {}", out.file_, out.document_.GetErrorOffset(),
                            rapidjson::GetParseError_En(out.document_.GetParseError())));
  if (!out.document_.IsObject())
    return fail(Errc::invalid_argument, fmt::format("{}: is not a JSON object", out.file_));
  return out;
}

const rapidjson::Value* JsonFields::find(const char* name) const {
  const auto found = document_.FindMember(name);
  return found == document_.MemberEnd() || found->value.IsNull() ? nullptr : &found->value;
}

bool JsonFields::present(const char* name) const {
  return find(name) != nullptr;
}

bool JsonFields::empty() const {
  return document_.ObjectEmpty();
}

std::int64_t JsonFields::integer(const char* name, std::int64_t lowest, std::int64_t highest,
                                 std::optional<std::int64_t> otherwise) {
  const auto* x = find(name);
  if (x == nullptr && otherwise)
    return *otherwise;
  if (x != nullptr && x->IsInt64() && x->GetInt64() >= lowest && x->GetInt64() <= highest)
    return x->GetInt64();
  bad(name, fmt::format("must be an integer from {} to {}", lowest, highest));
  return lowest;
}

double JsonFields::number(const char* name, double otherwise) {
  const auto* x = find(name);
  if (x == nullptr)
    return otherwise;
  if (x->IsNumber() && std::isfinite(x->GetDouble()))
    return x->GetDouble();
  bad(name, "must be a number");
  return otherwise;
}

bool JsonFields::flag(const char* name) {
  const auto* x = find(name);
  if (x == nullptr || x->IsBool())
    return x != nullptr && x->GetBool();
  bad(name, "must be true or false");
  return false;
}

std::string JsonFields::text(const char* name) {
  const auto* x = find(name);
  if (x == nullptr || x->IsString())
    return x == nullptr ? "" : std::string{x->GetString(), x->GetStringLength()};
  bad(name, "must be a string");
  return {};
}

std::vector<std::string> JsonFields::texts(const char* name) {
  std::vector<std::string> out;
  const auto* x = find(name);
  if (x == nullptr || !x->IsArray()) {
    bad(name, "must be a list of strings");
    return out;
  }
  for (const auto& item : x->GetArray()) {
    if (!item.IsString()) {
      bad(name, "must be a list of strings");
      return {};
    }
    out.emplace_back(item.GetString(), item.GetStringLength());
  }
  return out;
}

std::vector<std::int64_t> JsonFields::integers(const char* name, std::int64_t lowest,
                                               std::int64_t highest) {
  std::vector<std::int64_t> out;
  const auto* x = find(name);
  if (x == nullptr)
    return out;
  const auto take = [&](const rapidjson::Value& item) {
    if (item.IsInt64() && item.GetInt64() >= lowest && item.GetInt64() <= highest)
      out.push_back(item.GetInt64());
    else
      bad(name, fmt::format("must be integers from {} to {}", lowest, highest));
  };
  if (!x->IsArray())
    take(*x);
  else
    for (const auto& item : x->GetArray())
      take(item);
  return out;
}

JsonFields JsonFields::object(const char* name) {
  JsonFields out;
  out.file_ = fmt::format("{}: {}", file_, name);
  out.document_.SetObject();
  const auto* x = find(name);
  if (x == nullptr || !x->IsObject())
    bad(name, "must be an object");
  else
    out.document_.CopyFrom(*x, out.document_.GetAllocator());
  return out;
}

void JsonFields::take_fault(const JsonFields& part) {
  if (!fault_)
    fault_ = part.fault_;
}

std::map<std::string, std::string> JsonFields::strings(const char* name) {
  std::map<std::string, std::string> out;
  const auto* x = find(name);
  if (x == nullptr || !x->IsObject()) {
    bad(name, "must be an object");
    return out;
  }
  for (const auto& member : x->GetObject()) {
    if (!member.value.IsString()) {
      bad(name, "must hold strings");
      return {};
    }
    out.emplace(std::string{member.name.GetString(), member.name.GetStringLength()},
                std::string{member.value.GetString(), member.value.GetStringLength()});
  }
  return out;
}

void JsonFields::bad(std::string_view name, std::string_view what) {
  if (!fault_)
    fault_ = fmt::format("{}: {}: {}", file_, name, what);
}

Result<void> JsonFields::check() const {
  if (fault_)
    return fail(Errc::invalid_argument, *fault_);
  return {};
}

} // namespace tinkaf::model
