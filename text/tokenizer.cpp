// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer.hpp"

#include "text/byte_alphabet.hpp"
#include "text/merges.hpp"
#include "text/splitter.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <unordered_map>

namespace tinkaf::text {

namespace {

using Json = rapidjson::Value;

/// What ByteLevel does when it is told to cut by itself: the expression of GPT-2.
constexpr std::string_view byte_level_pattern
    = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// More ids than this are a damaged file, not a vocabulary.
constexpr std::int64_t most_ids = 1 << 24;

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view x) const noexcept {
    return std::hash<std::string_view>{}(x);
  }
};
using TokenIds = std::unordered_map<std::string, std::int32_t, StringHash, std::equal_to<>>;

struct AddedToken {
  std::string content;
  std::int32_t id = 0;
};

std::string_view view(const Json& x) {
  return {x.GetString(), x.GetStringLength()};
}

const Json* member(const Json& object, const char* name) {
  if (!object.IsObject())
    return nullptr;
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

bool is_true(const Json& object, const char* name) {
  const auto* x = member(object, name);
  return x != nullptr && x->IsTrue();
}

std::string_view type_of(const Json& object) {
  const auto* x = member(object, "type");
  return x != nullptr && x->IsString() ? view(*x) : std::string_view{};
}

} // namespace

struct Tokenizer::Tables {
  std::vector<std::string> bytes; ///< of each id
  TokenIds ids;                   ///< by bytes, added tokens by their content
  TokenIds whole;                 ///< pieces that are one token whatever the merges say
  Merges merges;
  std::optional<Splitter> splitter;
  std::vector<AddedToken> added; ///< longest first
  std::array<bool, 256> starts_added{};
  bool ignore_merges = false;
  std::optional<std::int32_t> bos;
  std::optional<std::int32_t> eos;

  void set(std::int32_t id, std::string text) {
    if (bytes.size() <= static_cast<std::size_t>(id))
      bytes.resize(static_cast<std::size_t>(id) + 1);
    bytes[static_cast<std::size_t>(id)] = std::move(text);
  }

  std::optional<std::int32_t> find(std::string_view text) const {
    const auto found = ids.find(text);
    return found == ids.end() ? std::nullopt : std::optional{found->second};
  }

  const AddedToken* added_at(std::string_view text, std::size_t position) const {
    if (!starts_added[static_cast<unsigned char>(text[position])])
      return nullptr;
    const auto rest = text.substr(position);
    const auto found = std::find_if(added.begin(), added.end(), [&](const AddedToken& x) {
      return rest.starts_with(x.content);
    });
    return found == added.end() ? nullptr : &*found;
  }

  void encode_plain(std::string_view text, std::vector<std::int32_t>& out) const {
    const auto piece = [&](std::string_view x) {
      if (ignore_merges)
        if (const auto found = whole.find(x); found != whole.end()) {
          out.push_back(found->second);
          return;
        }
      merges.apply(x, out);
    };
    if (splitter)
      splitter->split(text, piece);
    else
      piece(text);
  }
};

namespace {

class Reader {
public:
  Reader(std::string_view name) : name_(name) {}

  tl::unexpected<Error> bad(std::string_view field, std::string_view what) const {
    return fail(Errc::invalid_argument, fmt::format("{}: {}: {}", name_, field, what));
  }

