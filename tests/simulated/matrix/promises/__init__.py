"""The support matrix: its cells, how one is run, judged and recorded."""
