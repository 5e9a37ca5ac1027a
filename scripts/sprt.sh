#!/usr/bin/env bash
# Plays a sequential test of two versions of the engine with fastchess.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: scripts/sprt.sh [OPTION...] A B

Tests whether A is stronger than B: a sequential probability ratio test (SPRT) on
pairs of games (pentanomial, normalised Elo), which ends by itself. A and B are each
a commit, with UCI options if wanted: COMMIT or COMMIT:NAME=VALUE,NAME=VALUE. The
commit . is the program in target/release as it is. Other commits are built once
into runs/builds.

  --elo0 N          H0: A is stronger than B by N Elo (default: 0)
  --elo1 N          H1: A is stronger than B by N Elo (default: 5)
  --alpha P         probability of accepting elo1 where elo0 is true (default: 0.05)
  --beta P          probability of accepting elo0 where elo1 is true (default: 0.05)
  --nodes N         nodes a move; without, a clock
  --tc S+S          seconds for the game + seconds a move (default: 1+0.01)
  --options LIST    options of both, as for A and B (default: Threads=1,Hash=32)
  --rounds N        pairs at most (default: 20000)
  --book FILE       .pgn or .epd (default: tests/data/openings.pgn)
  --concurrency N   games at once (default: 1)
  --every N         pairs between two reports (default: 20)
  --fastchess FILE  the program (default: FASTCHESS, or fastchess in the PATH or in
                    .deps/bin)

It prints Elo with error, LLR with its bounds, and the pairs by points. Games and
state are in a folder of runs/sprt that the settings name: the same command continues
from there, after Ctrl-C too.

Examples:
  scripts/sprt.sh HEAD HEAD~1
  scripts/sprt.sh --nodes 400 --book UHO_4060_v3.epd HEAD:CPuct=2 HEAD
  scripts/sprt.sh --elo0 -5 --elo1 0 --tc 10+0.1 --concurrency 4 new-search main
TEXT
}

ROOT=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)

# Makes the engine list its tuning options, because fastchess sets only listed options.
export PHILIDOR_TUNING=1

say() { printf 'sprt: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 1
}

elo0=0 elo1=5 alpha=0.05 beta=0.05 nodes='' tc=1+0.01 options=Threads=1,Hash=32 rounds=20000
book=$ROOT/tests/data/openings.pgn concurrency=1 every=20 fastchess=${FASTCHESS:-} players=()
while (($#)); do
    case $1 in
    -h | --help) usage && exit ;;
    --elo0 | --elo1 | --alpha | --beta | --nodes | --tc | --options | --rounds | --book | --concurrency | \
        --every | --fastchess)
        (($# > 1)) || die "$1 needs a value"
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    -*) die "no such option: $1; --help lists them" ;;
    *) players+=("$1") ;;
    esac
    shift
