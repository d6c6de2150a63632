"""Benches: each module measures one thing and prints it beside its goal.

`python -m bench` runs all."""
