"""Names the platform of the wheel, PLATFORM: it holds a program and no Python. Adds the pages in docs."""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Platform(BuildHookInterface):
    def initialize(self, version, build_data):
        build_data["tag"] = f"py3-none-{os.environ['PLATFORM']}"
        build_data["pure_python"] = False
        for name in sorted(os.listdir(os.path.join(self.root, "docs"))):
            build_data["shared_data"][f"docs/{name}"] = f"share/doc/philidor/{name}"
