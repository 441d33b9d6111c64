# What `cmake --install` and CPack put where: the program with its model and data, and the libraries
# with the headers that users include, a CMake package and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(PublicHeaders)

# Each becomes tinkaf::NAME for those who find the package or add this folder.
set(tinkaf_libraries
  options messages journal losses text proto wire api actors client
  engine engine_client engine_actor
  train train_client backend model server)

# What users include; what these include comes along.
tinkaf_public_headers(public_headers
  actors/job_supervisor.hpp
  actors/recovery.hpp
  actors/session.hpp
  api/version.hpp
  backend/checkpoint_manager.hpp
  backend/memory_backend.hpp
  backend/metrics_file.hpp
  backend/tinker_backend.hpp
  backend/training_loop.hpp
  client/handles.hpp
  client/recovery.hpp
  client/service.hpp
  engine/client_execute.hpp
  engine/execution_actor.hpp
  losses/dpo.hpp
  losses/formula.hpp
  losses/policy_losses.hpp
  losses/regularized.hpp
  losses/regularizers.hpp
  messages/interfaces.hpp
  server/server.hpp
  text/tokenizer.hpp
  train/lr_plan.hpp
  train/model_rates.hpp
  train/recipe_job.hpp
  train/recipe_runs.hpp
  train/start_point.hpp)

set(targets ${tinkaf_libraries})
list(TRANSFORM targets PREPEND tinkaf_)
foreach(library IN LISTS tinkaf_libraries)
  set_target_properties(tinkaf_${library} PROPERTIES EXPORT_NAME ${library})
  if(NOT TARGET tinkaf::${library})
    add_library(tinkaf::${library} ALIAS tinkaf_${library})
  endif()
endforeach()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tinkaf")
set(include_dir "${CMAKE_INSTALL_INCLUDEDIR}/tinkaf")

install(TARGETS tinkaf RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
install(DIRECTORY models data DESTINATION "${CMAKE_INSTALL_DATADIR}/tinkaf" COMPONENT program)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  COMPONENT program)
install(DIRECTORY docs/ DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs" COMPONENT program)

install(TARGETS ${targets} EXPORT tinkaf_targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
install(EXPORT tinkaf_targets NAMESPACE tinkaf:: DESTINATION "${package_dir}"
  COMPONENT development)
foreach(header IN LISTS public_headers)
  get_filename_component(folder "${header}" DIRECTORY)
  install(FILES "${header}" DESTINATION "${include_dir}/${folder}" COMPONENT development)
endforeach()

set(find_pkg_config_modules "")
foreach(module IN LISTS pkg_config_modules)
  string(REGEX MATCH "^(.*)=(.*)$" module "${module}")
  string(APPEND find_pkg_config_modules
    "pkg_check_modules(${CMAKE_MATCH_1} REQUIRED IMPORTED_TARGET ${CMAKE_MATCH_2})\n")
endforeach()
configure_package_config_file(cmake/tinkaf-config.cmake.in tinkaf-config.cmake
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(tinkaf-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/tinkaf-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/tinkaf-config-version.cmake"
  cmake/FindCAF.cmake
  DESTINATION "${package_dir}" COMPONENT development)

# Static libraries, the users of others first.
set(pc_libraries ${targets})
list(REMOVE_ITEM pc_libraries tinkaf_options)
list(REVERSE pc_libraries)
list(TRANSFORM pc_libraries REPLACE "^tinkaf_" "-ltinkaf_")
list(JOIN pc_libraries " " pc_libraries)
list(TRANSFORM pkg_config_modules REPLACE "^.*=" "" OUTPUT_VARIABLE pc_requires)
list(JOIN pc_requires " " pc_requires)
file(RELATIVE_PATH pc_up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/tinkaf.pc.in tinkaf.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tinkaf.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)

if(PROJECT_IS_TOP_LEVEL)
  include(packages)
endif()
