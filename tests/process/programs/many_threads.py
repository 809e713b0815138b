"""Thirty-two threads configure the same and import the framework at once: everything is applied once."""

import json
import threading

from numbat_plugin import NumbatPlugin

import gpumem
from gpumem.plugin import hookimpl, register

calls = []


class Counting(NumbatPlugin):
    @hookimpl
    def gpumem_apply(self, call, module, progress):
        calls.append(call.text)
        return super().gpumem_apply(call, module, progress)


register(Counting())
barrier = threading.Barrier(32)
errors = []


def work():
    barrier.wait(60)
    try:
        gpumem.configure(cap="8GiB", devices={0: {"cap": "1GiB"}, 1: {"cap": "2GiB"}})
        import numbat

        numbat.start()
        gpumem.verify(strict=True)
    except BaseException as error:
        errors.append(repr(error))


threads = [threading.Thread(target=work) for _ in range(32)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(60)
print(json.dumps({"calls": sorted(calls), "errors": errors}))
