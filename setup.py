"""Packaging entry point; everything is declared in setup.cfg."""

import setuptools

setuptools.setup()
