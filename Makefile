# make demo   plan ResNet-50 on this machine and print the report
# make test   run the tests; those marked `long` are left out
# make test-all  run all tests, the long ones too: three times as long
# make fuzz   random graphs for SECONDS=60, by the oracle and through IREE; SEED=0
# make check  lint, format, types, import contracts
# make bench  compare on the example models; the README's table and chart go to build/results.md and .svg;
#             PEERS=onnxruntime,openvino for other runtimes too, which are installed
# make clean  remove the environment and everything built
#
# Each target sets itself up. Only python3 (3.11 or later) and make are expected.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
READY := $(VENV)/ready
PYTEST_FLAGS ?= -n 3 --dist worksteal
PEERS ?=
SECONDS ?= 60
SEED ?= 0
PIP_FLAGS := --quiet --quiet --disable-pip-version-check --no-input --retries 5 --timeout 60

COMMA := ,

EXAMPLES := resnet50 squeezenet mobilenetv2 bert mlp
MODELS := $(EXAMPLES:%=build/%.onnx)

.DELETE_ON_ERROR:
.PHONY: demo test test-all fuzz check bench clean

demo: build/resnet50.onnx
	@$(PY) -m layoutopt optimize $< -o build/resnet50.opt.mlir --report build/resnet50.report.json

test: $(READY)
	@$(PY) -m pytest $(PYTEST_FLAGS) -m "not long"

test-all: $(READY)
	@$(PY) -m pytest $(PYTEST_FLAGS)

fuzz: $(READY)
	@$(PY) -m tests.fuzz --seconds $(SECONDS) --seed $(SEED)

check: $(READY)
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@PYTHONPATH=. $(PY) $(BIN)/lint-imports --no-logo

bench: $(MODELS)
	@$(if $(PEERS),$(PY) -m pip install $(PIP_FLAGS) $(subst $(COMMA), ,$(PEERS)))
	@$(PY) -m layoutopt bench $(MODELS) --table build/results.md --chart build/results.svg $(PEERS:%=--peers=%)

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

build/%.onnx: examples/make_models.py $(READY)
	@$(PY) $< build $*

build/%-int8.onnx: build/%.onnx examples/quantize.py
	@$(PY) examples/quantize.py $< $@

# The marker is written last, so an interrupted set-up starts again; pyproject.toml is all that it depends on.
$(READY): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { \
	  echo "make: expected python3 on the path, but found no '$(PYTHON)'; install Python 3.11 or later, or pass PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: expected Python 3.11 or later, but '$(PYTHON)' is $$($(PYTHON) -c 'import platform; print(platform.python_version())'); pass PYTHON=..." >&2; exit 1; }
	@echo "setting up $(VENV) ..."
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "make: expected python's venv module to work, but it failed; on Debian and Ubuntu install python3-venv" >&2; exit 1; }
	@$(PY) -m pip install $(PIP_FLAGS) --editable '.[onnx,dev]'
	@touch $@
