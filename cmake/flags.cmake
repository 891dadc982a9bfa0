# How neap's own files are compiled, as one target: neap_flags.
# Nothing is built for the builder's processor: kernels that gain from wider vectors carry
# target_clones and choose when they run. -ffp-contract=off keeps a multiply and an add two
# roundings in every clone, so that all of them give the same bits.
add_library(neap_flags INTERFACE)
target_compile_definitions(neap_flags INTERFACE _GNU_SOURCE)
target_compile_options(neap_flags INTERFACE
  -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings
  -ffp-contract=off -fno-math-errno)
if(NEAP_WERROR)
  target_compile_options(neap_flags INTERFACE -Werror)
endif()
if(NEAP_SANITIZE)
  # gcc sees uninitialised variables where there are none in the code that sanitizers add.
  target_compile_options(neap_flags INTERFACE
    -fsanitize=${NEAP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    -Wno-maybe-uninitialized -Wno-format-truncation)
  target_link_options(neap_flags INTERFACE -fsanitize=${NEAP_SANITIZE})
endif()
