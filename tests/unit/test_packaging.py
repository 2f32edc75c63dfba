"""The wheel holds the package and nothing else, and the tree agrees with pyproject.toml."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
BUILD = "from setuptools import build_meta; print(build_meta.build_wheel('dist'))"


def package_files(suffix: str) -> set[str]:
    """Paths of the tree's package files, as a wheel spells them."""
    return {
        Path(folder, name).relative_to(ROOT).as_posix()
        for folder, _, names in os.walk(ROOT / "layoutopt", followlinks=True)
        for name in names
        if name.endswith(suffix)
    }


def test_package_list_equals_the_tree() -> None:
    tree = {str(Path(f).parent).replace("/", ".") for f in package_files("__init__.py")}
    assert sorted(SETUPTOOLS["packages"]) == sorted(tree)


def test_every_module_is_in_a_package() -> None:
    folders = {str(Path(f).parent).replace("/", ".") for f in package_files(".py")}
    assert sorted(folders - set(SETUPTOOLS["packages"])) == []


def test_links_agree_with_package_dir() -> None:
    links = {f"layoutopt.{p.name}": p for p in (ROOT / "layoutopt").iterdir() if p.is_symlink()}
    mapped = {name: path for name, path in SETUPTOOLS["package-dir"].items() if name != path}
    assert {name: os.readlink(link) for name, link in links.items()} == {
        name: f"../{path}" for name, path in mapped.items()
    }


@pytest.mark.parametrize("with_links", [True, False], ids=["links", "no-links"])
def test_wheel_holds_only_the_package(tmp_path: Path, with_links: bool) -> None:
    for name in ("layoutopt", "rules", "solver", "profiles", "examples", "tests"):
        shutil.copytree(
            ROOT / name,
            tmp_path / name,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    if not with_links:  # as where a checkout turns links into text files
        for link in (tmp_path / "layoutopt").iterdir():
            if link.is_symlink():
                target = os.readlink(link)
                link.unlink()
                link.write_text(target)

    build = subprocess.run(
        [sys.executable, "-c", BUILD],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert build.returncode == 0, build.stdout + build.stderr

    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    held = {name for name in names if ".dist-info/" not in name}
    kinds = (".py", "py.typed", ".toml", ".json", ".j2", ".css", ".js")
    assert held == set().union(*map(package_files, kinds))
    assert {name.split("/")[0] for name in names - held} == {"layoutopt-0.1.0.dist-info"}
