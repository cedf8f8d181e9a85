static const unsigned int interface_major = 1;
static const unsigned int interface_minor = 18;

unsigned int thunk_interface_version(void)
{
	return interface_major << 16 | interface_minor;
}
