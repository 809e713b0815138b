"""The larger commands of gpumem. Each is found through the entry-point group ``gpumem.commands``.

Nothing here knows a framework by name: what is to be known about one, its plugin says.
"""
