"""What the sessions of noxfile.py share, one idea a module."""
