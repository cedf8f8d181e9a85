static int vendors;

int khrIcdVendorCount(void)
{
	return vendors;
}