done
((${#players[@]} == 2)) || die "two versions are needed; --help has examples"
[[ ${players[0]} != "${players[1]}" ]] || die "both versions are the same"
[[ -s $book ]] || die "there is no book $book"
book=$(readlink -f "$book")

find_fastchess() {
    local name
    for name in "$fastchess" fastchess "$ROOT/.deps/bin/fastchess"; do
        [[ -z $name ]] || ! command -v "$name" || return 0
    done
    die "fastchess is missing: scripts/setup.sh tools says how to get it; --fastchess or FASTCHESS names it"
}

# build COMMIT: prints the program of a commit, built into runs/builds if it is not there.
build() {
    if [[ $1 == . ]]; then
        [[ -x $ROOT/target/release/philidor ]] || die "build first: cargo build --release -p engine"
        # A copy: the next build must not change a player while it plays.
        local copy sum
        sum=$(sha256sum "$ROOT/target/release/philidor" | cut -c1-12)
        copy=$ROOT/runs/builds/tree-$sum/target/release/philidor
        mkdir -p "$(dirname "$copy")"
        link_deps "$ROOT/runs/builds/tree-$sum"
        [[ -x $copy ]] || { cp "$ROOT/target/release/philidor" "$copy.new" && mv "$copy.new" "$copy"; }
        echo "$copy"
        return
    fi
    local commit folder
    commit=$(git -C "$ROOT" rev-parse --verify --quiet "$1^{commit}") || die "no such commit: $1"
    folder=$ROOT/runs/builds/${commit:0:12}
    if [[ ! -x $folder/target/release/philidor ]]; then
        say "building $1 (${commit:0:12})"
        rm -rf "$folder.new"
        mkdir -p "$folder.new/target/release"
        git -C "$ROOT" archive "$commit" | tar -x -C "$folder.new"
        # One target folder for all, so that dependencies are built once.
        # The archive is no repository: the build must not read the commit of the one around it.
        (cd "$folder.new" && GIT_CEILING_DIRECTORIES=$ROOT/runs/builds PHILIDOR_COMMIT=${commit:0:12} \
            CARGO_TARGET_DIR=$ROOT/runs/builds/target cargo build --quiet --release --locked -p engine --bin philidor) >&2
        cp "$ROOT/runs/builds/target/release/philidor" "$folder.new/target/release/"
        link_deps "$folder.new"
        rm -rf "$folder"
        mv "$folder.new" "$folder"
    fi
    echo "$folder/target/release/philidor"
}

# Networks of ONNX Runtime need the library beside the program's tree.
link_deps() { [[ ! -d $ROOT/.deps ]] || ln -sfn "$(readlink -f "$ROOT/.deps")" "$1/.deps"; }

# engine NAME PROGRAM OPTIONS: sets `engine` to fastchess's arguments for a player.
engine() {
    local each all
    engine=(-engine "name=$1" "cmd=$2")
    if [[ -n $nodes ]]; then engine+=("nodes=$nodes"); else engine+=("tc=$tc"); fi
    IFS=, read -ra all <<<"$3"
    for each in "${all[@]}"; do
        [[ $each == *=* ]] || die "option '$each' is not of the form NAME=VALUE"
        engine+=("option.$each")
    done
}

program=$(find_fastchess)
limit=$tc
[[ -z $nodes ]] || limit="$nodes nodes a move"
arguments=() names=()
for player in "${players[@]}"; do
    built=$(build "${player%%:*}")
    own=
    [[ $player != *:* ]] || own=${player#*:}
    # Of an option that is set twice, the last value counts.
    engine "$player" "$built" "$options${own:+,$own}"
    arguments+=("${engine[@]}")
    names+=("$player")
done

arguments+=(-openings "file=$book" "format=${book##*.}" order=random -srand 1 -rounds "$rounds" -games 2 -repeat)
arguments+=(-sprt "elo0=$elo0" "elo1=$elo1" "alpha=$alpha" "beta=$beta" model=normalized -recover)
arguments+=(-resign movecount=4 score=700 twosided=true -draw movenumber=40 movecount=8 score=8)
settings=$(printf '%s\n' "${arguments[@]}" | sha256sum | cut -c1-12)
folder=$ROOT/runs/sprt/$settings
mkdir -p "$folder"
printf '%s\n' "${names[0]} against ${names[1]}, $limit" >"$folder/about"
state=$folder/state.json
arguments+=(-pgnout "file=$folder/games.pgn" -concurrency "$concurrency" -ratinginterval "$every" -autosaveinterval 2)
if [[ -s $state ]]; then
    say "going on with $folder"
    arguments=(-config "file=$state" "outname=$state")
else
    say "${names[0]} against ${names[1]}, in $folder"
    arguments+=(-config "outname=$state")
fi

# Shows only fastchess's reports and errors.
cd "$folder"
"$program" "${arguments[@]}" 2>&1 </dev/null |
    grep --line-buffered -E '^(Results of|Elo:|LLR:|LOS:|Games:|Ptnml|SPRT|Fatal|Error|Warning)|loses on time|disconnect|stalls' ||
    ((PIPESTATUS[0] == 0)) || die "fastchess failed"
