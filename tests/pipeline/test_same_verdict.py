"""A value means the same, or is refused in the same way, in code, in a variable, in a file and on a command line."""

import argparse

import pytest

from gpumem import GpumemError, PolicyError
from gpumem_core.cli.policy_flags import add_policy_flags, declared_flags
from gpumem_core.declarations.arguments import read_arguments
from gpumem_core.declarations.environment import read_environment
from gpumem_core.declarations.files import read_files

VALUES = {
    "cap": "8GiB 8GB 8589934592 8192 0 -1 nan inf none 50% 80%_free 0.5 1 true 8e9 8589934592.0 8Gbit 8,5GiB 101%",
    "fraction": "0.5 1 1.0 50% 0 -0.0 -1 nan inf none true 8GiB .5 0,5 2.5 1e400",
    "preallocate": "true false 1 0 yes off 1GiB 2 none nan 8192",
    "growth": "true false 1 0 yes off on 2 none 1GiB",
    "allocator": "pool POOL pol 1 true",
    "visible": "all none 0 1 [0] [0,1] [] true [-1] [0,0] some",
    "headroom": "1GiB 0 none 10%",
    "processes_per_device": "1 2 0 -1 auto true 1.5 many",
    "on_late": "warn WARN warning 1",
    "on_unsupported": "ignore ignored",
}
CASES = [(field, text.replace("_", " ")) for field, texts in VALUES.items() for text in texts.split()]


def typed(text):
    """Return the value as a program or a TOML file would write it, without quotes where it can."""
    import ast

    try:
        return ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
    except (ValueError, SyntaxError):
        return {"nan": float("nan"), "inf": float("inf")}.get(text, text)


def verdict(declared):
    if declared.faults:
        return "refused"
    return {item.key: str(item.value) for item in declared.declarations}


def from_file(tmp_path, field, literal):
    path = tmp_path / "gpumem.toml"
    path.write_text(f"{field.replace('_', '-')} = {literal}\n")
    return read_files({"GPUMEM_CONFIG": str(path)})


def literal(value):
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


def from_flag(*arguments):
    parser = argparse.ArgumentParser()
    add_policy_flags(parser)
    return declared_flags(parser.parse_args(arguments))


@pytest.mark.parametrize(("field", "text"), CASES)
def test_every_source_gives_the_same_verdict(field, text, tmp_path):
    value = typed(text)
    flag = f"--{field.replace('_', '-')}={text}"
    verdicts = {
        "code, text": verdict(read_arguments(None, {field: text}, "x")),
        "code, typed": verdict(read_arguments(None, {field: value}, "x")),
        "variable": verdict(read_environment({f"GPUMEM_{field.upper()}": text})),
        "file, text": verdict(from_file(tmp_path, field, f'"{text}"')),
        "file, typed": verdict(from_file(tmp_path, field, literal(value))),
        "flag": verdict(from_flag(flag)),
        "key": verdict(from_flag("-o", f"{field.replace('_', '-')}={text}")),
    }
    first = verdicts["code, text"]
    # A word such as [0] or 8589934592.0 loses its spelling when it is typed; its meaning must stay.
    assert {name: said for name, said in verdicts.items() if said != first} == {}


@pytest.mark.parametrize(
    ("code", "variables", "toml", "flags"),
    [
        (
            {"frameworks": {"numbat": {"on_late": "warn", "cap": "1GiB"}}},
            {"GPUMEM_FRAMEWORKS__NUMBAT__ON_LATE": "warn", "GPUMEM_FRAMEWORKS__NUMBAT__CAP": "1GiB"},
            '[frameworks.numbat]\non-late = "warn"\ncap = "1GiB"\n',
            ["-o", "frameworks.numbat.on-late=warn", "-o", "frameworks.numbat.cap=1GiB"],
        ),
        (
            {"devices": {"GPU-0a": {"growth": True}}},
            {"GPUMEM_DEVICES__GPU_0A__GROWTH": "true"},
            "[devices.GPU-0a]\ngrowth = true\n",
            ["-o", "devices.GPU-0a.growth=true"],
        ),
        (
            {"frameworks": {"numbat": "hidden"}},
            {"GPUMEM_FRAMEWORKS__NUMBAT": "hidden"},
            '[frameworks]\nnumbat = "hidden"\n',
            ["-o", "frameworks.numbat=hidden"],
        ),
        (
            {"processes_per_device": 2, "ignore": ["GM204", "GM101"]},
            {"GPUMEM_PROCESSES_PER_DEVICE": "2", "GPUMEM_IGNORE": "GM204,GM101"},
            'processes-per-device = 2\nignore = ["GM204", "GM101"]\n',
            ["--processes-per-device", "2", "--ignore", "GM204,GM101"],
        ),
        (
            {"fracton": 0.5},
            {"GPUMEM_FRACTON": "0.5"},
            "fracton = 0.5\n",
            ["-o", "fracton=0.5"],
        ),
    ],
)
def test_nested_keys_are_the_same_in_every_source(code, variables, toml, flags, tmp_path):
    path = tmp_path / "gpumem.toml"
    path.write_text(toml)
    said = verdict(read_arguments(None, code, "x"))
    assert verdict(read_environment(variables)) == said
    assert verdict(read_files({"GPUMEM_CONFIG": str(path)})) == said
    assert verdict(from_flag(*flags)) == said


@pytest.mark.parametrize(
    "flags",
    [
        ["-o", "cap"],
        ["-o", "=1GiB"],
        ["-o", "devices..cap=1GiB"],
        ["-o", "frameworks.numbat=hidden", "-o", "frameworks.numbat.cap=1GiB"],
        ["-o", "frameworks.numbat.cap=1GiB", "-o", "frameworks.numbat=hidden"],
    ],
)
def test_keys_that_contradict_each_other_are_refused(flags):
    with pytest.raises((ValueError, GpumemError)):
        from_flag(*flags)


def test_the_error_for_a_file_and_for_code_is_of_one_kind():
    assert issubclass(PolicyError, GpumemError)
