// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer.hpp"

#include "text/normalizer.hpp"
#include "text/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

namespace tinkaf::text {

namespace {

/// Tokens of the pieces of one text. Most pieces are words that come again: their tokens are
/// copied from where they were put the first time.
class PieceEncoder {
public:
  PieceEncoder(const Tokenizer::Tables& tables, std::vector<std::int32_t>& out)
      : tables_(tables), out_(out) {}

  void cut(std::string_view text, std::size_t stage = 0) {
    if (stage == tables_.splitters.size())
      encode(text);
    else
      tables_.splitters[stage].split(text,
                                     [this, stage](std::string_view x) { cut(x, stage + 1); });
  }

private:
  struct Place {
    std::size_t begin = 0;
    std::size_t count = 0;
  };

  void encode(std::string_view piece) {
    const auto [found, is_new] = known_.try_emplace(piece);
    auto& place = found->second;
    if (!is_new) {
      for (std::size_t i = 0; i < place.count; ++i)
        out_.push_back(out_[place.begin + i]);
      return;
    }
    place.begin = out_.size();
    const auto whole = tables_.ignore_merges ? tables_.whole.find(piece) : tables_.whole.end();
    if (whole != tables_.whole.end())
      out_.push_back(whole->second);
    else
      tables_.merges.apply(piece, out_);
    place.count = out_.size() - place.begin;
  }

  const Tokenizer::Tables& tables_;
  std::vector<std::int32_t>& out_;
  std::unordered_map<std::string_view, Place> known_;
};

} // namespace

void AddedTokens::add(AddedToken token) {
  starts_[static_cast<unsigned char>(token.content[0])] = true;
  tokens_.push_back(std::move(token));
}

void AddedTokens::sort() {
  std::stable_sort(tokens_.begin(), tokens_.end(), [](const AddedToken& a, const AddedToken& b) {
    return a.content.size() > b.content.size();
  });
}

const AddedToken* AddedTokens::at(std::string_view text, std::size_t position) const {
  if (!starts_[static_cast<unsigned char>(text[position])])
    return nullptr;
  const auto rest = text.substr(position);
  const auto found = std::find_if(tokens_.begin(), tokens_.end(),
                                  [&](const AddedToken& x) { return rest.starts_with(x.content); });
  return found == tokens_.end() ? nullptr : &*found;
}

void AddedTokens::split(std::string_view text, const std::function<void(const AddedToken&)>& token,
                        const std::function<void(std::string_view)>& other) const {
  std::size_t done = 0;
  for (std::size_t i = 0; !tokens_.empty() && i < text.size();) {
    const auto* found = at(text, i);
    if (found == nullptr) {
      ++i;
      continue;
    }
    if (i > done)
      other(text.substr(done, i - done));
    token(*found);
    i += found->content.size();
    done = i;
  }
  if (done < text.size())
    other(text.substr(done));
}

void Tokenizer::Tables::set(std::int32_t id, std::string text) {
  if (bytes.size() <= static_cast<std::size_t>(id))
    bytes.resize(static_cast<std::size_t>(id) + 1);
  bytes[static_cast<std::size_t>(id)] = std::move(text);
}

std::optional<std::int32_t> Tokenizer::Tables::find(std::string_view text) const {
  const auto found = ids.find(text);
  return found == ids.end() ? std::nullopt : std::optional{found->second};
}

void Tokenizer::Tables::encode_between(std::string_view text, bool plain,
                                       std::vector<std::int32_t>& out) const {
  std::string composed;
  if (nfc) {
    composed = to_nfc(text);
    text = composed;
  }
  PieceEncoder pieces{*this, out};
  if (plain || added_normalized.empty()) {
    pieces.cut(text);
    return;
  }
  added_normalized.split(
      text, [&](const AddedToken& x) { out.push_back(x.id); },
      [&](std::string_view x) { pieces.cut(x); });
}

Tokenizer::Tokenizer(std::shared_ptr<const Tables> tables) : tables_(std::move(tables)) {}

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  if (!in)
    return fail(Errc::io_error, fmt::format("cannot read {}", file.string()));
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  return parse(text, file.string());
}

Result<Tokenizer> Tokenizer::parse(std::string_view json, std::string_view name) {
  auto tables = read_tables(json, name);
  if (!tables)
    return fail(tables.error());
  return Tokenizer{std::move(*tables)};
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, bool plain) const {
  std::vector<std::int32_t> out;
  out.reserve(text.size() / 2 + 4);
  if (plain)
    tables_->encode_between(text, true, out);
  else
    tables_->added.split(
        text, [&](const AddedToken& x) { out.push_back(x.id); },
        [&](std::string_view x) { tables_->encode_between(x, false, out); });
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