  Result<std::int32_t> id(const Json& x, std::string_view field) const {
    if (!x.IsInt64() || x.GetInt64() < 0 || x.GetInt64() >= most_ids)
      return bad(field, fmt::format("must be an integer from 0 to {}", most_ids - 1));
    return static_cast<std::int32_t>(x.GetInt64());
  }

private:
  std::string_view name_;
};

/// The parts of a step of the pre-tokenizer that we know: Split by a pattern, and ByteLevel.
Result<void> read_pre_tokenizer(const Reader& reader, const Json& step,
                                std::optional<std::string>& pattern) {
  const auto type = type_of(step);
  if (type == "Sequence") {
    const auto* parts = member(step, "pretokenizers");
    if (parts == nullptr || !parts->IsArray())
      return reader.bad("pre_tokenizer.pretokenizers", "must be a list");
    for (const auto& part : parts->GetArray())
      if (auto done = read_pre_tokenizer(reader, part, pattern); !done)
        return done;
    return {};
  }
  if (type == "ByteLevel") {
    if (is_true(step, "add_prefix_space"))
      return reader.bad("pre_tokenizer.add_prefix_space", "only false is supported");
    const auto* use_regex = member(step, "use_regex");
    if (use_regex == nullptr || use_regex->IsTrue()) {
      if (pattern)
        return reader.bad("pre_tokenizer", "only one pattern is supported");
      pattern = std::string{byte_level_pattern};
    }
    return {};
  }
  if (type == "Split") {
    const auto* rule = member(step, "pattern");
    const auto* regex = rule == nullptr ? nullptr : member(*rule, "Regex");
    if (regex == nullptr || !regex->IsString())
      return reader.bad("pre_tokenizer.pattern.Regex", "must be a string");
    const auto* behavior = member(step, "behavior");
    if (behavior == nullptr || !behavior->IsString() || view(*behavior) != "Isolated"
        || is_true(step, "invert"))
      return reader.bad("pre_tokenizer.behavior", "only \"Isolated\", not inverted, is supported");
    if (pattern)
      return reader.bad("pre_tokenizer", "only one pattern is supported");
    pattern = std::string{view(*regex)};
    return {};
  }
  return reader.bad("pre_tokenizer.type", fmt::format("\"{}\" is not supported", type));
}

} // namespace

Tokenizer::Tokenizer(std::shared_ptr<const Tables> tables) : tables_(std::move(tables)) {}

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  if (!in)
    return fail(Errc::io_error, fmt::format("cannot read {}", file.string()));
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  return parse(text, file.string());
}

