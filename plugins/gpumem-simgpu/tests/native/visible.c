/* CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, in all forms that the driver reads:
 * https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
 * The devices of each machine differ in size: bus number n has n + 1 MiB. */
#include "device.h"

/* The bus numbers that CUDA shows must be these, in this order; "" is none. */
static void sees(const char *expected) {
  char found[64] = "";
  int count = 0;
  CUresult rc = cuInit(0);
  if (!*expected) {
    IS(rc, CUDA_ERROR_NO_DEVICE);
    IS(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    return;
  }
  OK(rc);
  OK(cuDeviceGetCount(&count));
  for (int i = 0; i < count; i++) {
    size_t bytes = 0;
    char bus[32];
    OK(cuDeviceTotalMem(&bytes, i));
    OK(cuDeviceGetPCIBusId(bus, sizeof bus, i));
    size_t length = strlen(found);
    snprintf(found + length, sizeof found - length, "%s%zu", i ? " " : "", bytes / MIB - 1);
    IS(strtol(bus + 5, 0, 16), bytes / MIB); /* 0000:02:00.0 is bus number 1 */
    IS(attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i), bytes / MIB);
  }
  SAYS(found, expected);
}

// Unset: all, in CUDA's order.
CASE(not_set, "DEVICES=1MiB,2MiB,3MiB") { sees("0 1 2"); }
CASE(not_set_fastest_first, "DEVICES=1MiB,2MiB,3MiB FASTEST_FIRST=2,0,1") { sees("2 0 1"); }
CASE(not_set_bus_order, "DEVICES=1MiB,2MiB,3MiB FASTEST_FIRST=2,0,1 CUDA_DEVICE_ORDER=PCI_BUS_ID") { sees("0 1 2"); }
CASE(not_set_order_by_name, "DEVICES=1MiB,2MiB,3MiB FASTEST_FIRST=2 CUDA_DEVICE_ORDER=FASTEST_FIRST") {
  sees("2 0 1");
}

// Indices choose and order.
CASE(one_index, "DEVICES=1MiB,2MiB,3MiB CUDA_VISIBLE_DEVICES=1") { sees("1"); }
CASE(indices, "DEVICES=1MiB,2MiB,3MiB CUDA_VISIBLE_DEVICES=2,0") { sees("2 0"); }
CASE(indices_fastest_first, "DEVICES=1MiB,2MiB,3MiB FASTEST_FIRST=2,0,1 CUDA_VISIBLE_DEVICES=0,1") { sees("2 0"); }
CASE(indices_bus_order, "DEVICES=1MiB,2MiB,3MiB FASTEST_FIRST=2,0,1 CUDA_VISIBLE_DEVICES=0,1 CUDA_DEVICE_ORDER=PCI_BUS_ID") {
  sees("0 1");
}

// Empty, -1 and words hide all.
CASE(empty, "DEVICES=2x1MiB CUDA_VISIBLE_DEVICES=") { sees(""); }
CASE(minus_one, "DEVICES=2x1MiB CUDA_VISIBLE_DEVICES=-1") { sees(""); }
CASE(a_word, "DEVICES=2x1MiB CUDA_VISIBLE_DEVICES=none") { sees(""); }
CASE(no_dev_files, "DEVICES=2x1MiB CUDA_VISIBLE_DEVICES=NoDevFiles") { sees(""); }

// What stands before the first invalid entry stays visible.
CASE(invalid_in_the_middle, "DEVICES=1MiB,2MiB,3MiB CUDA_VISIBLE_DEVICES=0,-1,1") { sees("0"); }
CASE(invalid_at_first, "DEVICES=1MiB,2MiB,3MiB CUDA_VISIBLE_DEVICES=9,0") { sees(""); }
CASE(invalid_at_last, "DEVICES=1MiB,2MiB,3MiB CUDA_VISIBLE_DEVICES=1,0,3") { sees("1 0"); }
CASE(empty_in_the_middle, "DEVICES=1MiB,2MiB,3MiB CUDA_VISIBLE_DEVICES=0,,1") { sees("0"); }
CASE(comma_at_last, "DEVICES=1MiB,2MiB,3MiB CUDA_VISIBLE_DEVICES=1,") { sees("1"); }
CASE(absurdly_large, "DEVICES=2x1MiB CUDA_VISIBLE_DEVICES=99999999999999999999999") { sees(""); }
CASE(two_to_the_32nd, "DEVICES=2x1MiB CUDA_VISIBLE_DEVICES=4294967296") { sees(""); }

// A device that is listed twice leaves none.
CASE(twice, "DEVICES=1MiB,2MiB,3MiB CUDA_VISIBLE_DEVICES=1,1") { sees(""); }
CASE(twice_with_another, "DEVICES=1MiB,2MiB,3MiB CUDA_VISIBLE_DEVICES=0,2,0") { sees(""); }

// A beginning of a UUID is enough where it fits one device only.
CASE(uuid_short, "DEVICES=1MiB,2MiB,3MiB CUDA_VISIBLE_DEVICES=GPU-a1") { sees("1"); }
CASE(uuid_whole, "DEVICES=1MiB,2MiB,3MiB CUDA_VISIBLE_DEVICES=GPU-a2515151-5151-5151-5151-515151515102,GPU-a0") {
  sees("2 0");
}
CASE(uuid_of_several, "DEVICES=1MiB,2MiB,3MiB CUDA_VISIBLE_DEVICES=GPU-a") { sees(""); }
CASE(uuid_of_none, "DEVICES=1MiB,2MiB,3MiB CUDA_VISIBLE_DEVICES=GPU-a0,GPU-ff") { sees("0"); }
CASE(uuid_too_long, "DEVICES=1MiB,2MiB,3MiB CUDA_VISIBLE_DEVICES=GPU-a0515151-5151-5151-5151-5151515151000") {
  sees("");
}
CASE(uuid_without_order, "DEVICES=1MiB,2MiB,3MiB FASTEST_FIRST=2,1,0 CUDA_VISIBLE_DEVICES=GPU-a0") { sees("0"); }

// The variable is read by cuInit, not before, and once.
CASE(set_by_the_program, "DEVICES=1MiB,2MiB,3MiB CUDA_VISIBLE_DEVICES=0") {
  int version, count;
  OK(cuDriverGetVersion(&version));
  setenv("CUDA_VISIBLE_DEVICES", "2,1", 1);
  sees("2 1");
  setenv("CUDA_VISIBLE_DEVICES", "0", 1);
  OK(cuInit(0));
  OK(cuDeviceGetCount(&count));
  IS(count, 2);
}

// Sixteen devices are the most.
CASE(sixteen, "DEVICES=16x1MiB") {
  int count;
  OK(cuInit(0));
  OK(cuDeviceGetCount(&count));
  IS(count, 16);
}
