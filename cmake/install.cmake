# The shared library, and what is installed: program, library, the public headers, the CMake package
# and the pkg-config file. Nothing of how we compile goes with them.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What a user of the library includes; the headers that these include are installed with them, and no
# others.
set(SPEX_PUBLIC_HEADERS
    spex/spex.h                       # C
    spex/data/dataset.h spex/data/reader.h spex/data/generators.h spex/data/native.h
    spex/data/splits.h spex/data/structure.h
    spex/graph/builder.h spex/graph/attention_graph.h spex/graph/expander.h
    spex/tensor/tape.h spex/tensor/parameters.h
    spex/ops/additive_attention.h spex/ops/aggregate.h spex/ops/attention.h spex/ops/elementwise.h
    spex/ops/linear.h spex/ops/linear_attention.h spex/ops/losses.h spex/ops/norms.h
    spex/ops/products.h spex/ops/rows.h
    spex/model/model.h spex/model/layers.h spex/model/registry.h
    spex/run/run.h spex/run/settings.h spex/run/phases.h spex/run/predict.h spex/run/compare.h
    spex/run/tune.h
    spex/report/report.h
    spex/core/error.h spex/core/log.h spex/core/random.h spex/core/threads.h)

# spex_with_includes(VARIABLE HEADER...): the headers and all of ours that they include.
function(spex_with_includes variable)
  set(known)
  set(open ${ARGN})
  while(open)
    list(POP_FRONT open header)
    if(header IN_LIST known)
      continue()
    endif()
    list(APPEND known ${header})
    if(header STREQUAL spex/version.h)
      continue()
    endif()
    file(STRINGS ${PROJECT_SOURCE_DIR}/include/${header} lines REGEX "^#include <spex/")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
                 ${PROJECT_SOURCE_DIR}/include/${header})
    foreach(line ${lines})
      string(REGEX REPLACE "^#include <(spex/[^>]+)>.*" "\\1" included "${line}")
      list(APPEND open ${included})
    endforeach()
  endwhile()
  set(${variable} ${known} PARENT_SCOPE)
endfunction()

# All rooms as libspex.so.MAJOR. Its symbols are the C interface and the namespace spex; what the
# libraries it uses, or templates of the standard library, would add stays inside.
function(spex_shared_library)
  get_property(rooms GLOBAL PROPERTY SPEX_OBJECTS)
  get_property(libraries GLOBAL PROPERTY SPEX_LIBRARIES)
  list(REMOVE_DUPLICATES libraries)
  set(objects)
  foreach(room ${rooms})
    list(APPEND objects $<TARGET_OBJECTS:${room}>)
  endforeach()
  add_library(spex_shared SHARED ${objects})
  set_target_properties(spex_shared PROPERTIES
    OUTPUT_NAME spex EXPORT_NAME spex LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  set(symbols ${PROJECT_SOURCE_DIR}/cmake/symbols.map)
  target_link_options(spex_shared PRIVATE -Wl,--version-script=${symbols} -Wl,-Bsymbolic-functions)
  if(SPEX_SANITIZE)  # whose functions are the program's
    target_link_options(spex_shared PRIVATE -fsanitize=${SPEX_SANITIZE})
  else()
    target_link_options(spex_shared PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(spex_shared PROPERTIES LINK_DEPENDS ${symbols})
  target_link_libraries(spex_shared PRIVATE ${libraries})
  target_link_libraries(spex_shared INTERFACE fmt::fmt)  # the header of errors formats
  target_compile_features(spex_shared INTERFACE cxx_std_20)
  target_include_directories(spex_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

function(spex_install)
  install(TARGETS spex_shared EXPORT spex LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  spex_with_includes(headers ${SPEX_PUBLIC_HEADERS})
  foreach(header ${headers})
    get_filename_component(folder ${header} DIRECTORY)
    set(root ${PROJECT_SOURCE_DIR})
    if(header STREQUAL spex/version.h)
      set(root ${PROJECT_BINARY_DIR})
    endif()
    install(FILES ${root}/include/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
  endforeach()
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/spex)
  install(EXPORT spex NAMESPACE spex:: FILE spex-targets.cmake DESTINATION ${package})
  file(WRITE ${PROJECT_BINARY_DIR}/spex-config.cmake
       "include(CMakeFindDependencyMacro)\nfind_dependency(fmt)\ninclude(\${CMAKE_CURRENT_LIST_DIR}/spex-targets.cmake)\n")
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/spex-config-version.cmake
                                   VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
  # Relative, so that the installed tree can be moved.
  file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(cmake/spex.pc.in ${PROJECT_BINARY_DIR}/spex.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/spex-config.cmake
                ${PROJECT_BINARY_DIR}/spex-config-version.cmake DESTINATION ${package})
  install(FILES ${PROJECT_BINARY_DIR}/spex.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
