# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

DESCRIPTION="System management interface of the ROCm stack"
HOMEPAGE="https://example.org/rocm/rocm-smi"
SRC_URI="https://example.org/rocm/rocm-systems/releases/rocm-${PV}/rocm-smi-lib.tar.gz -> rocm-smi-lib-${PV}.tar.gz"
S="${WORKDIR}/rocm-smi-lib"

LICENSE="MIT"
SLOT="0/7.2"
KEYWORDS="~amd64"

src_prepare() {
	# Neither git nor the tags are there.
	sed -e "/find_program (GIT NAMES git)/d" -i CMakeLists.txt || die
	sed -e "/num_change_since_prev_pkg(\${VERSION_PREFIX})/d" -i cmake_modules/utils.cmake || die

	sed -E "s|path_librocm =.+__file__.+|path_librocm = '${EPREFIX}/usr/lib64/librocm_smi64.so.@VERSION_MAJOR@'|" \
		-i python_smi_tools/rsmiBindingsInit.py.in || die

	default
}
