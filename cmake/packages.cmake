# Debian packages: `cpack -G DEB` in the build folder, or `./dev package`.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tinkaf)
set(CPACK_PACKAGE_VENDOR Tinkaf)
set(CPACK_PACKAGE_CONTACT "Tinkaf <tinkaf@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME tinkaf)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION
  "Fine-tune language models over the Tinker API
 The command line, and a local server that speaks the API and trains a small
 transformer on the CPU, with its model and data.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtinkaf-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
string(JOIN ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libcaf-dev (>= 0.17.6)" libcurl4-openssl-dev libfmt-dev libexpected-dev libprotobuf-dev
  protobuf-compiler libarchive-dev zlib1g-dev libzstd-dev libpcre2-dev libutf8proc-dev libsqlite3-dev
  libopenblas-dev)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
  "Actor-based C++ client for the Tinker fine-tuning API
 Libraries and headers: client actors on the C++ Actor Framework, a blocking
 facade for scripts, losses, and the local server as a library.")
include(CPack)
