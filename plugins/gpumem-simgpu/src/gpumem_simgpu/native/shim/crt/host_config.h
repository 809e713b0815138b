/* cuda_runtime.h includes this only to choose settings for nvcc; a plain host compiler needs none of them.
 * The real file is in a wheel of several hundred megabytes. */
#pragma once
