# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, and the target `uninstall` that takes it
# away again.

include(CMakePackageConfigHelpers)

set(kb_man_pages docs/man/kbundle.1)
foreach(verb cat inspect list pack unpack verify)
	list(APPEND kb_man_pages docs/man/kbundle-${verb}.1)
endforeach()

set(kb_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kbundle)

install(FILES include/kbundle/kbundle.h
	DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kbundle)
install(TARGETS kbundle_shared EXPORT kbundle-targets
	LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS kbundle_static EXPORT kbundle-static-targets
	ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS kbundle
	RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${kb_man_pages}
	DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

# find_package(kbundle [COMPONENTS static])
install(EXPORT kbundle-targets NAMESPACE kbundle::
	DESTINATION ${kb_package_dir})
install(EXPORT kbundle-static-targets NAMESPACE kbundle::
	DESTINATION ${kb_package_dir})
configure_package_config_file(cmake/kbundle-config.cmake.in
	${PROJECT_BINARY_DIR}/kbundle-config.cmake
	INSTALL_DESTINATION ${kb_package_dir}
	NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
	${PROJECT_BINARY_DIR}/kbundle-config-version.cmake
	COMPATIBILITY SameMinorVersion)
install(FILES
	${PROJECT_BINARY_DIR}/kbundle-config.cmake
	${PROJECT_BINARY_DIR}/kbundle-config-version.cmake
	cmake/dependencies.cmake
	DESTINATION ${kb_package_dir})

# pkg-config. Relative to where the file lies, so that any --prefix is right.
list(JOIN KB_PKG_MODULES ", " kb_pc_requires)
set(kb_pc_prefix ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
	file(RELATIVE_PATH kb_pc_up
		/${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
	set(kb_pc_prefix "\${pcfiledir}/${kb_pc_up}")
	string(REGEX REPLACE "/$" "" kb_pc_prefix "${kb_pc_prefix}")
endif()
foreach(dir includedir libdir)
	string(TOUPPER ${dir} kb_dir)
	set(kb_pc_${dir} ${CMAKE_INSTALL_${kb_dir}})
	if(NOT IS_ABSOLUTE "${kb_pc_${dir}}")
		set(kb_pc_${dir} "\${prefix}/${kb_pc_${dir}}")
	endif()
endforeach()
configure_file(cmake/kbundle.pc.in ${PROJECT_BINARY_DIR}/kbundle.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/kbundle.pc
	DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(PROJECT_IS_TOP_LEVEL)
	add_custom_target(uninstall
		COMMAND ${CMAKE_COMMAND}
			-DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
			-P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
		COMMENT "Removing what was installed"
		VERBATIM)
endif()
