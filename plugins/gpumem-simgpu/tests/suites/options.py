"""What a configuration file and a command line say, seen by a marked test."""

import warnings

import pytest


@pytest.mark.mine
@pytest.mark.simulated_gpus("1x1GiB")
def test_marked(from_plugin, pytestconfig, record_property):
    record_property("seen", from_plugin)
    assert pytestconfig.getini("xfail_strict")
    assert pytestconfig.getini("log_level") == "INFO"
    warnings.warn("let through", DeprecationWarning, stacklevel=1)
    with pytest.raises(UserWarning):
        warnings.warn("an error", UserWarning, stacklevel=1)


def test_other():
    raise AssertionError
