"""Checks that what this repository says about itself is true.

Each check takes a `Repository` and returns what is wrong, one line a fault; tests/test_contract.py
runs them all on this tree, and plants in a copy the fault that each is there to find.
"""
