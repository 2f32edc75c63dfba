"""Other runtimes that `layoutopt bench` times: one file each, named as on the command line.

Each has ``PACKAGE``, what it needs, and ``runner(model, threads, inputs)``, which hands back one
run of an ONNX model as a function: inputs and results in the model's order.
"""
