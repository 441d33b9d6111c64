// SPDX-License-Identifier: Apache-2.0
#include "engine/prices.hpp"

#include "api/wire/json_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

namespace tinkaf {

namespace {

using Json = rapidjson::Value;

tl::unexpected<Error> bad(std::string message) {
  return fail(Errc::invalid_argument, std::move(message));
}

std::string text_member(const Json& object, std::string_view name) {
  const auto* found = wire::find_member(object, name);
  return found != nullptr && found->IsString() ? std::string{wire::text_of(*found)} : std::string{};
}

/// @param missing what stands for a field that is not there; it has to be there if absent
Result<double> number(const Json& object, std::string_view field, const std::string& where,
                      std::optional<double> missing = {}) {
  const auto* found = wire::find_member(object, field);
  if (found == nullptr && missing)
    return *missing;
  if (found == nullptr || !found->IsNumber())
    return bad(
        fmt::format("{}.{} {}", where, field, found == nullptr ? "is missing" : "is not a number"));
  return found->GetDouble();
}

Result<Price> read_price(const Json& json, const std::string& where) {
  if (!json.IsObject())
    return bad(where + " is not an object");
  auto prefill = number(json, "prefill", where);
  if (!prefill)
    return fail(std::move(prefill.error()));
  auto price = Price{.prefill = *prefill};
  const std::array fields{std::pair{"cached_prefill", &price.cached_prefill},
                          std::pair{"sample", &price.sample}, std::pair{"train", &price.train}};
  for (const auto& [field, value] : fields) {
    auto missing = value == &price.cached_prefill ? std::optional{*prefill} : std::nullopt;
    auto read = number(json, field, where, missing);
    if (!read)
      return fail(std::move(read.error()));
    *value = *read;
  }
  if (auto valid = validate(price); !valid)
    return bad(where + ": " + valid.error().message);
  return price;
}

std::string_view without_owner(std::string_view model) {
  auto slash = model.rfind('/');
  return slash == std::string_view::npos ? model : model.substr(slash + 1);
}

/// The part of a name that its relatives share.
std::string_view family(std::string_view model) {
  return model.substr(0, model.find_first_of("-:"));
}

} // namespace

Result<void> validate(const Price& price) {
  const std::array fields{std::pair{"prefill", price.prefill},
                          std::pair{"cached_prefill", price.cached_prefill},
                          std::pair{"sample", price.sample}, std::pair{"train", price.train}};
  for (const auto& [field, value] : fields)
    if (!std::isfinite(value) || value < 0.0)
      return bad(fmt::format("price.{} is {}, but must be a number from 0 on", field, value));
  return {};
}

Result<Price> PriceTable::of(std::string_view model) const {
  auto name = without_owner(model);
  if (auto found = models.find(std::string{name}); found != models.end())
    return found->second;
  std::vector<std::string_view> alike;
  for (const auto& [other, price] : models)
    if (family(other) == family(name))
      alike.emplace_back(other);
  auto hint = alike.empty() ? std::string{"none is like it"}
                            : fmt::format("there are {}", fmt::join(alike, ", "));
  return fail(Errc::not_found,
              fmt::format("the prices of {} do not have model `{}` ({}); add its price", date,
                          model, hint));
}

Result<PriceTable> read_prices(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  std::ostringstream text;
  if (in)
    text << in.rdbuf();
  if (!in)
    return fail(Errc::io_error, fmt::format("cannot read the prices in {}", file.string()));
  return parse_prices(text.view(), file.string());
}

Result<PriceTable> parse_prices(std::string_view json, std::string_view name) {
  auto document = wire::parse_json(json, name, Errc::invalid_argument);
  if (!document)
    return fail(std::move(document.error()));
  if (!document->IsObject())
    return bad(fmt::format("{}: is not an object", name));
  PriceTable table{.date = text_member(*document, "date"),
                   .source = text_member(*document, "source"),
                   .models = {}};
  if (table.date.empty())
    return bad(fmt::format("{}: date is missing: prices are those of a day", name));
  constexpr auto field = "usd_per_million_tokens";
  const auto* models = wire::find_member(*document, field);
  if (models == nullptr || !models->IsObject())
    return bad(fmt::format("{}: {} is missing or no object", name, field));
  for (const auto& member : models->GetObject()) {
    std::string model{wire::text_of(member.name)};
    auto price = read_price(member.value, fmt::format("{}: {}.{}", name, field, model));
    if (!price)
      return fail(std::move(price.error()));
    table.models.insert_or_assign(std::move(model), *price);
  }
  return table;
}

} // namespace tinkaf
