# Run by cpack between installing and packing: deploy/package/carry.py puts the libraries into the package, and says what is
# left to depend on. passwd has what the installation makes the user glint with.
execute_process(COMMAND ${CPACK_GLINT_CARRY} ${CPACK_TEMPORARY_DIRECTORY}/server/usr
                OUTPUT_VARIABLE depends RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the package is not made: ${status}")
endif()
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS "${depends}, passwd")
