"""The gpumem plugin for CuPy. The hooks stand in `gpumem_cupy.plugin`; importing any module here imports no CuPy."""
