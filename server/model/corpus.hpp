// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// The texts that the shipped base model was pretrained on: files of Debian packages whose
/// licences allow it. `models/tiny/README.md` lists packages, licences and notices.
namespace tinkaf::model {

/// One text and where it comes from.
struct Document {
  std::string source; ///< name of the Debian package
  std::string text;
};

/// Where the packages are installed; another root helps tests.
struct CorpusOptions {
  std::filesystem::path root = "/";
};

/// Reads all sources. Same packages, same result, whatever the order of files in a folder.
/// @returns `Errc::io_error` naming the missing file and the package that holds it
[[nodiscard]] Result<std::vector<Document>> read_corpus(const CorpusOptions& options);

/// The readable text of an HTML page: no tags, scripts, page headers or footers; blocks on lines
/// of their own, preformatted text as it is.
[[nodiscard]] std::string html_to_text(std::string_view html);

/// A WordNet data file as dictionary entries, several related ones to a document.
[[nodiscard]] std::vector<std::string> wordnet_entries(std::string_view data_file);

} // namespace tinkaf::model
