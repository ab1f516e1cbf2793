"""One adapter a package; each answers one request on its stdin."""
