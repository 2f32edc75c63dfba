"""Compile, run and time: everything that needs IREE's tools or a device."""
