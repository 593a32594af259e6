# `cpack` makes the Debian package `glint`: server, client, all libraries that they load, unit, manual pages, shell
# completions. It wants of a machine the C and C++ runtime and, for the GPU, CUDA's driver. Where glint-ros2 is built, it
# makes the package `glint-ros2` as well, which wants Fast DDS and all other libraries of the distribution that made it.
if(GLINT_SANITIZE)
  return()
endif()
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(FATAL_ERROR "GLINT_PACKAGE: needs CMAKE_CROSSCOMPILING_EMULATOR; the manual pages come from the programs")
endif()
set(glint_extras ${PROJECT_BINARY_DIR}/package)
file(MAKE_DIRECTORY ${glint_extras})

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_NAME glint)
set(CPACK_PACKAGE_VENDOR Glint)
set(CPACK_PACKAGE_CONTACT "Glint maintainers <maintainers@glint.invalid>")
if(NOT GLINT_PACKAGE_VERSION)  # of scripts/version.sh, for a release
  set(GLINT_PACKAGE_VERSION ${PROJECT_VERSION})
endif()
set(CPACK_PACKAGE_VERSION ${GLINT_PACKAGE_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
if(CMAKE_CROSSCOMPILING)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${GLINT_PACKAGE_ARCHITECTURE})  # Debian's name, of scripts/aarch64/toolchain.cmake
endif()

# The libraries: cmake/GlintCarry.cmake runs this on what cpack has installed.
set(GLINT_PACKAGE_SYSTEM debian12 CACHE STRING
    "The oldest system that the package runs on: ubuntu22.04, debian12, ubuntu24.04 or debian13")
set(CPACK_GLINT_CARRY ${PROJECT_SOURCE_DIR}/deploy/package/carry.py --system ${GLINT_PACKAGE_SYSTEM})
if(CMAKE_CROSSCOMPILING)
  list(APPEND CPACK_GLINT_CARRY --sysroot ${CMAKE_SYSROOT})
endif()
if(GLINT_HAVE_CUDA)  # its runtime is linked statically
  get_filename_component(toolkit ${CUDAToolkit_BIN_DIR} DIRECTORY)
  file(GLOB places ${toolkit} ${toolkit}/dist-info/nvidia_cuda_runtime-*/licenses)  # a toolkit, or one made of wheels
  find_file(GLINT_CUDA_LICENSE NAMES EULA.txt License.txt PATHS ${places} NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH
            DOC "The license of CUDA's runtime")
  if(NOT GLINT_CUDA_LICENSE)
    message(FATAL_ERROR "GLINT_PACKAGE: no EULA.txt or License.txt in ${toolkit}; GLINT_CUDA_LICENSE names the license "
                        "of CUDA's runtime, which the package has to have")
  endif()
  list(APPEND CPACK_GLINT_CARRY --license cuda-runtime=${GLINT_CUDA_LICENSE})
endif()
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/GlintCarry.cmake)

# The manual pages are the programs' own help texts, so that they cannot differ from the programs.
find_program(GLINT_GZIP gzip)
set(pages "")
set(programs glint-server glint)
if(TARGET glint-ros2)
  list(APPEND programs glint-ros2)
endif()
foreach(program ${programs})
  set(page ${glint_extras}/${program}.1)
  add_custom_command(OUTPUT ${page}.gz
    COMMAND ${CMAKE_COMMAND} -E env ${PROJECT_SOURCE_DIR}/deploy/package/manual-page.sh ${page}
            ${PROJECT_VERSION} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${program}>
    COMMAND ${GLINT_GZIP} -9nf ${page}
    DEPENDS ${program} ${PROJECT_SOURCE_DIR}/deploy/package/manual-page.sh VERBATIM)
  list(APPEND pages ${page}.gz)
  set(page_of_${program} ${page}.gz)
endforeach()
add_custom_target(glint_manual_pages ALL DEPENDS ${pages})

