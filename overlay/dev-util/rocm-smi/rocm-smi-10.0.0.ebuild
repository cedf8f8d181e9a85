# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

SYSTEMS_COMMIT="6b0e43f341195e203754e08f850e437ff2fc09f9"

DESCRIPTION="System management interface of the ROCm stack"
HOMEPAGE="https://example.org/rocm/rocm-smi"
SRC_URI="https://example.org/rocm/rocm-systems/archive/${SYSTEMS_COMMIT}.tar.gz -> rocm-systems-${PV}.tar.gz"
S="${WORKDIR}/rocm-systems-${SYSTEMS_COMMIT}/projects/rocm-smi-lib"

LICENSE="MIT"
SLOT="0/10.0"
KEYWORDS="~amd64"

src_prepare() {
	# Neither git nor the tags are there.
	sed -e "/find_program (GIT NAMES git)/d" -i CMakeLists.txt || die
	sed -e "/num_change_since_prev_pkg(\${VERSION_PREFIX})/d" -i cmake_modules/utils.cmake || die

	sed -E "s|path_librocm =.+__file__.+|path_librocm = '${EPREFIX}/usr/lib64/librocm_smi64.so.@VERSION_MAJOR@'|" \
		-i python_smi_tools/rsmiBindingsInit.py.in || die

	default
}
