/**
 * The page of the room for playing: the board with its players, and the panel beside it.
 *
 * @import {GameView, Review, Side, Thoughts} from '../types.js'
 * @import {BoardEditor} from './board_editor.js'
 * @import {BoardView} from './board_view.js'
 * @import {Deeds} from './deeds.js'
 * @import {EngineForm} from './engine_form.js'
 * @import {Held} from './engine_panels.js'
 * @import {ExplorerPanel} from './explorer.js'
 * @import {GameFiles} from './game_files.js'
 * @import {Looking} from './looking.js'
 * @import {MoveMenu} from './move_menu.js'
 * @import {MoveList} from './moves.js'
 * @import {NewGameForm} from './new_game_form.js'
 * @import {OpenBoards} from './open_boards.js'
 * @import {SearchTree} from './tree.js'
 * @import {VerdictPanel} from './verdicts.js'
 */
import { html, nothing } from '../vendor/lit-html.js';
import { recordedClock } from './clock.js';
import { boardAsText, browseButtons, gameButtons, playerStrip, thoughtButtons } from './controls.js';
import { enginePanels } from './engine_panels.js';
import { evaluationBar } from './evaluation.js';
import { hintLine } from './hint.js';
import { showKeys } from './keys.js';
import { phaseAt } from './moves.js';
import { positionTools } from './position_tools.js';
import { evalsOf, marksOf, reviewOf, reviewPanel } from './review.js';
import { runningCurve } from './running_curve.js';
import { statusText } from './status.js';
import { mayTell } from './verdicts.js';

/**
 * What the room is made of: what a person does, and what draws a part of the page.
 *
 * @typedef {object} Parts
 * @property {Deeds} deeds
 * @property {OpenBoards} boards
 * @property {BoardView} view
 * @property {MoveList} moves
 * @property {SearchTree} tree
 * @property {ExplorerPanel} explorer
 * @property {VerdictPanel} verdicts
 * @property {GameFiles} files
 * @property {NewGameForm} form
 * @property {EngineForm} engineForm
 * @property {MoveMenu} menu
 * @property {BoardEditor} editor
 */

/**
 * What the room knows now.
 *
 * @typedef {object} Shown
 * @property {GameView | null} game
 * @property {Looking} looking
 * @property {string} fen of the position on the board; empty without a game
 * @property {(Thoughts | null)[]} thoughts of both engines, and the threat
 * @property {(Thoughts | null)[]} here those of them that are about the position on the board
 * @property {Held} held
 * @property {Review | null} review of any game
 * @property {number} since milliseconds since the game was received
 * @property {boolean} isNew the page has not been drawn yet
 */

/**
 * @typedef {object} Actions
 * @property {(node: number | null) => void} go
 * @property {(ply: number) => void} goTo the position after so many plies of the main line
 * @property {(event: SubmitEvent) => void} typed
 * @property {(node: number) => void} menu
 * @property {(board: number) => void} close
 * @property {(board: number) => void} reopen
 * @property {(board: number) => void} begun a new game is on this board
 * @property {(action: object) => Promise<string | null>} setUpEngine `null` without an error
 * @property {() => void} draw
 */

/** @param {Parts} parts @param {Shown} shown @param {Actions} on */
export function playPage(parts, shown, on) {
  const { boards, view, files, form, engineForm, menu, deeds } = parts;
  const { game, looking, fen, since } = shown;
  const bottom = view.orientation(game);
  const top = bottom === 'white' ? 'black' : 'white';
  const path = game ? looking.tree.path(looking.node) : [];
  // At the end of a game that was played here, the clocks stand where they stopped.
  const recorded = (/** @type {Side} */ side) => (game?.clock && looking.isLast ? null : recordedClock(path, game?.first_ply ?? 0, side));
  return html`
    <div class="table" data-game=${game ? `${game.id} ${game.number}` : nothing} data-revision=${game?.revision ?? nothing}>
      <div class="sides">
        ${playerStrip(game, top, fen, since, recorded(top))}
        <div class="boards">
          ${game?.analysis ? evaluationBar(shown.here[0], bottom === 'black') : nothing}
          <div class="square"><div class="board"></div></div>
        </div>
        ${playerStrip(game, bottom, fen, since, recorded(bottom))}
      </div>
      <div class="panel">
        ${boards.view({ close: on.close, reopen: on.reopen })}
        ${files.reading ? html`<p class="small" role="status">Reading ${files.reading} …</p>` : nothing}
        <p class="status" id="status">${statusText(game, looking)}</p>
        ${game?.notice ? html`<p class="notice">${game.notice}
          ${game.stalled ? html`<button type="button" @click=${() => deeds.act({ do: 'retry' })}>Start it again</button>`
            : nothing}</p>` : nothing}
        ${game ? lines(parts, shown, game, on) : UNKNOWN}
        <form class="typed" @submit=${on.typed}>
          <label for="typed">Move</label>
          <input id="typed" autocomplete="off" autocapitalize="off" spellcheck="false" maxlength="12"
            placeholder="e4, Nf3, O-O" aria-describedby="problem">
          <button type="submit">Play</button>
        </form>
        ${game ? hintLine(game, () => deeds.act({ do: 'hint' })) : nothing}
        <p class="error" id="problem" role="alert">${deeds.error ?? nothing}</p>
        <p class="told told-${deeds.times % 2}" role="status" @animationend=${() => deeds.untell()}>${deeds.told}</p>
        ${game ? tools(parts, shown, game, on) : nothing}
      </div>
    </div>
    ${view.promotion(fen.split(' ')[1] === 'w' ? 'white' : 'black')}
    ${form.view(game, on.begun)}
    ${engineForm.view(game, on.setUpEngine)}
    ${menu.view(looking.tree, game?.first_ply ?? 0, (node, change, seen) => deeds.edit(node, change, seen))}`;
}

