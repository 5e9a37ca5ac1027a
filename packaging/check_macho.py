#!/usr/bin/env python3
"""Checks a program for macOS, where there is no Mac.

Usage: packaging/check_macho.py PROGRAM aarch64|x86_64 MACOS

It must be for that processor and that version of macOS, such as 12.0, load only libraries that every Mac has, and, on
Apple silicon, have an ad-hoc signature whose hash of every page is right: the kernel ends a program when it loads a page whose hash is wrong.
"""
import hashlib
import struct
import sys
from pathlib import Path

MACHINES = {"aarch64": 0x0100000C, "x86_64": 0x01000007}
# A library is needed, may be missing, is passed on, is loaded late, or is above this one.
LIBRARIES = {0xC, 0x18, 0x1F, 0x20, 0x23}
CODE_SIGNATURE, BUILD_VERSION = 0x1D, 0x32
SUPER_BLOB, CODE_DIRECTORY, ADHOC, SHA256 = 0xFADE0CC0, 0xFADE0C02, 0x2, 2


def commands(data):
    """The load commands: (number without the bit that says whether the loader must know it, content)."""
    count, = struct.unpack_from("<I", data, 16)
    offset = 32
    for _ in range(count):
        number, size = struct.unpack_from("<II", data, offset)
        yield number & 0x7FFFFFFF, data[offset:offset + size]
        offset += size


def signature_faults(data, command):
    """What is wrong with an embedded signature, which is big-endian."""
    start, _ = struct.unpack_from("<II", command, 8)
    magic, _, count = struct.unpack_from(">III", data, start)
    if magic != SUPER_BLOB:
        return ["the signature has another magic number"]
    for index in range(count):
        _, offset = struct.unpack_from(">II", data, start + 12 + 8 * index)
        at = start + offset
        if struct.unpack_from(">I", data, at)[0] != CODE_DIRECTORY:
            continue
        flags, hashes, _, _, slots, limit, length, kind, _, page = struct.unpack_from(">IIIIIIBBBB", data, at + 12)
        if not flags & ADHOC or kind != SHA256 or limit != start:
            return [f"the signature's flags are {flags:#x}, its hash {kind}, its end {limit} instead of {start}"]
        size = 1 << page
        wrong = [slot for slot in range(slots)
                 if hashlib.sha256(data[slot * size:min((slot + 1) * size, limit)]).digest()
                 != data[at + hashes + slot * length:at + hashes + (slot + 1) * length]]
        if wrong or slots != -(-limit // size):
            return [f"{len(wrong)} of {slots} pages have another hash than the signature"]
        return []
    return ["the signature has no code directory"]


def faults(data, machine, system):
    magic, kind = struct.unpack_from("<II", data)
    if magic != 0xFEEDFACF or kind != MACHINES[machine]:
        return [f"not a program for macOS on {machine}"]
    found, signed = [], False
    for number, command in commands(data):
        if number in LIBRARIES:
            offset, = struct.unpack_from("<I", command, 8)
            name = command[offset:].split(b"\0")[0].decode()
            if not name.startswith(("/usr/lib/", "/System/Library/Frameworks/")):
                found.append(f"it loads {name}")
        elif number == BUILD_VERSION:
            version, = struct.unpack_from("<I", command, 12)
            if version > system[0] << 16 | system[1] << 8:
                found.append(f"it needs macOS {version >> 16}.{version >> 8 & 255}")
        elif number == CODE_SIGNATURE:
            signed = True
            found += signature_faults(data, command)
    if machine == "aarch64" and not signed:
        found.append("it has no signature")
    return found


def main():
    if len(sys.argv) != 4 or sys.argv[2] not in MACHINES:
        sys.exit(__doc__)
    data = Path(sys.argv[1]).read_bytes()
    if found := faults(data, sys.argv[2], [int(number) for number in sys.argv[3].split(".")]):
        sys.exit("\n".join(f"{sys.argv[1]}: {fault}" for fault in found))
    signed = any(number == CODE_SIGNATURE for number, _ in commands(data))
    print(f"{sys.argv[1]}: for macOS {sys.argv[3]} and newer, {'signed ad hoc' if signed else 'without a signature'}")


if __name__ == "__main__":
    main()
