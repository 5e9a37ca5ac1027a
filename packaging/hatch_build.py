"""Names the platform of the wheel, PLATFORM: it holds a program and no Python."""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Platform(BuildHookInterface):
    def initialize(self, version, build_data):
        build_data["tag"] = f"py3-none-{os.environ['PLATFORM']}"
        build_data["pure_python"] = False
