# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

ESMI_PV=4.2

DESCRIPTION="System management interface for AMD hardware"
HOMEPAGE="https://example.org/rocm/amdsmi"
SRC_URI="
	https://example.org/rocm/rocm-systems/releases/rocm-${PV}/amdsmi.tar.gz -> amdsmi-${PV}.tar.gz
	https://example.org/amd/esmi_ib_library/archive/esmi_pkg_ver-${ESMI_PV}.tar.gz -> esmi_ib_library-${ESMI_PV}.tar.gz
"
S="${WORKDIR}/${PN}"
ESMI_S="${WORKDIR}/esmi_ib_library-esmi_pkg_ver-${ESMI_PV}"

LICENSE="MIT"
SLOT="0/7.2"
KEYWORDS="~amd64"

DEPEND="dev-libs/rocm-core:${SLOT}"

src_prepare() {
	sed -e "/cmake_minimum_required/ s/3\.5\.0/3.10/" \
		-e "s/-Wall -Wextra//" \
		-i "${ESMI_S}"/CMakeLists.txt || die

	sed -e "s/-Wall -Wextra//" \
		-e "/generic_add_rocm/d" \
		-e "s:doc/\${CPACK_PACKAGE_NAME}:doc/${PF}:" \
		-e "s/COMPONENT asan/COMPONENT asan EXCLUDE_FROM_ALL/" \
		-i CMakeLists.txt || die

	sed -e "/cmake_minimum_required/ s/3\.5\.0/3.10/" \
		-e "s/-Wall -Wextra//" \
		-e "/target_link_libraries.*\/lib/d" \
		-i goamdsmi_shim/CMakeLists.txt || die

	default
}
