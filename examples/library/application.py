"""An application that uses the library. Its own words are stronger; the library fills what they leave open."""

import gpumem

gpumem.configure(cap="4GiB")

import meteorology  # noqa: E402 - libraries may come before or after configure()

report = gpumem.report()
for key, entry in report.policy.items():
    print(f"{key} = {entry['value']}, from {str(entry['origin']).split(',')[0]}")
print(meteorology.forecast())
