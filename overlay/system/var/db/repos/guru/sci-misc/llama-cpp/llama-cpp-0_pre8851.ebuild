EAPI=8
DESCRIPTION="A stand-in"
SLOT=0
LICENSE=MIT
KEYWORDS="~amd64"
IUSE="rocm wmma"
REQUIRED_USE="wmma? ( rocm )"
DEPEND="rocm? ( >=dev-util/hip-6.3:= >=sci-libs/hipBLAS-6.3:= wmma? ( >=sci-libs/rocWMMA-6.3:= ) )"
RDEPEND="${DEPEND} dev-python/numpy"