set(part COMPONENT server)
install(TARGETS glint-server glint RUNTIME DESTINATION bin ${part} EXCLUDE_FROM_ALL)
install(FILES ${page_of_glint-server} ${page_of_glint} DESTINATION share/man/man1 ${part} EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/systemd/glint-server.service DESTINATION lib/systemd/system ${part}
        EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/systemd/glint-server.service.d/gpu.conf
        DESTINATION share/glint/systemd ${part} EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/prometheus/glint.rules.yml
              ${PROJECT_SOURCE_DIR}/deploy/prometheus/prometheus.yml
        DESTINATION share/glint/prometheus ${part} EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/grafana/glint.json DESTINATION share/glint/grafana ${part} EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/haproxy/haproxy.cfg ${PROJECT_SOURCE_DIR}/deploy/haproxy/untrusted.cfg
        DESTINATION share/glint/haproxy ${part} EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/nginx/nginx.conf DESTINATION share/glint/nginx ${part} EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/systemd/glint-server.flags DESTINATION /etc/glint ${part} EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/package/glint.bash DESTINATION share/bash-completion/completions
        RENAME glint ${part} EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/package/glint.bash DESTINATION share/bash-completion/completions
        RENAME glint-server ${part} EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/package/server/copyright DESTINATION share/doc/glint ${part}
        EXCLUDE_FROM_ALL)
file(GLOB glint_control CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/deploy/package/server/p*
     ${PROJECT_SOURCE_DIR}/deploy/package/server/conffiles)
set(CPACK_COMPONENTS_ALL server)
set(CPACK_DEBIAN_SERVER_PACKAGE_NAME glint)
set(CPACK_DEBIAN_SERVER_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION science)
set(CPACK_DEBIAN_SERVER_DESCRIPTION "feature-detection server for the edge, and its client
 Cameras and robots stream frames to it over gRPC, and it answers with keypoints
 and descriptors: exactly those of cv::ORB, on a CPU or an NVIDIA GPU. It matches
 and tracks them, and locates rectified stereo and depth cameras.")
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA "${glint_control}")
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_SERVER_PACKAGE_SUGGESTS "ffmpeg")  # for videos as SOURCE

if(TARGET glint-ros2)
  find_program(GLINT_SHLIBDEPS dpkg-shlibdeps)
  if(NOT GLINT_SHLIBDEPS)
    message(FATAL_ERROR "GLINT_PACKAGE: package glint-ros2 needs dpkg-shlibdeps (package dpkg-dev); or GLINT_ROS2=OFF")
  endif()
  set(part COMPONENT ros2)
  install(TARGETS glint-ros2 RUNTIME DESTINATION bin ${part} EXCLUDE_FROM_ALL)
  install(FILES ${page_of_glint-ros2} DESTINATION share/man/man1 ${part} EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_SOURCE_DIR}/deploy/systemd/glint-ros2.service DESTINATION lib/systemd/system ${part}
          EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_SOURCE_DIR}/deploy/systemd/glint-ros2.env ${PROJECT_SOURCE_DIR}/deploy/ros2/glint-ros2.yaml
          DESTINATION /etc/glint ${part} EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_SOURCE_DIR}/deploy/package/glint-ros2/copyright DESTINATION share/doc/glint-ros2 ${part}
          EXCLUDE_FROM_ALL)
  file(GLOB glint_ros2_control CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/deploy/package/glint-ros2/p*
       ${PROJECT_SOURCE_DIR}/deploy/package/glint-ros2/conffiles)
  list(APPEND CPACK_COMPONENTS_ALL ros2)
  set(CPACK_DEBIAN_ROS2_PACKAGE_NAME glint-ros2)
  set(CPACK_DEBIAN_ROS2_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_ROS2_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_ROS2_DESCRIPTION "Glint as a node of ROS 2
 Takes images of a robot's topics, has glint-server find features in them and locate
 the robot, and publishes odometry, transforms and point clouds. A client of the
 server, which may be on another machine; needs no installation of ROS.")
  set(CPACK_DEBIAN_ROS2_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_ROS2_PACKAGE_DEPENDS passwd)
  set(CPACK_DEBIAN_ROS2_PACKAGE_SUGGESTS glint)
  set(CPACK_DEBIAN_ROS2_PACKAGE_CONTROL_EXTRA "${glint_ros2_control}")
  set(CPACK_DEBIAN_ROS2_PACKAGE_CONTROL_STRICT_PERMISSION ON)
endif()
include(CPack)
