"""Print the policy and its notes as found from here."""

import json

import gpumem

report = gpumem.explain()
print(json.dumps({"policy": {key: entry["value"] for key, entry in report.policy.items()}, "notes": report.notes}))
