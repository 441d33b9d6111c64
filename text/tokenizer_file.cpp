// SPDX-License-Identifier: Apache-2.0
#include "text/byte_alphabet.hpp"
#include "text/tables.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <memory>
#include <unordered_set>
#include <utility>

namespace tinkaf::text {

namespace {

using Json = rapidjson::Value;

/// What ByteLevel does when it is told to cut by itself: the expression of GPT-2.
constexpr std::string_view byte_level_pattern
    = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// More ids than this are a damaged file, not a vocabulary.
constexpr std::int64_t most_ids = 1 << 24;

std::string_view view(const Json& x) {
  return {x.GetString(), x.GetStringLength()};
}

const Json* member(const Json& object, const char* name) {
  if (!object.IsObject())
    return nullptr;
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() || found->value.IsNull() ? nullptr : &found->value;
}

bool is_true(const Json& object, const char* name) {
  const auto* x = member(object, name);
  return x != nullptr && x->IsTrue();
}

std::string_view type_of(const Json& object) {
  const auto* x = member(object, "type");
  return x != nullptr && x->IsString() ? view(*x) : std::string_view{};
}

class TablesReader {
public:
  explicit TablesReader(std::string_view name) : name_(name) {}

  Result<std::shared_ptr<const Tokenizer::Tables>> read(const Json& document) {
    const auto* model = member(document, "model");
    auto done = check_model(model);
    if (done)
      done = read_normalizer(member(document, "normalizer"));
    if (done)
      done = read_added(member(document, "added_tokens"));
    if (done)
      done = read_vocabulary(member(*model, "vocab"));
    if (done)
      done = read_merges(member(*model, "merges"));
    if (done)
      done = read_pre_tokenizer(member(document, "pre_tokenizer"));
    if (!done)
      return fail(done.error());
    place_added();
    tables_->bos = first_known({"<|begin_of_text|>", "<s>", "<|endoftext|>"});
    tables_->eos = first_known({"<|end_of_text|>", "</s>", "<|endoftext|>"});
    return tables_;
  }

  tl::unexpected<Error> bad(std::string_view field, std::string_view what) const {
    return fail(Errc::invalid_argument, fmt::format("{}: {}: {}", name_, field, what));
  }

private:
  struct Added {
    AddedToken token;
    bool normalized = false;
  };

  Result<void> check_model(const Json* model) {
    if (model == nullptr || type_of(*model) != "BPE")
      return bad("model.type", "must be \"BPE\"");
    if (is_true(*model, "byte_fallback"))
      return bad("model.byte_fallback", "only byte-level vocabularies are supported");
    for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (const auto* x = member(*model, affix);
          x != nullptr && (!x->IsString() || x->GetStringLength() > 0))
        return bad(fmt::format("model.{}", affix), "is not supported");
    if (member(*model, "dropout") != nullptr)
      return bad("model.dropout", "is not supported");
    tables_->ignore_merges = is_true(*model, "ignore_merges");
    return {};
  }

  Result<void> read_normalizer(const Json* step) {
    if (step == nullptr)
      return {};
    if (type_of(*step) == "Sequence") {
      const auto* parts = member(*step, "normalizers");
      if (parts == nullptr || !parts->IsArray())
        return bad("normalizer.normalizers", "must be a list");
      for (const auto& part : parts->GetArray())
        if (auto done = read_normalizer(&part); !done)
          return done;
      return {};
    }
    if (type_of(*step) != "NFC")
      return bad("normalizer",
                 fmt::format("\"{}\" is not supported, only \"NFC\"", type_of(*step)));
    tables_->nfc = true;
    return {};
  }

  Result<std::int32_t> id(const Json& x, std::string_view field) const {
    if (!x.IsInt64() || x.GetInt64() < 0 || x.GetInt64() >= most_ids)
      return bad(field, fmt::format("must be an integer from 0 to {}", most_ids - 1));
    return static_cast<std::int32_t>(x.GetInt64());
  }

  Result<void> read_added(const Json* list) {
    if (list == nullptr || !list->IsArray())
      return {};
    for (const auto& x : list->GetArray()) {
      const auto* content = member(x, "content");
      const auto* number = member(x, "id");
      if (content == nullptr || !content->IsString() || content->GetStringLength() == 0
          || number == nullptr)
        return bad("added_tokens", "each needs a content and an id");
      const auto token = id(*number, "added_tokens.id");
      if (!token)
        return fail(token.error());
      for (const char* flag : {"lstrip", "rstrip", "single_word"})
        if (is_true(x, flag))
          return bad(fmt::format("added_tokens[\"{}\"].{}", view(*content), flag),
                     "only false is supported");
      added_.push_back({{std::string{view(*content)}, *token}, is_true(x, "normalized")});
      added_names_.insert(added_.back().token.content);
    }
    return {};
  }

