// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/timestamp.hpp"
#include "server/http/file_part.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace tinkaf::server {

/// Archives and files of checkpoints that can be fetched for a while by whoever knows the secret in
/// their link. Thread-safe; the clock comes in as an argument.
class ArchiveLinks {
public:
  struct Archive {
    std::shared_ptr<const OpenFile> file;

    /// The same for the same bytes.
    std::string etag;

    /// A constant.
    const char* content_type = "application/x-tar";
  };

  /// Makes a link to the archive of one version of a checkpoint, or to a file of it.
  /// @param make writes the archive; called unless a link to that version is there already
  /// @returns the secret, or the error of `make`
  [[nodiscard]] Result<std::string>
  add(const std::string& version, Timestamp expires,
      const std::function<Result<std::shared_ptr<const OpenFile>>()>& make,
      const char* content_type = "application/x-tar");

  /// @returns `Errc::permission_denied` if the link has expired, `Errc::not_found` if there was
  /// none
  [[nodiscard]] Result<Archive> find(const std::string& secret, Timestamp now) const;

  /// Lets go of the archives to which no link works any more.
  void expire(Timestamp now);

private:
  struct Link {
    Archive archive; // no file once it has expired
    Timestamp expires;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Link> links_; // by secret
};

} // namespace tinkaf::server
