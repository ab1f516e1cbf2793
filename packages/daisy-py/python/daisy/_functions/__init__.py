"""How functions get to workers: ``dumps`` makes bytes of one in the driver, ``loads`` a function of them in a worker.

Light, since every worker imports it: the driver's half is imported where it is needed.
"""
