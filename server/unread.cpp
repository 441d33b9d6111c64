// SPDX-License-Identifier: Apache-2.0
#include "server/unread.hpp"

#include "api/wire/json_reader.hpp"
#include "server/digest.hpp"
#include "server/replies.hpp"

#include <algorithm>

namespace tinkaf::server {

namespace {

/// Steps over the fields of a protobuf message without knowing them.
class FieldReader {
public:
  explicit FieldReader(std::string_view bytes) : rest_(bytes) {}

  /// Goes to the next field; false at the end or where the bytes make no sense.
  bool next() {
    const auto tag = varint();
    if (!tag)
      return false;
    field_ = *tag >> 3;
    number_.reset();
    bytes_.reset();
    switch (*tag & 7) {
    case 0:
      return (number_ = varint()).has_value();
    case 1:
      return skip(8);
    case 2: {
      const auto size = varint();
      if (!size || *size > rest_.size())
        return false;
      bytes_ = rest_.substr(0, *size);
      return skip(*size);
    }
    case 5:
      return skip(4);
    default:
      return false;
    }
  }

  [[nodiscard]] std::uint64_t field() const noexcept {
    return field_;
  }
  [[nodiscard]] const std::optional<std::uint64_t>& number() const noexcept {
    return number_;
  }
  [[nodiscard]] const std::optional<std::string_view>& bytes() const noexcept {
    return bytes_;
  }

private:
  bool skip(std::size_t size) {
    if (size > rest_.size())
      return false;
    rest_.remove_prefix(size);
    return true;
  }

  std::optional<std::uint64_t> varint() {
    std::uint64_t out = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      out |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80)
        return out;
    }
    return std::nullopt;
  }

  std::string_view rest_;
  std::uint64_t field_ = 0;
  std::optional<std::uint64_t> number_;
  std::optional<std::string_view> bytes_;
};

/// Fields 1 and 2 of `ForwardBackwardRequest`.
UnreadOperation peek_protobuf(std::string_view body) {
  UnreadOperation out;
  FieldReader reader{body};
  while (reader.next()) {
    if (reader.field() == 1 && reader.bytes())
      out.model_id = *reader.bytes();
    if (reader.field() == 2 && reader.number() && *reader.number() <= INT32_MAX)
      out.seq_id = static_cast<std::int64_t>(*reader.number());
  }
  return out;
}

UnreadOperation peek_json(std::string_view body) {
  UnreadOperation out;
  const auto json = wire::parse_json(body, "body", Errc::invalid_argument);
  if (!json || !json->IsObject())
    return out;
  if (const auto* id = wire::find_member(*json, "model_id"); id != nullptr && id->IsString())
    out.model_id = wire::text_of(*id);
  if (const auto* seq_id = wire::find_member(*json, "seq_id");
      seq_id != nullptr && seq_id->IsInt64())
    out.seq_id = seq_id->GetInt64();
  return out;
}

} // namespace

UnreadOperation peek(std::string_view body, bool protobuf) {
  return protobuf ? peek_protobuf(body) : peek_json(body);
}

bool is_protobuf(const HttpCall& call) {
  return header(call.headers, "content-type").find("protobuf") != std::string_view::npos;
}

HttpReply refuse_unread(ServiceCore& core, const HttpCall& call, const Error& error) {
  const auto operation = peek(call.body, is_protobuf(call));
  if (operation.seq_id && *operation.seq_id >= 1)
    if (const auto model = core.model(operation.model_id))
      return core.submit(
          *model,
          {.model_id = operation.model_id,
           .seq_id = operation.seq_id,
           .digest = digest_of(call.path, call.body),
           .check = [error](ServiceCore&, Model&) -> Result<Operation> { return fail(error); }},
          call);
  return error_reply(error);
}

} // namespace tinkaf::server
