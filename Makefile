# Builds the engine as OpenBench and rating lists expect: make EXE=philidor EVALFILE=network.onnx
# EVALFILE is the network of family sparse to embed instead of nets/philidor.int8.onnx.
EXE ?= philidor
EVALFILE ?=
ifeq ($(OS),Windows_NT)
suffix := .exe
endif
program := $(EXE:.exe=)$(suffix)
empty :=
blank := $(empty) $(empty)
# Make takes a blank for the end of a path.
absolute = $(subst ?,$(blank),$(abspath $(subst $(blank),?,$(1))))

.PHONY: all
all:
	EVALFILE="$(call absolute,$(EVALFILE))" cargo build --locked --release -p engine --bin philidor
	cp "$${CARGO_TARGET_DIR:-target}/release/philidor$(suffix)" "$(program)"
	"$(call absolute,$(program))" --version

# Prints openbench.json for a server of OpenBench, with the repository on GitHub that SOURCE names, or else from which
# this one was cloned: make -s openbench SOURCE=https://github.com/me/philidor >Engines/Philidor.json
.PHONY: openbench
openbench:
	@source=$$(echo "$(or $(SOURCE),$$(git remote get-url origin))" | \
		sed 's|^git@github\.com:|https://github.com/|; s|\.git$$||'); \
	echo "$$source" | grep -qE '^https://github\.com/[^/ ]+/[^/ ]+$$' || \
		{ echo "OpenBench needs a repository on GitHub, not '$$source': set SOURCE" >&2; exit 1; }; \
	sed "s|https://github.com/OWNER/philidor|$$source|" openbench.json
