static unsigned int sockets;

unsigned int esmi_number_of_sockets(void)
{
	return sockets;
}
