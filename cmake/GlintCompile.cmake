# Flags that every target of Glint shares, and the two ways to make one.
include(GNUInstallDirs)
find_program(GLINT_CCACHE ccache)
if(GLINT_CCACHE)  # paths below the base are relative in the cache, so that clones of the project share it
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${GLINT_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

add_library(glint_compile INTERFACE)
target_include_directories(glint_compile INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
# Results are compared bit for bit between backends: no contraction into FMA unless the source says std::fma.
target_compile_options(glint_compile INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off -Wall -Wextra -Wpedantic -Wno-psabi>)
if(GLINT_WERROR)
  target_compile_options(glint_compile INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

if(GLINT_SANITIZE)  # stacks name sources by their paths in the project
  add_compile_options(-fdebug-prefix-map=${PROJECT_SOURCE_DIR}=.)
endif()
if(GLINT_SANITIZE STREQUAL "address")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  add_link_options(-fsanitize=address,undefined)
elseif(GLINT_SANITIZE STREQUAL "thread")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=thread>)
  add_link_options(-fsanitize=thread)
elseif(GLINT_SANITIZE STREQUAL "fuzzer")
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "GLINT_SANITIZE: fuzzer needs Clang, not ${CMAKE_CXX_COMPILER_ID}")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(GLINT_SANITIZE)
  message(FATAL_ERROR "GLINT_SANITIZE: \"${GLINT_SANITIZE}\" is not one of address, thread, fuzzer or empty")
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

# glint_join(target [SOURCES_ALONE...]): for releases and under sanitizers, compiles sources a dozen at once, since
# headers (gRPC, Eigen, OpenCV) take most of the time. Alone: sources that define the same local names as others.
function(glint_join target)
  if(GLINT_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Release")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# glint_test(name SOURCES sources... LIBS libraries... [LABELS labels...]): a GoogleTest binary, run as one CTest test.
# The labels in GLINT_TEST_LABELS are added. tests_<label> is a target that builds all tests with that label.
function(glint_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBS;LABELS;ENVIRONMENT" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE glint_compile ${arg_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  if(GLINT_SANITIZE)  # compiles three times as fast, and what takes time is in the libraries
    target_compile_options(${name} PRIVATE -O0)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  list(APPEND arg_LABELS ${GLINT_TEST_LABELS})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${arg_ENVIRONMENT}"
                       SKIP_REGULAR_EXPRESSION "GLINT_SKIP_ALL")
  foreach(label ${arg_LABELS})
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${name})
  endforeach()
endfunction()