  Result<void> read_vocabulary(const Json* vocabulary) {
    if (vocabulary == nullptr || !vocabulary->IsObject())
      return bad("model.vocab", "must be an object");
    tables_->ids.reserve(vocabulary->MemberCount());
    for (const auto& entry : vocabulary->GetObject()) {
      const auto text = view(entry.name);
      // Added tokens may be listed here too, as plain text.
      if (added_names_.contains(std::string{text}))
        continue;
      const auto token = id(entry.value, fmt::format("model.vocab[\"{}\"]", text));
      if (!token)
        return fail(token.error());
      auto bytes = from_printable(text);
      if (!bytes)
        return bad(fmt::format("model.vocab[\"{}\"]", text),
                   "holds a character that stands for no byte");
      tables_->ids.emplace(*bytes, *token);
      tables_->set(*token, std::move(*bytes));
    }
    if (tables_->ignore_merges)
      tables_->whole = tables_->ids;
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables_->merges.byte_token[byte]
          = tables_->find(std::string(1, static_cast<char>(byte))).value_or(Merges::no_token);
    return {};
  }

  Result<void> read_merges(const Json* merges) {
    if (merges == nullptr || !merges->IsArray())
      return bad("model.merges", "must be a list");
    tables_->merges.reserve(merges->Size());
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
        return bad(field, "must be two tokens");
      const auto left_id = tables_->find(*left_bytes);
      const auto right_id = tables_->find(*right_bytes);
      const auto result = tables_->find(*left_bytes + *right_bytes);
      if (!left_id || !right_id || !result)
        return bad(field, "names a token that the vocabulary does not hold");
      tables_->merges.add(*left_id, *right_id, {rank++, *result});
    }
    return {};
  }

  /// The steps that we know: Split by an expression, Digits, and ByteLevel.
  Result<void> read_pre_tokenizer(const Json* step) {
    if (step == nullptr)
      return {};
    const auto type = type_of(*step);
    if (type == "Sequence") {
      const auto* parts = member(*step, "pretokenizers");
      if (parts == nullptr || !parts->IsArray())
        return bad("pre_tokenizer.pretokenizers", "must be a list");
      for (const auto& part : parts->GetArray())
        if (auto done = read_pre_tokenizer(&part); !done)
          return done;
      return {};
    }
    if (type == "ByteLevel") {
      if (is_true(*step, "add_prefix_space"))
        return bad("pre_tokenizer.add_prefix_space", "only false is supported");
      const auto* use_regex = member(*step, "use_regex");
      return use_regex == nullptr || use_regex->IsTrue() ? add_splitter(byte_level_pattern)
                                                         : Result<void>{};
    }
    if (type == "Digits")
      return add_splitter(is_true(*step, "individual_digits") ? R"(\p{N})" : R"(\p{N}+)");
    if (type == "Split") {
      const auto* rule = member(*step, "pattern");
      const auto* regex = rule == nullptr ? nullptr : member(*rule, "Regex");
      if (regex == nullptr || !regex->IsString())
        return bad("pre_tokenizer.pattern.Regex", "must be a string");
      const auto* behavior = member(*step, "behavior");
      if (behavior == nullptr || !behavior->IsString() || view(*behavior) != "Isolated"
          || is_true(*step, "invert"))
        return bad("pre_tokenizer.behavior", "only \"Isolated\", not inverted, is supported");
      return add_splitter(view(*regex));
    }
    return bad("pre_tokenizer.type", fmt::format("\"{}\" is not supported", type));
  }

  Result<void> add_splitter(std::string_view pattern) {
    auto splitter = Splitter::compile(pattern);
    if (!splitter)
      return bad("pre_tokenizer", splitter.error().message);
    tables_->splitters.push_back(std::move(*splitter));
    return {};
  }

  void place_added() {
    for (auto& x : added_) {
      tables_->ids[x.token.content] = x.token.id;
      tables_->set(x.token.id, x.token.content);
      auto& place = x.normalized && tables_->nfc ? tables_->added_normalized : tables_->added;
      place.add(std::move(x.token));
    }
    tables_->added.sort();
    tables_->added_normalized.sort();
  }

  std::optional<std::int32_t> first_known(std::initializer_list<std::string_view> names) const {
    for (const auto text : names)
      if (const auto token = tables_->find(text))
        return token;
    return std::nullopt;
  }

  std::string_view name_;
  std::shared_ptr<Tokenizer::Tables> tables_ = std::make_shared<Tokenizer::Tables>();
  std::vector<Added> added_;
  std::unordered_set<std::string> added_names_;
};

} // namespace

Result<std::shared_ptr<const Tokenizer::Tables>> read_tables(std::string_view json,
                                                             std::string_view name) {
  TablesReader reader{name};
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError())
    return reader.bad(fmt::format("at byte {}", document.GetErrorOffset()),
                      rapidjson::GetParseError_En(document.GetParseError()));
  return reader.read(document);
}

} // namespace tinkaf::text
