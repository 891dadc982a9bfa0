# The libraries neap needs, as one target: neap_dependencies. What is missing is said at once, in
# one message with the line that installs it.
# oneDNN is looked for by file: Debian's dnnl-config.cmake asks for OpenCL's headers, neap does not.
set(missing_packages "")

function(find_dependency_files name header library package)
  find_path(${name}_INCLUDE ${header})
  find_library(${name}_LIBRARY ${library})
  mark_as_advanced(${name}_INCLUDE ${name}_LIBRARY)
  if(NOT ${name}_INCLUDE OR NOT ${name}_LIBRARY)
    list(APPEND missing_packages ${package})
    set(missing_packages ${missing_packages} PARENT_SCOPE)
  endif()
endfunction()

find_dependency_files(DNNL dnnl.h dnnl libdnnl-dev)
find_dependency_files(JANSSON jansson.h jansson libjansson-dev)
find_dependency_files(ZLIB zlib.h z zlib1g-dev)
find_dependency_files(JPEG jpeglib.h jpeg libjpeg62-turbo-dev)
find_dependency_files(PNG png.h png libpng-dev)
if(NEAP_TESTS)
  find_dependency_files(CMOCKA cmocka.h cmocka libcmocka-dev)
  find_program(PYTHON python3)
  mark_as_advanced(PYTHON)
  if(NOT PYTHON)
    list(APPEND missing_packages python3)
  endif()
endif()
if(missing_packages)
  list(JOIN missing_packages " " packages)
  message(FATAL_ERROR "libraries are missing; on Debian 12:\n  apt-get install ${packages}\n"
    "(without the tests: -DNEAP_TESTS=OFF)")
endif()

find_package(OpenMP REQUIRED COMPONENTS C)
find_package(Threads REQUIRED)

add_library(neap_dependencies INTERFACE)
target_include_directories(neap_dependencies SYSTEM INTERFACE
  ${DNNL_INCLUDE} ${JANSSON_INCLUDE} ${ZLIB_INCLUDE} ${JPEG_INCLUDE} ${PNG_INCLUDE})
target_link_libraries(neap_dependencies INTERFACE
  ${DNNL_LIBRARY} ${JANSSON_LIBRARY} ${ZLIB_LIBRARY} ${JPEG_LIBRARY} ${PNG_LIBRARY} OpenMP::OpenMP_C Threads::Threads m)
