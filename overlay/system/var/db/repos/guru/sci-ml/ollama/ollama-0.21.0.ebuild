EAPI=8
DESCRIPTION="A stand-in"
SLOT=0
LICENSE=MIT
KEYWORDS="~amd64"
IUSE="rocm"
DEPEND="rocm? ( >=dev-util/hip-6.1:= >=sci-libs/hipBLAS-6.1:= >=sci-libs/rocBLAS-6.1:= )"
RDEPEND="${DEPEND}"