Result<Tokenizer> Tokenizer::parse(std::string_view json, std::string_view name) {
  const Reader reader{name};
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError())
    return reader.bad(fmt::format("at byte {}", document.GetErrorOffset()),
                      rapidjson::GetParseError_En(document.GetParseError()));
  const auto* model = member(document, "model");
  if (model == nullptr || type_of(*model) != "BPE")
    return reader.bad("model.type", "must be \"BPE\"");
  if (is_true(*model, "byte_fallback"))
    return reader.bad("model.byte_fallback", "only byte-level vocabularies are supported");
  if (const auto* normalizer = member(document, "normalizer");
      normalizer != nullptr && !normalizer->IsNull())
    return reader.bad("normalizer", fmt::format("\"{}\" is not supported", type_of(*normalizer)));

  auto tables = std::make_shared<Tables>();
  tables->ignore_merges = is_true(*model, "ignore_merges");

  const auto* added = member(document, "added_tokens");
  if (added != nullptr && added->IsArray())
    for (const auto& x : added->GetArray()) {
      const auto* content = member(x, "content");
      const auto* id = member(x, "id");
      if (content == nullptr || !content->IsString() || content->GetStringLength() == 0
          || id == nullptr)
        return reader.bad("added_tokens", "each needs a content and an id");
      const auto number = reader.id(*id, "added_tokens.id");
      if (!number)
        return fail(number.error());
      tables->added.push_back({std::string{view(*content)}, *number});
    }

  const auto* vocab = member(*model, "vocab");
  if (vocab == nullptr || !vocab->IsObject())
    return reader.bad("model.vocab", "must be an object");
  for (const auto& entry : vocab->GetObject()) {
    const auto text = view(entry.name);
    const auto id = reader.id(entry.value, fmt::format("model.vocab[\"{}\"]", text));
    if (!id)
      return fail(id.error());
    auto bytes = from_printable(text);
    const bool is_added
        = std::any_of(tables->added.begin(), tables->added.end(),
                      [&](const AddedToken& x) { return x.id == *id && x.content == text; });
    if (is_added)
      continue;
    if (!bytes)
      return reader.bad(fmt::format("model.vocab[\"{}\"]", text),
                        "holds a character that stands for no byte");
    tables->ids.emplace(*bytes, *id);
    if (tables->ignore_merges)
      tables->whole.emplace(*bytes, *id);
    tables->set(*id, std::move(*bytes));
  }
  for (int byte = 0; byte < 256; ++byte) {
    const auto id = tables->find(std::string(1, static_cast<char>(byte)));
    if (!id)
      return reader.bad("model.vocab", fmt::format("has no token for byte {}", byte));
    tables->merges.byte_token[static_cast<std::size_t>(byte)] = *id;
  }

  const auto* merges = member(*model, "merges");
  if (merges == nullptr || !merges->IsArray())
    return reader.bad("model.merges", "must be a list");
  std::int32_t rank = 0;
  for (const auto& rule : merges->GetArray()) {
    std::string_view left;
    std::string_view right;
    if (rule.IsString()) {
      const auto text = view(rule);
      const auto blank = text.find(' ');
      if (blank != std::string_view::npos) {
        left = text.substr(0, blank);
        right = text.substr(blank + 1);
      }
    } else if (rule.IsArray() && rule.Size() == 2 && rule[0].IsString() && rule[1].IsString()) {
      left = view(rule[0]);
      right = view(rule[1]);
    }
    const auto field = fmt::format("model.merges[{}]", rank);
    const auto left_bytes = from_printable(left);
    const auto right_bytes = from_printable(right);
    if (!left_bytes || !right_bytes || left_bytes->empty() || right_bytes->empty())
      return reader.bad(field, "must be two tokens");
    const auto left_id = tables->find(*left_bytes);
    const auto right_id = tables->find(*right_bytes);
    const auto result = tables->find(*left_bytes + *right_bytes);
    if (!left_id || !right_id || !result)
      return reader.bad(field, "names a token that the vocabulary does not hold");
    tables->merges.add(*left_id, *right_id, {rank++, *result});
  }

  for (const auto& x : tables->added) {
    tables->ids[x.content] = x.id;
    tables->set(x.id, x.content);
    tables->starts_added[static_cast<unsigned char>(x.content[0])] = true;
  }
  std::stable_sort(
      tables->added.begin(), tables->added.end(),
      [](const AddedToken& a, const AddedToken& b) { return a.content.size() > b.content.size(); });

  if (const auto* step = member(document, "pre_tokenizer"); step != nullptr && !step->IsNull()) {
    std::optional<std::string> pattern;
    if (auto done = read_pre_tokenizer(reader, *step, pattern); !done)
      return fail(done.error());
    if (pattern) {
      auto splitter = Splitter::compile(*pattern);
      if (!splitter)
        return reader.bad("pre_tokenizer", splitter.error().message);
      tables->splitter = std::move(*splitter);
    }
  }

  const auto first_known = [&](std::initializer_list<std::string_view> names) {
    for (const auto text : names)
      if (const auto id = tables->find(text))
        return id;
    return std::optional<std::int32_t>{};
  };
  tables->bos = first_known({"<|begin_of_text|>", "<s>", "<|endoftext|>"});
  tables->eos = first_known({"<|end_of_text|>", "</s>", "<|endoftext|>"});
  return Tokenizer{std::move(tables)};
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, bool plain) const {
  std::vector<std::int32_t> out;
  out.reserve(text.size() / 2 + 4);
  if (plain || tables_->added.empty()) {
    tables_->encode_plain(text, out);
    return out;
  }
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto* token = tables_->added_at(text, i);
    if (token == nullptr) {
      ++i;
      continue;
    }
    tables_->encode_plain(text.substr(done, i - done), out);
    out.push_back(token->id);
    i += token->content.size();
    done = i;
  }
  tables_->encode_plain(text.substr(done), out);
  return out;
}

std::string Tokenizer::decode(std::span<const std::int32_t> tokens) const {
  std::string out;
  for (const auto token : tokens)
    out += token_bytes(token);
  return out;
}

std::string_view Tokenizer::token_bytes(std::int32_t token) const noexcept {
  if (token < 0 || static_cast<std::size_t>(token) >= tables_->bytes.size())
    return {};
  return tables_->bytes[static_cast<std::size_t>(token)];
}

std::optional<std::int32_t> Tokenizer::id_of(std::string_view text) const {
  return tables_->find(text);
}

std::size_t Tokenizer::vocab_size() const noexcept {
  return tables_->bytes.size();
}

std::optional<std::int32_t> Tokenizer::bos() const noexcept {
  return tables_->bos;
}

std::optional<std::int32_t> Tokenizer::eos() const noexcept {
  return tables_->eos;
}

} // namespace tinkaf::text
