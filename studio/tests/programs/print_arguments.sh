#!/bin/sh
# A program that prints its arguments, one a line.
printf '%s\n' "$@"
