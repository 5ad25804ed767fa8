# SPDX-License-Identifier: Apache-2.0
# Compiler and linker flags of everything that is built here. They stand on
# the interface target kb_flags, which is never installed.

set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

add_library(kb_flags INTERFACE)
target_compile_features(kb_flags INTERFACE c_std_11)
target_compile_definitions(kb_flags INTERFACE _GNU_SOURCE)
target_compile_options(kb_flags INTERFACE
	-std=c11
	-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
	-Wstrict-prototypes -Wmissing-prototypes -Wvla
	-fstack-protector-strong)
target_link_options(kb_flags INTERFACE -Wl,-z,relro,-z,now)

if(KBUNDLE_WERROR)
	target_compile_options(kb_flags INTERFACE -Werror)
endif()

if(KBUNDLE_SANITIZE)
	set(kb_sanitize -fsanitize=${KBUNDLE_SANITIZE}
		-fno-sanitize-recover=all -fno-omit-frame-pointer)
	target_compile_options(kb_flags INTERFACE ${kb_sanitize})
	target_link_options(kb_flags INTERFACE ${kb_sanitize})
else()
	# Sanitizers bring checks of their own for what this one guards.
	target_compile_definitions(kb_flags INTERFACE
		$<$<CONFIG:Release,RelWithDebInfo>:_FORTIFY_SOURCE=2>)
endif()

if(KBUNDLE_COVERAGE)
	target_compile_options(kb_flags INTERFACE --coverage)
	target_link_options(kb_flags INTERFACE --coverage)
endif()

if(KBUNDLE_BUILD_FUZZ)
	if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
		message(FATAL_ERROR "KBUNDLE_BUILD_FUZZ needs clang")
	endif()
	target_compile_options(kb_flags INTERFACE -fsanitize=fuzzer-no-link)
	target_link_options(kb_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
