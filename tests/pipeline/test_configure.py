"""`configure` puts the policy into the frameworks' own settings, starts nothing and can be taken back."""

import gpumem


def test_smoke(numbat, quokka, bilby, environ):
    before = environ()
    report = gpumem.configure(cap="8GiB", growth=True)
    print(report)
    assert environ() != before
    assert gpumem.reset() == ()
    assert environ() == before
