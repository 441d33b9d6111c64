// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_parse.hpp"

#include <rapidjson/encodedstream.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <charconv>
#include <cstdint>
#include <locale>
#include <optional>
#include <sstream>
#include <string>

namespace tinkaf::wire {

namespace {

using rapidjson::Document;
using rapidjson::SizeType;

/// @returns nothing if there is no double that large
std::optional<double> read_double(std::string_view text) {
  double x = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), x).ec == std::errc{})
    return x;
  // Beyond all doubles, or so small that it is next to nothing: a stream tells which.
  std::istringstream stream{std::string{text}};
  stream.imbue(std::locale::classic());
  if (stream >> x)
    return x;
  return std::nullopt;
}

/// Hands all on to the document, and numbers read anew.
class ExactNumbers {
public:
  explicit ExactNumbers(Document& document) : document_(document) {}

  bool RawNumber(const char* data, SizeType size, bool /*copy*/) {
    const auto* end = data + size;
    std::int64_t whole = 0;
    if (const auto [at, error] = std::from_chars(data, end, whole);
        at == end && error == std::errc{})
      return document_.Int64(whole);
    std::uint64_t large = 0;
    if (const auto [at, error] = std::from_chars(data, end, large);
        at == end && error == std::errc{})
      return document_.Uint64(large);
    const auto number = read_double({data, size});
    return number && document_.Double(*number);
  }

  bool Null() {
    return document_.Null();
  }
  bool Bool(bool x) {
    return document_.Bool(x);
  }
  bool Int(int x) {
    return document_.Int(x);
  }
  bool Uint(unsigned x) {
    return document_.Uint(x);
  }
  bool Int64(std::int64_t x) {
    return document_.Int64(x);
  }
  bool Uint64(std::uint64_t x) {
    return document_.Uint64(x);
  }
  bool Double(double x) {
    return document_.Double(x);
  }
  bool String(const char* s, SizeType n, bool copy) {
    return document_.String(s, n, copy);
  }
  bool StartObject() {
    return document_.StartObject();
  }
  bool Key(const char* s, SizeType n, bool copy) {
    return document_.Key(s, n, copy);
  }
  bool EndObject(SizeType n) {
    return document_.EndObject(n);
  }
  bool StartArray() {
    return document_.StartArray();
  }
  bool EndArray(SizeType n) {
    return document_.EndArray(n);
  }

private:
  Document& document_;
};

} // namespace

tl::expected<Document, rapidjson::ParseResult> parse_document(std::string_view json) {
  constexpr unsigned flags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag
                             | rapidjson::kParseNumbersAsStringsFlag;
  rapidjson::ParseResult parsed;
  Document document;
  const auto parse = [&](Document& out) {
    ExactNumbers numbers{out};
    rapidjson::MemoryStream bytes{json.data(), json.size()};
    rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> text{bytes};
    parsed = rapidjson::Reader{}.Parse<flags>(text, numbers);
    return !parsed.IsError();
  };
  document.Populate(parse);
  if (parsed.Code() == rapidjson::kParseErrorTermination) // nothing else is refused by us
    parsed.Set(rapidjson::kParseErrorNumberTooBig, parsed.Offset());
  if (parsed.IsError())
    return tl::unexpected{parsed};
  return document;
}

} // namespace tinkaf::wire
