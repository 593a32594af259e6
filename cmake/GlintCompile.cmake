# Flags that every target of Glint shares, and the two ways to make one.
include(GNUInstallDirs)
find_program(GLINT_CCACHE ccache)
if(GLINT_CCACHE)  # paths below the base are relative in the cache, so that clones of the project share it
  # The sloppiness is what ccache asks for to look at precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
                                  CCACHE_SLOPPINESS=pch_defines,time_macros ${GLINT_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# Some two hundred programs are linked for the tests: the linker that takes least time, where the compiler knows it. What
# is shipped is linked by the distribution's own.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=mold GLINT_MOLD)
  if(GLINT_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

add_library(glint_compile INTERFACE)
target_include_directories(glint_compile INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
# Results are compared bit for bit between backends: no contraction into FMA unless the source says std::fma.
target_compile_options(glint_compile INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off -Wall -Wextra -Wpedantic -Wno-psabi>)
# So it is with Eigen: on AArch64 its vectors multiply and add in one step, on x86-64 in two, and poses would differ. With the
# alignment of its types as it is by default, since public headers have some.
target_compile_definitions(glint_compile INTERFACE EIGEN_DONT_VECTORIZE EIGEN_MAX_ALIGN_BYTES=16
                                                   EIGEN_MAX_STATIC_ALIGN_BYTES=16)
if(GLINT_WERROR)
  target_compile_options(glint_compile INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

if(GLINT_SANITIZE)  # stacks name sources by their paths in the project
  add_compile_options(-fdebug-prefix-map=${PROJECT_SOURCE_DIR}=.)
  add_compile_definitions(GLINT_SANITIZED)  # for tests that would take many minutes
endif()
# With Clang, which takes a third of GCC's time for tests under sanitizers. The same objects serve tests and fuzzers: the
# address sanitizer comes with the counters that libFuzzer reads.
if(GLINT_SANITIZE AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "GLINT_SANITIZE: ${GLINT_SANITIZE} needs Clang (scripts/setup.sh sanitize), not "
                      "${CMAKE_CXX_COMPILER_ID}; the presets asan and tsan ask for it")
endif()
if(GLINT_SANITIZE STREQUAL "address")
  # Not the types of functions: NVML's are called through types of our own.
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=function -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
  # For backends: Clang checks each pointer of each access to a pixel, which takes five times as long to run; the address
  # sanitizer finds wrong accesses without. And what fuzzers count is in front of a backend.
  set(GLINT_SANITIZE_PIXELS -O2 -fno-sanitize=pointer-overflow,null,alignment,object-size,fuzzer-no-link)
elseif(GLINT_SANITIZE STREQUAL "thread")
  set(GLINT_SANITIZE_PIXELS -O2)
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
elseif(GLINT_SANITIZE)
  message(FATAL_ERROR "GLINT_SANITIZE: \"${GLINT_SANITIZE}\" is not one of address, thread or empty")
endif()

# glint_library(name SOURCES... ): the library glint_<name>, known as glint::<name>; static unless
# GLINT_LIBRARY_TYPE says SHARED.
set(GLINT_LIBRARY_TYPE STATIC)
function(glint_library name)
  add_library(glint_${name} ${GLINT_LIBRARY_TYPE} ${ARGN})
  add_library(glint::${name} ALIAS glint_${name})
  set_target_properties(glint_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(glint_${name} PRIVATE $<BUILD_INTERFACE:glint_compile>)
  target_include_directories(glint_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/glint>)
endfunction()

# glint_join(target [SOURCES_ALONE...]): compiles sources a dozen at once, since headers (gRPC, Eigen, OpenCV) take most
# of the time. Alone: sources that define the same local names as others.
option(GLINT_JOIN "Compile sources a dozen at once: less time for all, more for one that changes" ON)
function(glint_join target)
  if(GLINT_JOIN)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    # What is local to a source may be in a class of that source; GCC knows only that it is no longer the main file.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# glint_precompiled(name HEADERS headers... LIBS libraries...): headers that tests take most of their time to read, read
# once. Tests take them by GLINT_TEST_HEADERS, which names one.
function(glint_precompiled name)
  cmake_parse_arguments(arg "" "" "HEADERS;LIBS" ${ARGN})
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc "int main() {}\n")
  add_executable(${name} EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)  # compiled as the tests are
  target_link_libraries(${name} PRIVATE glint_compile ${arg_LIBS} GTest::gtest GTest::gmock Threads::Threads)
  glint_compile_as_test(${name})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

# Tests are not optimised: that takes half the time to compile, and what takes time to run is in the libraries.
# -pthread: some libraries ask for it, and a precompiled header serves only who is compiled as it is.
function(glint_compile_as_test name)
  target_compile_options(${name} PRIVATE -pthread $<$<NOT:$<CONFIG:Release>>:-O0>
                                         $<$<STREQUAL:${GLINT_SANITIZE},address>:-fno-sanitize=fuzzer-no-link>)
endfunction()

# glint_test(name SOURCES sources... LIBS libraries... [LABELS labels...]): a GoogleTest binary, run as one CTest test.
# The labels in GLINT_TEST_LABELS are added. tests_<label> is a target that builds all tests with that label.
function(glint_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBS;LABELS;ENVIRONMENT" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE glint_compile ${arg_LIBS} GTest::gtest GTest::gmock GTest::gtest_main
                                        Threads::Threads)
  glint_compile_as_test(${name})
  if(GLINT_TEST_HEADERS AND NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    target_precompile_headers(${name} REUSE_FROM ${GLINT_TEST_HEADERS})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  list(APPEND arg_LABELS ${GLINT_TEST_LABELS})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${arg_ENVIRONMENT}"
                       SKIP_REGULAR_EXPRESSION "GLINT_SKIP_ALL")
  if("gpu" IN_LIST arg_LABELS)  # once more, as on a GPU that shares the host's memory
    add_test(NAME ${name}_integrated COMMAND ${name})
    set_tests_properties(${name}_integrated PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
                         ENVIRONMENT "GLINT_CUDA_INTEGRATED=1;${arg_ENVIRONMENT}"
                         SKIP_REGULAR_EXPRESSION "GLINT_SKIP_ALL")
  endif()
  foreach(label ${arg_LABELS})
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${name})
  endforeach()
endfunction()
