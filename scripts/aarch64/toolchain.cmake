# Compiles for AArch64 against the packages in GLINT_SYSROOT (scripts/aarch64/sysroot.sh), and CUDA with the toolkit in
# GLINT_CROSS_CUDA (scripts/aarch64/cuda.sh), if that is set; QEMU runs what comes out.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GLINT_SYSROOT GLINT_CROSS_CUDA)
set(triplet aarch64-linux-gnu)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CXX_COMPILER ${triplet}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${triplet})
set(CMAKE_SYSROOT ${GLINT_SYSROOT})
if(GLINT_CROSS_CUDA)
  set(CUDAToolkit_ROOT ${GLINT_CROSS_CUDA})
  set(CMAKE_CUDA_COMPILER ${GLINT_CROSS_CUDA}/bin/nvcc)
  set(CMAKE_CUDA_HOST_COMPILER ${triplet}-g++)
  set(CMAKE_CUDA_FLAGS_INIT "--target-directory=aarch64-linux")
endif()

# Programs that run while compiling are this machine's; everything else is the sysroot's.
set(CMAKE_FIND_ROOT_PATH ${GLINT_SYSROOT} ${GLINT_CROSS_CUDA})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${GLINT_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${GLINT_SYSROOT}/usr/lib/${triplet}/pkgconfig:${GLINT_SYSROOT}/usr/share/pkgconfig)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${GLINT_SYSROOT})

set(GLINT_PACKAGE_ARCHITECTURE arm64)  # for cpack (cmake/GlintPackage.cmake)
