// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/catch.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#include <archive.h>
#include <archive_entry.h>

namespace tinkaf::test {

/// Writes a tar archive into memory, good or bad.
class TarFile {
public:
  enum class Packing : std::uint8_t { plain, gzip };

  explicit TarFile(Packing packing = Packing::plain) : bytes_(std::size_t{1} << 20U, '\0') {
    if (packing == Packing::gzip)
      archive_write_add_filter_gzip(writer_);
    else
      archive_write_add_filter_none(writer_);
    archive_write_set_format_pax_restricted(writer_);
    archive_write_set_bytes_in_last_block(writer_, 1);
    REQUIRE(archive_write_open_memory(writer_, bytes_.data(), bytes_.size(), &used_) == ARCHIVE_OK);
  }

  ~TarFile() {
    archive_write_free(writer_);
  }

  TarFile(const TarFile&) = delete;
  TarFile& operator=(const TarFile&) = delete;

  TarFile& file(const std::string& name, std::string_view content) {
    add(name, AE_IFREG, content.size(), [](struct archive_entry*) {});
    REQUIRE(archive_write_data(writer_, content.data(), content.size())
            == static_cast<la_ssize_t>(content.size()));
    return *this;
  }

  TarFile& folder(const std::string& name) {
    add(name, AE_IFDIR, 0, [](struct archive_entry*) {});
    return *this;
  }

  TarFile& symbolic_link(const std::string& name, const std::string& target) {
    add(name, AE_IFLNK, 0,
        [&](struct archive_entry* entry) { archive_entry_set_symlink(entry, target.c_str()); });
    return *this;
  }

  TarFile& hard_link(const std::string& name, const std::string& target) {
    add(name, AE_IFREG, 0,
        [&](struct archive_entry* entry) { archive_entry_set_hardlink(entry, target.c_str()); });
    return *this;
  }

  TarFile& special(const std::string& name, unsigned type) {
    add(name, type, 0, [](struct archive_entry*) {});
    return *this;
  }

  /// The archive; nothing can be added behind it.
  std::string bytes() {
    REQUIRE(archive_write_close(writer_) == ARCHIVE_OK);
    return bytes_.substr(0, used_);
  }

private:
  template <class More>
  void add(const std::string& name, unsigned type, std::size_t size, More more) {
    auto* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, 0777);
    archive_entry_set_size(entry, static_cast<la_int64_t>(size));
    more(entry);
    REQUIRE(archive_write_header(writer_, entry) == ARCHIVE_OK);
    archive_entry_free(entry);
  }

  struct archive* writer_ = archive_write_new();
  std::string bytes_;
  std::size_t used_ = 0;
};

} // namespace tinkaf::test
