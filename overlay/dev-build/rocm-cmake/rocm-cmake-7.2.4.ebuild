# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

DESCRIPTION="CMake modules that the ROCm stack shares"
HOMEPAGE="https://example.org/rocm/rocm-cmake"
SRC_URI="https://example.org/rocm/rocm-cmake/archive/rocm-${PV}.tar.gz -> ${P}.tar.gz"
S="${WORKDIR}/${PN}-rocm-${PV}"

LICENSE="MIT"
SLOT="0/7.2"
KEYWORDS="~amd64"

src_prepare() {
	default

	sed -e "/CMAKE_INSTALL_LIBDIR/s:lib:lib64:" \
		-i share/rocmcmakebuildtools/cmake/ROCM{CreatePackage,InstallTargets}.cmake || die
}
