// SPDX-License-Identifier: Apache-2.0
#include "text/bpe_trainer.hpp"

#include "text/byte_alphabet.hpp"
#include "text/splitter.hpp"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace tinkaf::text {

namespace {

using Pair = std::pair<std::int32_t, std::int32_t>;

/// A distinct piece of the texts as the tokens it is made of so far.
struct Word {
  std::vector<std::int32_t> tokens;
  std::int64_t count = 0;
};

struct PairHash {
  std::size_t operator()(const Pair& p) const noexcept {
    return static_cast<std::size_t>(p.first) * 0x9E3779B97F4A7C15ULL
           ^ static_cast<std::size_t>(p.second);
  }
};

/// Where a pair occurs and how often. The word list may name words that no longer hold the pair.
struct PairUse {
  std::int64_t count = 0;
  std::vector<std::size_t> words;
};

class Trainer {
public:
  Trainer(std::vector<Word> words, std::int32_t first_id)
      : words_(std::move(words)), next_id_(first_id) {
    for (std::size_t i = 0; i < words_.size(); ++i)
      count_pairs(i, +1);
  }

  /// Merges the most frequent pair; absent when no pair occurs twice.
  std::optional<Pair> merge_best() {
    const std::pair<const Pair, PairUse>* best = nullptr;
    for (const auto& entry : uses_)
      if (entry.second.count > 1
          && (best == nullptr || entry.second.count > best->second.count
              || (entry.second.count == best->second.count && entry.first < best->first)))
        best = &entry;
    if (best == nullptr)
      return std::nullopt;
    const auto pair = best->first;
    auto affected = best->second.words;
    std::sort(affected.begin(), affected.end());
    affected.erase(std::unique(affected.begin(), affected.end()), affected.end());
    for (const auto i : affected) {
      count_pairs(i, -1);
      replace(words_[i].tokens, pair, next_id_);
      count_pairs(i, +1);
    }
    uses_.erase(pair);
    ++next_id_;
    return pair;
  }

private:
  void count_pairs(std::size_t index, std::int64_t sign) {
    const auto& word = words_[index];
    for (std::size_t i = 0; i + 1 < word.tokens.size(); ++i) {
      auto& use = uses_[{word.tokens[i], word.tokens[i + 1]}];
      use.count += sign * word.count;
      if (sign > 0 && (use.words.empty() || use.words.back() != index))
        use.words.push_back(index);
    }
  }

  static void replace(std::vector<std::int32_t>& tokens, const Pair& pair, std::int32_t id) {
    std::size_t to = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i + 1 < tokens.size() && tokens[i] == pair.first && tokens[i + 1] == pair.second) {
        tokens[to++] = id;
        ++i;
      } else {
        tokens[to++] = tokens[i];
      }
    }
    tokens.resize(to);
  }

  std::vector<Word> words_;
  std::int32_t next_id_;
  std::unordered_map<Pair, PairUse, PairHash> uses_;
};

std::vector<Word> count_words(std::span<const std::string> texts, const Splitter& splitter,
                              std::int32_t first_byte) {
  // Ordered, so that the result does not depend on hashing.
  std::map<std::string, std::int64_t, std::less<>> counts;
  for (const auto& text : texts)
    splitter.split(text, [&](std::string_view piece) {
      if (const auto found = counts.find(piece); found != counts.end())
        ++found->second;
      else
        counts.emplace(std::string{piece}, 1);
    });
  std::vector<Word> words;
  for (const auto& [piece, count] : counts) {
    Word word;
    word.count = count;
    for (const unsigned char byte : piece)
      word.tokens.push_back(first_byte + byte);
    words.push_back(std::move(word));
  }
  return words;
}

using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

void write_text(Writer& w, const std::string& text) {
  w.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void write_special_tokens(Writer& w, const BpeOptions& options) {
  w.Key("added_tokens");
  w.StartArray();
  for (std::size_t i = 0; i < options.special_tokens.size(); ++i) {
    w.StartObject();
    w.Key("id");
    w.Uint64(i);
    w.Key("content");
    write_text(w, options.special_tokens[i]);
    for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized"}) {
      w.Key(flag);
      w.Bool(false);
    }
    w.Key("special");
    w.Bool(true);
    w.EndObject();
  }
  w.EndArray();
}

