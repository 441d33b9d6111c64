// SPDX-License-Identifier: Apache-2.0
#include "server/model/corpus.hpp"

#include "server/model/wordnet.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>
#include <string_view>

#include <zlib.h>

namespace tinkaf::model {

namespace {

namespace fs = std::filesystem;

/// Longer texts are cut, so that no single one fills many training windows in a row.
constexpr std::size_t longest_document = 20'000;
constexpr std::size_t shortest_document = 200;

tl::unexpected<Error> missing(const fs::path& file, std::string_view package) {
  return fail(Errc::io_error,
              fmt::format("cannot read {}; install the Debian package {}", file.string(), package));
}

Result<std::string> read_file(const fs::path& file, std::string_view package) {
  std::ifstream in{file, std::ios::binary};
  if (!in)
    return missing(file, package);
  return std::string{std::istreambuf_iterator<char>{in}, {}};
}

/// Reads a gzip file, which is what dictd's .dict.dz is.
Result<std::string> read_gzip(const fs::path& file, std::string_view package) {
  auto* handle = gzopen(file.c_str(), "rb");
  if (handle == nullptr)
    return missing(file, package);
  std::string out;
  std::array<char, 1 << 16> buffer{};
  int n = 0;
  while ((n = gzread(handle, buffer.data(), buffer.size())) > 0)
    out.append(buffer.data(), static_cast<std::size_t>(n));
  gzclose(handle);
  if (n < 0)
    return missing(file, package);
  return out;
}

/// Cuts a text at line ends into documents of a bearable length.
void add_text(std::vector<Document>& out, const char* package, std::string_view text) {
  while (text.size() >= shortest_document) {
    auto size = text.size();
    if (size > longest_document) {
      const auto line_end = text.rfind('\n', longest_document);
      size = line_end == std::string_view::npos ? longest_document : line_end + 1;
    }
    out.push_back({package, std::string{text.substr(0, size)}});
    text.remove_prefix(size);
  }
}

Result<void> add_wordnet(std::vector<Document>& out, const fs::path& root) {
  for (const char* part : {"noun", "verb", "adj", "adv"}) {
    const auto file
        = read_file(root / "usr/share/wordnet" / (std::string{"data."} + part), "wordnet-base");
    if (!file)
      return fail(file.error());
    for (auto& text : wordnet_documents(parse_wordnet(*file)))
      out.push_back({"wordnet-base", std::move(text)});
  }
  return {};
}

Result<void> add_dictionary(std::vector<Document>& out, const fs::path& root, const char* name,
                            const char* package) {
  const auto text = read_gzip(root / "usr/share/dictd" / (std::string{name} + ".dict.dz"), package);
  if (!text)
    return fail(text.error());
  add_text(out, package, *text);
  return {};
}

} // namespace

Result<std::vector<Document>> read_corpus(const CorpusOptions& options) {
  std::vector<Document> out;
  auto done = add_wordnet(out, options.root);
  if (done)
    done = add_dictionary(out, options.root, "jargon", "dict-jargon");
  if (done)
    done = add_dictionary(out, options.root, "devil", "dict-devil");
  if (!done)
    return fail(done.error());
  return out;
}

} // namespace tinkaf::model
