"""The tree that CONTRIBUTING.md prints is the one on the disk, and its packages are in order."""

from __future__ import annotations

import ast
import os
import re
import tomllib
from pathlib import Path

import pytest

from layoutopt.profiles.target import load_target, target_text

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("layoutopt", "rules", "solver", "profiles")
"""Folders that are listed to the last package, each with what its docstring says first."""
FOLDERS = ("docs", "examples", "tests")
MOST_FILES = 6
Line = tuple[str, str]
"""A folder, and what it holds."""


def printed() -> list[Line]:
    """The lines of the tree; a folder by its path from the root."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = re.search(r"## The tree\n\n```\n(.*?)```", text, re.DOTALL)
    assert found is not None
    lines: list[Line] = []
    above: list[str] = []
    for line in found[1].splitlines():
        matched = re.fullmatch(r"((?:  )*)(\w+)/ +(\S.*)", line)
        assert matched is not None, line
        above[len(matched[1]) // 2 :] = [matched[2]]
        lines.append(("/".join(above), matched[3]))
    return lines


def packages() -> dict[str, str]:
    """Packages on the disk with the first lines of their docstrings; links are not followed."""
    return {
        Path(folder).relative_to(ROOT).as_posix(): first_line(Path(folder, "__init__.py"))
        for root in PACKAGES
        for folder, _, names in os.walk(ROOT / root)
        if "__init__.py" in names
    }


def first_line(file: Path) -> str:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    assert text, file
    return text.splitlines()[0]


def test_each_package_is_printed_with_its_docstring() -> None:
    lines = [line for line in printed() if line[0].split("/")[0] in PACKAGES]
    assert sorted(lines) == sorted(packages().items())


def test_the_other_folders_are_printed_too() -> None:
    lines = [path for path, _ in printed() if path.split("/")[0] in FOLDERS]
    tests = (f"tests/{p.name}" for p in (ROOT / "tests").iterdir() if p.is_dir())
    assert sorted(lines) == sorted([*FOLDERS, *(t for t in tests if not t.endswith("__"))])
    here = {p.name for p in ROOT.iterdir() if p.is_dir() and p.name[0] != "."}
    assert here >= {*PACKAGES, *FOLDERS}
    code = {name for name in here if any((ROOT / name).glob("*.py"))}
    assert code <= {*PACKAGES, *FOLDERS}


def test_few_files_lie_directly_in_layoutopt() -> None:
    files = [p for p in (ROOT / "layoutopt").iterdir() if p.is_file()]
    assert len(files) <= MOST_FILES


def imported(file: Path) -> set[str]:
    """The names that a file imports, and the modules that they may be in."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def import_edges() -> set[tuple[str, str]]:
    """Which package imports which, the root's own files left out."""
    files = [
        Path(folder, name)
        for folder, _, names in os.walk(ROOT / "layoutopt", followlinks=True)
        for name in names
        if name.endswith(".py")
    ]
    packages_of = {f: ".".join(f.parent.relative_to(ROOT).parts) for f in files}
    known = set(packages_of.values()) - {"layoutopt"}

    def package_of(name: str) -> str | None:
        parts = name.split(".")
        prefixes = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
        return next((p for p in prefixes if p in known), None)

    edges = {
        (here, there)
        for file, here in packages_of.items()
        if here in known
        for there in map(package_of, imported(file))
        if there is not None and there != here
    }
    assert len(edges) > len(known)
    return edges


def test_no_two_packages_import_each_other() -> None:
    edges = import_edges()
    assert {tuple(sorted(edge)) for edge in edges if edge[::-1] in edges} == set()
    assert ("layoutopt.normalize", "layoutopt.normalize.quantization") in edges, "nested ones too"


def test_the_readme_names_the_stages_as_folders() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"## How it works\n\n```\n(.*?)```", text, re.DOTALL)
    assert block is not None
    stages = re.findall(r"^  (\w+) ", block[1], re.MULTILINE)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = (c["layers"] for c in contracts["contracts"] if c["type"] == "layers")
    above_options = layers[layers.index("report") : layers.index("options")]
    assert sorted(stages) == sorted(above_options)
    assert all((ROOT / "layoutopt" / stage).is_dir() for stage in stages)


@pytest.mark.parametrize("name", ["host", "mi355x"])
def test_a_target_is_one_file(name: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(target_text(name).replace('description = "', 'description = "mine: '))
    found = load_target(str(mine))
    assert found.description == f"mine: {load_target(name).description}"
    assert found.measurable == load_target(name).measurable


def test_a_contract_is_said_for_each_one_that_is_enforced() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert sorted(c["type"] for c in contracts["contracts"]) == ["layers", "protected", "protected"]
    for contract in contracts["contracts"]:
        if contract["type"] == "protected":
            (module,), (importer,) = contract["protected_modules"], contract["allowed_importers"]
            assert f"- only `{importer}` imports `{module}`;" in text
