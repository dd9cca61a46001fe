"""Builds the shared library with CMake and puts it, with the libraries it needs, into the package."""

import re
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution
from wheel.bdist_wheel import bdist_wheel

ROOT = Path(__file__).resolve().parent
VERSION = re.search(r"project\(spexphormer VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        target = Path(self.build_lib).resolve() / "spexphormer" / "lib"
        subprocess.run([ROOT / "scripts" / "bundle-library", target], check=True)


class PlatformWheel(bdist_wheel):
    """For any Python 3 on this kind of machine: the library is called by ctypes."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class BinaryDistribution(Distribution):
    def has_ext_modules(self):
        return True


setup(version=VERSION, distclass=BinaryDistribution,
      cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel})
