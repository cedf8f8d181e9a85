int go_shim_amdsmigpu_init(void)
{
	return 1;
}
