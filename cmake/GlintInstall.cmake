# What `cmake --install` puts where: the programs, and the client library as a package for find_package(glint).
include(CMakePackageConfigHelpers)

install(TARGETS glint-server glint RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET glint-ros2)
  install(TARGETS glint-ros2 RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

install(TARGETS glint_client glint_proto glint_features EXPORT glint
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT glint NAMESPACE glint:: FILE glint-targets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/glint)

# Includes read as in the source tree ("client/client.h"); <prefix>/include/glint is on the path of glint::client.
install(FILES client/client.h client/health.h client/image.h client/matching.h client/resilient_stream.h client/result.h
        client/localization.h client/shared_memory.h client/stream.h client/tracking.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/glint/client)
install(FILES features/depth.h features/error.h features/gray_range.h features/limits.h
        features/location_report.h features/match_limits.h features/matcher.h features/math.h
        features/operation_defaults.h features/options.h features/stereo.h features/track_limits.h features/tracker.h
        features/types.h features/warning.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/glint/features)
install(FILES features/camera/camera.h features/camera/rectification.h features/camera/remap_table.h
        features/camera/rgbd_camera.h features/camera/rig.h features/camera/stereo_rig.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/glint/features/camera)
install(FILES proto/location.h proto/terms.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/glint/proto)
install(DIRECTORY proto/glint DESTINATION ${CMAKE_INSTALL_DATADIR}/glint/proto FILES_MATCHING PATTERN *.proto)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The class of client/opencv brings the CPU backend, Highway and OpenCV with it: a part of its own, both of an
# installation (`cmake --install --component opencv`, beside the rest) and of the package.
if(TARGET glint_orb_extractor)
  install(TARGETS glint_orb_extractor glint_cpu EXPORT glint-opencv
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT opencv)
  install(EXPORT glint-opencv NAMESPACE glint:: FILE glint-opencv-targets.cmake
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/glint COMPONENT opencv)
  install(FILES client/opencv/orb_extractor.h
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/glint/client/opencv COMPONENT opencv)
endif()

configure_package_config_file(cmake/glint-config.cmake.in ${PROJECT_BINARY_DIR}/glint-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/glint)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/glint-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/glint-config.cmake ${PROJECT_BINARY_DIR}/glint-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/glint)
