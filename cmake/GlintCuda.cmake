# GLINT_HAVE_CUDA, and the architectures to compile, each with the board it is for.
set(GLINT_HAVE_CUDA OFF)
if(NOT GLINT_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "GLINT_CUDA: \"${GLINT_CUDA}\" is not one of AUTO, ON, OFF")
endif()
if(NOT GLINT_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES OFF)  # ours are chosen below, once the toolkit's version is known
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(CMAKE_CUDA_STANDARD 17)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    find_package(CUDAToolkit REQUIRED)
    set(GLINT_HAVE_CUDA ON)
  elseif(GLINT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "GLINT_CUDA=ON, but no CUDA compiler was found (set CMAKE_CUDA_COMPILER or PATH)")
  endif()
endif()

if(GLINT_HAVE_CUDA)
  # arch   first toolkit  last toolkit  board
  set(table
    "87 11.4 99  Jetson Orin"
    "72 10.0 12  Jetson Xavier"
    "110 13.0 99 Jetson Thor"
    "75 10.0 99  Turing desktop"
    "80 11.0 99  A100"
    "86 11.1 99  Ampere desktop"
    "89 11.8 99  Ada desktop, L4"
    "90 11.8 99  H100, H200"
    "120 12.8 99 Blackwell desktop")
  set(supported "")
  foreach(row ${table})
    string(REGEX REPLACE " +" ";" row "${row}")
    list(GET row 0 arch)
    list(GET row 1 first)
    list(GET row 2 last)
    if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL first AND CUDAToolkit_VERSION_MAJOR LESS_EQUAL last)
      list(APPEND supported ${arch}-real)
    endif()
  endforeach()
  set(GLINT_CUDA_ARCHS "87-real;90-real" CACHE STRING
      "CUDA architectures to compile: a list, or ALL for every one in cmake/GlintCuda.cmake that the toolkit supports")
  if(GLINT_CUDA_ARCHS STREQUAL "ALL")
    set(GLINT_CUDA_ARCHITECTURES ${supported} 90-virtual)
  else()
    set(GLINT_CUDA_ARCHITECTURES ${GLINT_CUDA_ARCHS})
  endif()
  message(STATUS "CUDA ${CUDAToolkit_VERSION}, architectures ${GLINT_CUDA_ARCHITECTURES}")
endif()
