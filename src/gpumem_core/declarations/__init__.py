"""The places where a policy may be declared, one file per place."""
