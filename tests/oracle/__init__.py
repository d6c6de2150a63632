"""Second opinions: what the tests compare capd with. Nothing here imports capd."""