/** The room that moves and step buttons take before there is a game: nothing below them shifts when it comes. */
const UNKNOWN = html`<div class="moves"></div><div class="buttons browse"></div><p class="small opening"></p>`;

/**
 * What is looked at beside the board: the engines' lines, the moves, the steps through them, and the review. Small
 * windows show as much of it as they can.
 *
 * @param {Parts} parts
 * @param {Shown} shown
 * @param {GameView} game
 * @param {Actions} on
 */
function lines({ deeds, view, moves, engineForm }, { thoughts, here, looking, held, review: any, isNew }, game, on) {
  const { tree, node, opening } = looking;
  const ply = tree.mainPly(node);
  const review = reviewOf(game, any);
  return html`
    ${enginePanels(game, thoughts, here, looking, held, {
      act: (action) => deeds.act(action),
      follow: (line) => view.follow(line),
      look: (line, index) => view.look(line, index),
      play: (line) => deeds.variation(line.join(' ')),
      setUp: (number) => engineForm.open(number, game),
    })}
    <div class="moves" tabindex="0" role="region" aria-label="Moves">${
      moves.view(game, tree, node, marksOf(review), evalsOf(review), isNew, { go: on.go, menu: on.menu })}</div>
    ${browseButtons(looking, game.undo, {
      go: on.go,
      menu: () => on.menu(node),
      undo: () => deeds.undo(),
      follow: () => {
        looking.follow(!looking.follows);
        on.draw();
      },
      brush: view.brush,
      draw: (brush) => {
        view.brush = brush;
        on.draw();
      },
    })}
    <p class="small opening">${phaseAt(game, ply)}${opening ? `: ${opening}` : nothing}</p>
    ${review ? reviewOfGame(deeds, view, game, review, looking, on)
      : runningCurve(tree, node, game.first_ply, thoughts[0]?.values ?? {}, on.goTo)}`;
}

/**
 * The review, or the button that begins one.
 *
 * @param {Deeds} deeds
 * @param {BoardView} view
 * @param {GameView} game
 * @param {Review | null} review of this game
 * @param {Looking} looking
 * @param {Actions} on
 */
function reviewOfGame(deeds, view, game, review, { tree, node }, on) {
  return reviewPanel(game, review, tree.mainPly(node), tree.isMain(node), {
    begin: (nodes) => deeds.act({ do: 'begin', board: game.id, nodes }, 'review'),
    stop: () => deeds.act({ do: 'stop' }, 'review'),
    go: on.goTo,
    point: (uci) => view.point(uci),
    keep: () => deeds.act({ do: 'keep', board: game.id }, 'review'),
  });
}

/** What is done with the game and its position. @param {Parts} parts @param {Shown} shown @param {GameView} game @param {Actions} on */
function tools(parts, shown, game, on) {
  const { deeds, view, tree, explorer, verdicts, files, form, editor } = parts;
  const { looking, fen } = shown;
  const review = reviewOf(game, shown.review);
  const send = (/** @type {string} */ text) => deeds.send(text);
  const point = (/** @type {string | null} */ uci) => view.point(uci);
  return html`
    ${thoughtButtons(game, {
      heat: view.heat,
      tree: tree.isOpen,
      act: (action) => deeds.act(action),
      toggleHeat: () => {
        view.heat = !view.heat;
        on.draw();
      },
      toggleTree: () => tree.toggle(),
      explorer: explorer.isOpen,
      toggleExplorer: () => explorer.toggle(),
      arrows: view.arrows,
      toggleArrows: () => view.toggleArrows(),
      setUp: (number) => parts.engineForm.open(number, game),
    })}
    ${verdicts.view(mayTell(game, looking.isLast) ? fen : null, { play: send, point })}
    ${explorer.view(fen, `${game.id} ${game.file?.number} ${game.moves.length}`, { play: send, point })}
    ${tree.isOpen ? tree.view('Search tree', point) : nothing}
    ${files.list(game)}
    ${gameButtons(game, {
      resigning: deeds.resigning,
      act: (action) => deeds.act(action),
      takeBack: () => deeds.takeBack(),
      newGame: () => form.open(game, null),
      resign: () => deeds.resign(true),
      keepPlaying: () => deeds.resign(false),
      flip: () => view.flip(),
    })}
    ${review ? nothing : reviewOfGame(deeds, view, game, null, looking, on)}
    ${files.buttons(game)}
    ${positionTools(game.id, fen, view.orientation(game), view.drawnAt(looking.tree.node(looking.node) ?? game.tree[0]), {
      say: (text, isError) => deeds.tell(text, isError),
      setUp: () => editor.open(fen, {
        analyse: (position) => files.analyse(position),
        play: (position) => form.open(game, position),
      }),
      fromHere: () => form.open(game, fen),
    })}
    <p class="small">A PGN that is dropped on the page is loaded and reviewed; a pasted
      PGN or FEN is loaded. <button type="button" class="link" @click=${showKeys}>Keys</button>: ?</p>
    ${boardAsText(fen)}`;
}
