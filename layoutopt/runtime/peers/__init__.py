"""Other runtimes that `layoutopt bench` times: one file each, named as on the command line."""
