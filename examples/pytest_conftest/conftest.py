"""A test suite that shares the developer's GPU with everything else on the machine."""

from collections.abc import Iterator

import pytest

import gpumem


def pytest_configure() -> None:
    """Configure before the first test module is collected, so before any framework is imported."""
    # A no-op if somebody has configured already; GPUMEM_CAP on the command line is stronger than this.
    gpumem.configure_default(cap="2GiB", growth=True)


def pytest_unconfigure() -> None:
    """Give the environment back as it was, for whoever runs pytest in a process of his own."""
    gpumem.reset()


@pytest.fixture(autouse=True, scope="session")
def policy_in_force() -> Iterator[None]:
    """Fail the run if a framework that was used did not keep to the policy."""
    yield
    gpumem.verify(strict=True)