void write_byte_level(Writer& w) {
  w.StartObject();
  w.Key("type");
  w.String("ByteLevel");
  w.Key("add_prefix_space");
  w.Bool(false);
  w.Key("trim_offsets");
  w.Bool(true);
  w.Key("use_regex");
  w.Bool(false);
  w.EndObject();
}

void write_pre_tokenizer(Writer& w, const BpeOptions& options) {
  w.Key("pre_tokenizer");
  w.StartObject();
  w.Key("type");
  w.String("Sequence");
  w.Key("pretokenizers");
  w.StartArray();
  w.StartObject();
  w.Key("type");
  w.String("Split");
  w.Key("pattern");
  w.StartObject();
  w.Key("Regex");
  write_text(w, options.pattern);
  w.EndObject();
  w.Key("behavior");
  w.String("Isolated");
  w.Key("invert");
  w.Bool(false);
  w.EndObject();
  write_byte_level(w);
  w.EndArray();
  w.EndObject();
}

void write_model(Writer& w, const BpeOptions& options, const std::vector<std::string>& tokens,
                 const std::vector<Pair>& merges) {
  w.Key("model");
  w.StartObject();
  w.Key("type");
  w.String("BPE");
  for (const char* unused :
       {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"}) {
    w.Key(unused);
    w.Null();
  }
  for (const char* flag : {"fuse_unk", "byte_fallback", "ignore_merges"}) {
    w.Key(flag);
    w.Bool(false);
  }
  w.Key("vocab");
  w.StartObject();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    write_text(w, i < options.special_tokens.size() ? tokens[i] : to_printable(tokens[i]));
    w.Uint64(i);
  }
  w.EndObject();
  w.Key("merges");
  w.StartArray();
  for (const auto& [left, right] : merges)
    write_text(w, to_printable(tokens[static_cast<std::size_t>(left)]) + " "
                      + to_printable(tokens[static_cast<std::size_t>(right)]));
  w.EndArray();
  w.EndObject();
}

std::string to_json(const BpeOptions& options, const std::vector<std::string>& tokens,
                    const std::vector<Pair>& merges) {
  rapidjson::StringBuffer buffer;
  Writer w{buffer};
  w.SetIndent(' ', 1);
  w.StartObject();
  w.Key("version");
  w.String("1.0");
  w.Key("truncation");
  w.Null();
  w.Key("padding");
  w.Null();
  write_special_tokens(w, options);
  w.Key("normalizer");
  w.Null();
  write_pre_tokenizer(w, options);
  w.Key("post_processor");
  w.Null();
  w.Key("decoder");
  write_byte_level(w);
  write_model(w, options, tokens, merges);
  w.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

} // namespace

Result<std::string> train_bpe(std::span<const std::string> texts, const BpeOptions& options) {
  const auto first_byte = options.special_tokens.size();
  if (options.vocab_size < first_byte + 256)
    return fail(Errc::invalid_argument, "vocab_size is " + std::to_string(options.vocab_size)
                                            + ", needs at least " + std::to_string(first_byte + 256)
                                            + " for the special tokens and all bytes");
  auto splitter = Splitter::compile(options.pattern);
  if (!splitter)
    return fail(splitter.error());
  std::vector<std::string> tokens = options.special_tokens;
  for (int byte = 0; byte < 256; ++byte)
    tokens.emplace_back(1, static_cast<char>(byte));
  Trainer trainer{count_words(texts, *splitter, static_cast<std::int32_t>(first_byte)),
                  static_cast<std::int32_t>(tokens.size())};
  std::vector<Pair> merges;
  while (tokens.size() < options.vocab_size) {
    const auto pair = trainer.merge_best();
    if (!pair)
      break; // the texts are too short for a vocabulary of this size
    merges.push_back(*pair);
    tokens.push_back(tokens[static_cast<std::size_t>(pair->first)]
                     + tokens[static_cast<std::size_t>(pair->second)]);
  }
  return to_json(options, tokens, merges);
}

} // namespace tinkaf::text
