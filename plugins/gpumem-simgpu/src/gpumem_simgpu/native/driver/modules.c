/* Modules, libraries and functions: accepted and never looked into, so every name exists in every module.  A
 * library is a module, and a kernel is a function. */
#define _GNU_SOURCE
#include "driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GLOBAL_BYTES ((size_t)1 << 16)   /* of every variable in a module, as it is told */
#define GLOBAL_BACKING ((size_t)1 << 20) /* what is behind it, as some are larger */

typedef struct Variable {
  struct Variable *next;
  char *start;
  char name[];
} Variable;

struct CUmod_st {
  Handle handle;
  struct CUfunc_st *functions;
  Variable *variables;
};
struct CUfunc_st {
  Handle handle;
  struct CUmod_st *module;
  struct CUfunc_st *next;
  char name[];
};

static CUresult load(const char *api, CUmodule *out) {
  Context *context;
  NEED(out);
  TRY(context_current(&context));
  lock();
  CUmodule module = handle_new(MODULE, sizeof *module, context);
  unlock();
  if (!module) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = module;
  sim_trace(api, -1, -1, module, 0);
  return CUDA_SUCCESS;
}

/* Locked. */
static void forget(CUmodule module) {
  for (CUfunction function = module->functions, next; function; function = next) {
    next = function->next;
    handle_drop(function);
  }
  for (Variable *variable = module->variables, *next; variable; variable = next) {
    next = variable->next;
    Block *block = block_at(variable->start);
    block_remove(block);
    backing_free(block->start, block->bytes);
    free(block);
    free(variable);
  }
  handle_drop(module);
}

void modules_forget_of(Context *context) {
  for (CUmodule module; (module = handle_of(MODULE, context));) forget(module);
}

static CUresult unload(CUmodule address) {
  TRY(driver_ready());
  lock();
  CUmodule module = handle_find(MODULE, address);
  if (module) forget(module);
  unlock();
  return module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Locked. */
static CUfunction function_of(CUmodule module, const char *name) {
  CUfunction function = module->functions;
  while (function && strcmp(function->name, name)) function = function->next;
  if (function) return function;
  function = handle_new(FUNCTION, sizeof *function + strlen(name) + 1, module->handle.context);
  if (!function) return 0;
  strcpy(function->name, name);
  function->module = module, function->next = module->functions;
  return module->functions = function;
}

static CUresult get_function(CUfunction *out, CUmodule address, const char *name) {
  NEED(out && name && *name);
  TRY(driver_ready());
  lock();
  CUmodule module = handle_find(MODULE, address);
  CUfunction function = module ? function_of(module, name) : 0;
  unlock();
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  if (!function) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = function;
  return CUDA_SUCCESS;
}

/* Locked. */
static Variable *variable_of(CUmodule module, const char *name) {
  Variable *variable = module->variables;
  while (variable && strcmp(variable->name, name)) variable = variable->next;
  if (variable) return variable;
  variable = malloc(sizeof *variable + strlen(name) + 1);
  char *start = variable ? backing_new(GLOBAL_BACKING) : 0;
  Context *context = module->handle.context;
  Block *block = start ? block_new(GLOBAL, context->dev, start, GLOBAL_BACKING) : 0;
  if (!block) {
    if (start) backing_free(start, GLOBAL_BACKING);
    free(variable);
    return 0;
  }
  strcpy(variable->name, name);
  variable->start = start, variable->next = module->variables;
  return module->variables = variable;
}

static CUresult get_global(CUdeviceptr *out, size_t *bytes, CUmodule address, const char *name) {
  NEED((out || bytes) && name && *name);
  TRY(driver_ready());
  lock();
  CUmodule module = handle_find(MODULE, address);
  Variable *variable = module ? variable_of(module, name) : 0;
  if (variable && out) *out = (CUdeviceptr)variable->start;
  unlock();
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  if (!variable) return CUDA_ERROR_OUT_OF_MEMORY;
  if (bytes) *bytes = GLOBAL_BYTES;
  return CUDA_SUCCESS;
}

API cuModuleLoad(CUmodule *out, const char *file) { return load(__func__, out); }
API cuModuleLoadData(CUmodule *out, const void *image) { return load(__func__, out); }
API cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned count, CUjit_option *option, void **value) {
  return load(__func__, out);
}
API cuModuleLoadFatBinary(CUmodule *out, const void *image) { return load(__func__, out); }
API cuModuleUnload(CUmodule module) { return unload(module); }
API cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name) {
  return get_function(out, module, name);
}
API cuModuleGetGlobal_v2(CUdeviceptr *out, size_t *bytes, CUmodule module, const char *name) {
  return get_global(out, bytes, module, name);
}
API cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
  NEED(mode);
  TRY(driver_ready());
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

API cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *jit, void **jit_value,
                      unsigned jit_count, CUlibraryOption *option, void **value, unsigned count) {
  return load(__func__, (CUmodule *)out);
}
API cuLibraryUnload(CUlibrary library) { return unload((CUmodule)library); }
API cuLibraryGetModule(CUmodule *module, CUlibrary library) {
  NEED(module);
  TRY(driver_ready());
  lock();
  void *found = handle_find(MODULE, library);
  unlock();
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  *module = found;
  return CUDA_SUCCESS;
}
API cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name) {
  return get_function((CUfunction *)out, (CUmodule)library, name);
}
API cuLibraryGetGlobal(CUdeviceptr *out, size_t *bytes, CUlibrary library, const char *name) {
  return get_global(out, bytes, (CUmodule)library, name);
}

static CUresult find_function(CUfunction address, CUfunction *found) {
  TRY(driver_ready());
  lock();
  *found = handle_find(FUNCTION, address);
  unlock();
  return *found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
API cuKernelGetFunction(CUfunction *out, CUkernel kernel) {
  NEED(out);
  return find_function((CUfunction)kernel, out);
}
API cuFuncGetName(const char **name, CUfunction function) {
  CUfunction found;
  NEED(name);
  TRY(find_function(function, &found));
  *name = found->name;
  return CUDA_SUCCESS;
}
API cuKernelGetName(const char **name, CUkernel kernel) { return cuFuncGetName(name, (CUfunction)kernel); }
API cuFuncGetModule(CUmodule *module, CUfunction function) {
  CUfunction found;
  NEED(module);
  TRY(find_function(function, &found));
  *module = found->module;
  return CUDA_SUCCESS;
}
