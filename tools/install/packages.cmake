# Debian packages: cpack -G DEB --config build/CPackConfig.cmake. A component is a package. What is installed as a component
# whose name is in the global property REVERIE_PACKAGES is a package of that name, too.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME reverie)
set(CPACK_PACKAGE_CONTACT "The authors of Reverie <reverie@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
get_property(packages GLOBAL PROPERTY REVERIE_PACKAGES)
set(CPACK_COMPONENTS_ALL reverie libreverie libreverie-dev ${packages})
set(CPACK_DEB_COMPONENT_INSTALL ON)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${component})
endforeach()

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_REVERIE_PACKAGE_SECTION science)
set(CPACK_COMPONENT_REVERIE_DESCRIPTION "reinforcement learning in the dream of a world model
 Makes ONNX models faster, places graphs on devices, lets networks grow while
 they train, and trains policies that do so.")
set(CPACK_DEBIAN_LIBREVERIE_PACKAGE_NAME libreverie${soversion})
set(CPACK_DEBIAN_LIBREVERIE_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBREVERIE_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
set(CPACK_COMPONENT_LIBREVERIE_DESCRIPTION "world models of systems problems - shared libraries
 Environments, searches, world models and policies, for programs in C++.")
set(CPACK_DEBIAN_LIBREVERIE-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBREVERIE-DEV_PACKAGE_DEPENDS "libreverie${soversion} (= ${PROJECT_VERSION}), libfmt-dev")
set(CPACK_DEBIAN_LIBREVERIE-DEV_PACKAGE_SUGGESTS libtorch-dev)
set(CPACK_COMPONENT_LIBREVERIE-DEV_DESCRIPTION "world models of systems problems - headers
 Headers of the libraries, and what CMake and pkg-config find them by.")
# The module is for one version of Python.
find_package(Python 3.9 COMPONENTS Interpreter)
set(CPACK_DEBIAN_PYTHON3-REVERIE_PACKAGE_SECTION python)
if(Python_FOUND)
  math(EXPR python_next "${Python_VERSION_MINOR} + 1")
endif()
set(CPACK_DEBIAN_PYTHON3-REVERIE_PACKAGE_DEPENDS
    "python3 (>= ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}), python3 (<< ${Python_VERSION_MAJOR}.${python_next}), python3-numpy")
set(CPACK_DEBIAN_PYTHON3-REVERIE_PACKAGE_SUGGESTS "python3-torch, python3-onnx, python3-distributed")
set(CPACK_DEBIAN_PYTHON3-REVERIE_PACKAGE_RECOMMENDS "reverie (= ${PROJECT_VERSION}), python3-reverie-learning")
set(CPACK_COMPONENT_PYTHON3-REVERIE_DESCRIPTION "world models of systems problems - Python
 Environments for Gymnasium, faster ONNX models, placements, rollouts.")
set(CPACK_DEBIAN_PYTHON3-REVERIE-LEARNING_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON3-REVERIE-LEARNING_PACKAGE_DEPENDS "python3-reverie (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_PYTHON3-REVERIE-LEARNING_DESCRIPTION "world models of systems problems - policies in Python
 What plays trained policies in Python, by LibTorch.")

# Each package has both files in its own folder.
execute_process(COMMAND ${GZIP} -9nc INPUT_FILE ${CMAKE_CURRENT_LIST_DIR}/changelog
                OUTPUT_FILE ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz COMMAND_ERROR_IS_FATAL ANY)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/copyright ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME} COMPONENT ${component})
endforeach()
include(CPack)
