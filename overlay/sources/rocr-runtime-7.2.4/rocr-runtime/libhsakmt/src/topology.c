#include <stdio.h>
#include <stdlib.h>

#define NODES "/sys/devices/virtual/kfd/kfd/topology/nodes"

/* How many nodes the driver shows. */
int topology_count_nodes(void)
{
	int count = 0;
	char path[256];

	for (;;) {
		FILE *f;

		sprintf(path, NODES "/%d/gpu_id", count);
		f = fopen(path, "r");
		if (!f)
			break;
		fclose(f);
		count++;
	}
	return count;
}
