# What makes a fault in the code harder to exploit: the flags of Debian's dpkg-buildflags with hardening=+all, and those
# that Ubuntu adds. tests/deploy/hardening_test.py looks for each in the built programs; docs/security.md lists them.
#
# Those of the linker cost nothing and are always there. Those of the compiler are for what is shipped: GLINT_HARDEN.
include(CheckCXXCompilerFlag)
include(CheckLinkerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)  # else CMake leaves it to the compiler whether a program can be moved

set(default OFF)
if(NOT GLINT_SANITIZE AND (CMAKE_BUILD_TYPE STREQUAL "Release" OR GLINT_PACKAGE))
  set(default ON)
endif()
option(GLINT_HARDEN "Compiler flags against exploits, as dpkg-buildflags has them: on for releases and packages" ${default})
if(GLINT_HARDEN AND GLINT_SANITIZE)
  message(FATAL_ERROR "GLINT_HARDEN: contradicts GLINT_SANITIZE=${GLINT_SANITIZE}")
endif()

foreach(flag -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
  string(MAKE_C_IDENTIFIER "GLINT_LINKER${flag}" known)
  check_linker_flag(CXX ${flag} ${known})
  if(${known})
    add_link_options(${flag})
  endif()
endforeach()

if(GLINT_HARDEN)
  foreach(flag -fstack-protector-strong -fstack-clash-protection -Werror=format-security -fcf-protection=full
               -mbranch-protection=standard)
    string(MAKE_C_IDENTIFIER "GLINT_COMPILER${flag}" known)
    check_cxx_compiler_flag(${flag} ${known})  # the last two: x86-64 and AArch64
    if(${known})
      add_compile_options($<$<COMPILE_LANGUAGE:CXX>:${flag}>)
    endif()
  endforeach()
  # Level 3 looks at sizes that are known only at run time: GCC 12 and glibc 2.34 have it.
  set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  include(CheckCXXSourceCompiles)
  check_cxx_source_compiles("
    #include <string.h>
    #if !defined(__USE_FORTIFY_LEVEL) || __USE_FORTIFY_LEVEL < 3
    #error level 3 is not there
    #endif
    int main() { return 0; }" GLINT_FORTIFY_3)
  unset(CMAKE_REQUIRED_FLAGS)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-U_FORTIFY_SOURCE>"
                      "$<$<COMPILE_LANGUAGE:CXX>:-D_FORTIFY_SOURCE=$<IF:$<BOOL:${GLINT_FORTIFY_3}>,3,2>>")
endif()
