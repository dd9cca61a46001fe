# How a room, a program, the tests and the benchmarks become targets. All are found by folder.

include(${CMAKE_CURRENT_LIST_DIR}/recipe.cmake)

# The instruction sets of each architecture; src/core/dispatch.h holds the same table.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(SPEX_ISAS plain avx2 avx512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(SPEX_ISAS neon)
  # Plain x86-64 cannot fuse a product and a sum, 64-bit ARM can: the same numbers on both.
  set(SPEX_FLAGS_OUTSIDE_KERNELS -ffp-contract=off)
else()
  set(SPEX_ISAS plain)
endif()
set(SPEX_ISA_FLAGS_plain "")
set(SPEX_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c -mprefer-vector-width=256)
set(SPEX_ISA_FLAGS_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c
    -mprefer-vector-width=512)

add_library(spex_flags INTERFACE)
target_include_directories(spex_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_options(spex_flags INTERFACE -Wall -Wextra -Wpedantic -fno-math-errno
                       -fno-trapping-math)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # g++ 12 takes constants assigned to its own strings for overruns (GCC bugs 105329 and 105651). Where, depends
  # on what it inlines, and so on precompiled headers.
  target_compile_options(spex_flags INTERFACE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow
                         -Wno-stringop-overread)
endif()
if(SPEX_SANITIZE)
  target_compile_options(spex_flags INTERFACE -fsanitize=${SPEX_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(spex_flags INTERFACE -fsanitize=${SPEX_SANITIZE})
endif()

# Linked after spex_flags, and so later on the command line.
add_library(spex_control_flags INTERFACE)
if(SPEX_SANITIZE MATCHES undefined)
  target_compile_options(spex_control_flags INTERFACE -fno-sanitize=null,alignment)
endif()

if(SPEX_FUZZERS)
  target_compile_options(spex_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# What most files include, parsed once in place of once per file: nearly half of the time it takes to
# compile them. Not with ccache, which cannot share precompiled headers between folders and needs none.
set(SPEX_COMMON_HEADERS <algorithm> <array> <atomic> <charconv> <cmath> <cstdint> <cstring>
    <filesystem> <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <span> <string>
    <string_view> <thread> <unordered_map> <utility> <vector> <fmt/core.h>)

# spex_precompile(TARGET OWNER [HEADER...]): the common headers and these. OWNER, which has the same
# compiler flags, is the target that compiles them, for itself and for others.
function(spex_precompile target owner)
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  elseif(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${SPEX_COMMON_HEADERS} ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# spex_room(NAME [CONTROL] [TOGETHER] ROOMS ... LIBRARIES ...): src/NAME/**/*.cpp as the library spex_NAME. A file
# called *.simd.cpp is compiled once per instruction set, with SPEX_ISA naming the namespace it fills; one
# called *.exact.simd.cpp gives the same bits on all of them, so nothing is fused in it. CONTROL: the room
# says what is computed and others compute it, so that compiling it quickly (-O1, a third less; of the sanitizers
# not those for pointers, which take as long again: the address sanitizer stops at most of these) counts more.
# TOGETHER: a few files are compiled as one, since each would compile the same templates anew; names in
# their anonymous namespaces must differ.
function(spex_room name)
  cmake_parse_arguments(ARG "CONTROL;TOGETHER" "" "ROOMS;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/${name}/*.cpp)
  set(simd_sources ${sources})
  list(FILTER simd_sources INCLUDE REGEX "\\.simd\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "\\.simd\\.cpp$")
  if(NOT sources)
    add_library(spex_${name} INTERFACE)
    return()
  endif()
  add_library(spex_${name} STATIC ${sources})
  set_target_properties(spex_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(spex_${name} PUBLIC spex_flags ${ARG_LIBRARIES})
  target_compile_options(spex_${name} PRIVATE ${SPEX_FLAGS_OUTSIDE_KERNELS})
  if(ARG_CONTROL)
    target_compile_options(spex_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    target_link_libraries(spex_${name} PRIVATE spex_control_flags)
  endif()
  if(ARG_TOGETHER)
    set_target_properties(spex_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 7)
  endif()
  spex_precompile(spex_${name} spex_core)
  set_property(GLOBAL APPEND PROPERTY SPEX_OBJECTS spex_${name})
  set_property(GLOBAL APPEND PROPERTY SPEX_LIBRARIES ${ARG_LIBRARIES})
  foreach(room ${ARG_ROOMS})
    target_link_libraries(spex_${name} PUBLIC spex_${room})
  endforeach()
  if(simd_sources)
    foreach(isa ${SPEX_ISAS})
      add_library(spex_${name}_${isa} OBJECT ${simd_sources})
      set_target_properties(spex_${name}_${isa} PROPERTIES POSITION_INDEPENDENT_CODE ON)
      target_link_libraries(spex_${name}_${isa} PRIVATE spex_flags)
      # g++ 12 warns about variables inside its own AVX-512 header (GCC bug 105593).
      target_compile_options(spex_${name}_${isa} PRIVATE ${SPEX_ISA_FLAGS_${isa}} -ffp-contract=fast)
      set(late_flags -Wno-psabi -Wno-maybe-uninitialized -Wno-uninitialized)
      if(NOT SPEX_SANITIZE)  # whose -O1 leaves the numbers of lanes variables
        list(APPEND late_flags -Werror=vector-operation-performance)
      endif()
      set_source_files_properties(${simd_sources} PROPERTIES COMPILE_OPTIONS "${late_flags}")
      set(exact_sources ${simd_sources})
      list(FILTER exact_sources INCLUDE REGEX "\\.exact\\.simd\\.cpp$")
      set_property(SOURCE ${exact_sources} APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off)
      target_compile_definitions(spex_${name}_${isa} PRIVATE SPEX_ISA=${isa})
      target_sources(spex_${name} PRIVATE $<TARGET_OBJECTS:spex_${name}_${isa}>)
      set_property(GLOBAL APPEND PROPERTY SPEX_OBJECTS spex_${name}_${isa})
    endforeach()
  endif()
endfunction()

# A program is a folder with a main.cpp. It reads options and prints, so what counts is how long it
# takes to compile: -O1, and all files at once, since each would compile the library for options anew.
function(spex_program name folder)
  cmake_parse_arguments(ARG "" "" "ROOMS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  add_executable(${name} ${sources})
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
  foreach(room ${ARG_ROOMS})
    target_link_libraries(${name} PRIVATE spex_${room})
  endforeach()
endfunction()

set(SPEX_ALL_ROOMS spex_report spex_study spex_run spex_plan spex_train spex_config spex_model spex_sample
    spex_ops spex_data spex_graph spex_tensor spex_core)

function(spex_test_flags target)
  target_include_directories(${target} PRIVATE tests)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)  # most of a test runs once
  target_compile_definitions(${target} PRIVATE SPEX_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                             SPEX_BINARY_DIR="${PROJECT_BINARY_DIR}")
  if(SPEX_SANITIZE)  # g++ 12 warns inside its own <regex> then (GCC bug 105562)
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
  endif()
endfunction()

# tests/ROOM/*.cpp become one program per room, linked to that room and what stands here beside it; each
# test case is known to ctest. With SPEX_TESTS_FROM, the folder of a finished build, only the rooms are
# compiled and the tests' object files are that build's: half of the time a sanitized build takes, for
# tests that are then not looked into themselves.
set(SPEX_TESTS_FROM "" CACHE PATH "A finished build whose compiled tests are linked")
set(SPEX_TEST_ROOMS_model spex_sample)  # batches
foreach(name config plan train)  # small problems, ready to run
  set(SPEX_TEST_ROOMS_${name} spex_run)
endforeach()
function(spex_tests)
  include(GoogleTest)
  add_custom_target(unit_tests)  # the test programs, and not the program itself
  set(empty ${PROJECT_BINARY_DIR}/empty.cpp)
  file(GENERATE OUTPUT ${empty} CONTENT "")
  add_library(test_headers OBJECT ${empty})
  spex_test_flags(test_headers)
  target_link_libraries(test_headers PRIVATE spex_core GTest::gtest)
  spex_precompile(test_headers test_headers <gtest/gtest.h>)
  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true tests/*)
  foreach(folder ${folders})
    get_filename_component(name ${folder} NAME)
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*_test.cpp)
    if(SPEX_TESTS_FROM)
      file(GLOB_RECURSE sources ${SPEX_TESTS_FROM}/CMakeFiles/test_${name}.dir/*_test.cpp.o)
      set_source_files_properties(${sources} PROPERTIES EXTERNAL_OBJECT ON)
    endif()
    if(sources)
      add_executable(test_${name} ${sources})
      set_target_properties(test_${name} PROPERTIES LINKER_LANGUAGE CXX)
      spex_test_flags(test_${name})
      spex_precompile(test_${name} test_headers)
      if(TARGET spex_${name})
        set(rooms spex_${name} ${SPEX_TEST_ROOMS_${name}})
      else()
        set(rooms ${SPEX_ALL_ROOMS})
      endif()
      target_link_libraries(test_${name} PRIVATE ${rooms} GTest::gtest_main)
      gtest_discover_tests(test_${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300 LABELS ${name})
      if(name STREQUAL cli)  # its tests run the program
        add_dependencies(test_cli spex)
      else()
        add_dependencies(unit_tests test_${name})
      endif()
    endif()
  endforeach()
  spex_header_test()
  spex_recipe_test()
  add_test(NAME Docs.EveryCommandRuns COMMAND ${PROJECT_SOURCE_DIR}/scripts/check-docs
           $<TARGET_FILE:spex>)
  set_tests_properties(Docs.EveryCommandRuns PROPERTIES TIMEOUT 300)
  if(NOT SPEX_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
    add_test(NAME Install.AForeignProjectBuildsAndRuns
             COMMAND ${PROJECT_SOURCE_DIR}/scripts/test-install ${PROJECT_BINARY_DIR})
    set_tests_properties(Install.AForeignProjectBuildsAndRuns PROPERTIES TIMEOUT 300)
    spex_python_tests()
  endif()
endfunction()

# tests/python/test_*.py, if Debian's Python has what they need (scripts/install-deps --python).
function(spex_python_tests)
  set(python /usr/bin/python3)
  execute_process(COMMAND ${python} -c "import numpy, scipy, pytest" RESULT_VARIABLE missing
                  OUTPUT_QUIET ERROR_QUIET)
  if(missing)
    message(STATUS "No tests of Python: scripts/install-deps --python installs what they need")
    return()
  endif()
  file(GLOB files CONFIGURE_DEPENDS tests/python/test_*.py)
  foreach(file ${files})
    get_filename_component(name ${file} NAME_WE)
    add_test(NAME Python.${name} COMMAND ${python} -m pytest -q -p no:cacheprovider ${file})
    set_tests_properties(Python.${name} PROPERTIES TIMEOUT 300 ENVIRONMENT
      "PYTHONPATH=${PROJECT_SOURCE_DIR}/python;PYTHONDONTWRITEBYTECODE=1;SPEX_LIBRARY=$<TARGET_FILE:spex_shared>;SPEX_PROGRAM=$<TARGET_FILE:spex>")
  endforeach()
endfunction()

# Every public header must compile alone: one generated source file per header.
function(spex_header_test)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include include/spex/*.h)
  set(sources)
  foreach(header ${headers})
    string(REPLACE "/" "_" stem ${header})
    set(source ${PROJECT_BINARY_DIR}/headers/${stem}.cpp)
    file(GENERATE OUTPUT ${source} CONTENT "#include <${header}>\n#include <${header}>\n")
    list(APPEND sources ${source})
  endforeach()
  if(sources)
    add_library(headers_compile_alone OBJECT ${sources})
    target_link_libraries(headers_compile_alone PRIVATE spex_flags fmt::fmt)
    target_include_directories(headers_compile_alone PRIVATE ${SPEX_MADE_HEADERS})
  endif()
endfunction()

# bench/ROOM/*_bench.cpp: one program each, since each prints its own table.
function(spex_benchmarks)
  file(GLOB sources CONFIGURE_DEPENDS bench/*/*_bench.cpp)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_include_directories(${name} PRIVATE bench tests)
    target_link_libraries(${name} PRIVATE ${SPEX_ALL_ROOMS})
  endforeach()
endfunction()

# tests/fuzz/*_fuzz.cpp: one libFuzzer program each, linked to the data room alone. `fuzzers` builds
# them all.
function(spex_fuzzers)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "SPEX_FUZZERS needs clang: cmake --preset fuzz")
  endif()
  add_custom_target(fuzzers)
  file(GLOB sources CONFIGURE_DEPENDS tests/fuzz/*_fuzz.cpp)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
    target_include_directories(${name} PRIVATE tests)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE spex_data)
    add_dependencies(fuzzers ${name})
  endforeach()
endfunction()

# spex_embed(TARGET NAME=FILE ...): the files become string_views in TARGET; see embed.cmake.
function(spex_embed target)
  set(output ${PROJECT_BINARY_DIR}/embedded/${target}.cpp)
  string(REGEX REPLACE "[^;]*=" "" files "${ARGN}")
  string(JOIN " " assets ${ARGN})
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DASSETS=${assets}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

# spex_presets(TARGET): configs/NAME.toml become the presets of include/spex/config/presets.h.
function(spex_presets target)
  file(GLOB configs CONFIGURE_DEPENDS configs/*.toml)
  set(table)
  foreach(config ${configs})
    get_filename_component(name ${config} NAME_WE)
    file(READ ${config} text)
    string(APPEND table "    {\"${name}\", R\"toml(${text})toml\"},\n")
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${configs})
  set(output ${PROJECT_BINARY_DIR}/embedded/presets.cpp)
  file(GENERATE OUTPUT ${output} CONTENT
       "#include <spex/config/presets.h>\n\nconst std::vector<spex::Preset>& spex::presets() {\n  static const std::vector<Preset> table = {\n${table}  };\n  return table;\n}\n")
  target_sources(${target} PRIVATE ${output})
endfunction()
