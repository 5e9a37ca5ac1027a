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
  const recorded = (/** @type {Side} */ side) => recordedClock(path, game?.first_ply ?? 0, side);
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
        <p class="status" id="status">${files.reading ? `Reading ${files.reading} …` : statusText(game, looking)}</p>
        ${game?.notice ? html`<p class="notice">${game.notice}
          ${game.stalled ? html`<button type="button" @click=${() => deeds.act({ do: 'retry' })}>Start it again</button>`
            : nothing}</p>` : nothing}
        <form class="typed" @submit=${on.typed}>
          <label for="typed">Move</label>
          <input id="typed" autocomplete="off" autocapitalize="off" spellcheck="false" maxlength="12"
            placeholder="e4, Nf3, O-O" aria-describedby="problem">
          <button type="submit">Play</button>
        </form>
        ${game ? hintLine(game, () => deeds.act({ do: 'hint' })) : nothing}
        <p class="error" id="problem" role="alert">${deeds.error ?? nothing}</p>
        ${game ? panel(parts, shown, game, on) : nothing}
      </div>
    </div>
    ${view.promotion(fen.split(' ')[1] === 'w' ? 'white' : 'black')}
    ${form.view(game, on.begun)}
    ${engineForm.view(game, on.setUpEngine)}
    ${menu.view(looking.tree, game?.first_ply ?? 0, (node, change, seen) => deeds.edit(node, change, seen))}`;
}

/** What the panel has of a game. @param {Parts} parts @param {Shown} shown @param {GameView} game @param {Actions} on */
function panel(parts, shown, game, on) {
  const { view, files, form, editor, deeds } = parts;
  const { looking, fen } = shown;
  const { tree, node, opening } = looking;
  const ply = tree.mainPly(node);
  const review = reviewOf(game, shown.review);
  const send = (/** @type {string} */ text) => deeds.send(text);
  const point = (/** @type {string | null} */ uci) => view.point(uci);
  const redraw = (/** @type {() => void} */ change) => () => {
    change();
    on.draw();
  };
  return html`
    ${thinking(parts, shown, game, redraw)}
    <p class="small opening">${phaseAt(game, ply)}${opening ? `: ${opening}` : nothing}</p>
    <div class="moves" tabindex="0" role="region" aria-label="Moves">${
      parts.moves.view(game, tree, node, marksOf(review), evalsOf(review), shown.isNew, { go: on.go, menu: on.menu })}</div>
    ${parts.verdicts.view(mayTell(game, looking.isLast) ? fen : null, { play: send, point })}
    ${parts.explorer.view(fen, `${game.id} ${game.file?.number} ${game.moves.length}`, { play: send, point })}
    ${browseButtons(looking, game.undo, {
      go: on.go,
      menu: () => on.menu(node),
      undo: () => deeds.undo(),
      follow: redraw(() => looking.follow(!looking.follows)),
      brush: view.brush,
      draw: (brush) => redraw(() => { view.brush = brush; })(),
    })}
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
    ${reviewPanel(game, review, ply, tree.isMain(node), {
      begin: (nodes) => deeds.act({ do: 'begin', board: game.id, nodes }, 'review'),
      stop: () => deeds.act({ do: 'stop' }, 'review'),
      go: on.goTo,
      point,
      keep: () => deeds.act({ do: 'keep', board: game.id }, 'review'),
    })}
    ${files.buttons(game)}
    ${positionTools(game.id, fen, view.orientation(game), view.drawnAt(looking.tree.node(node) ?? game.tree[0]), {
      say: (text, isError) => deeds.tell(text, isError),
      setUp: () => editor.open(fen, {
        analyse: (position) => files.setUp(position),
        play: (position) => form.open(game, position),
      }),
      fromHere: () => form.open(game, fen),
    })}
    <p class="small" role="status">${deeds.told}</p>
    <p class="small">A PGN that is dropped on the page is loaded and reviewed; a pasted
      PGN or FEN is loaded. <button type="button" class="link" @click=${showKeys}>Keys</button>: ?</p>
    ${boardAsText(fen)}`;
}

/**
 * The engines: their buttons, lines and search tree.
 *
 * @param {Parts} parts
 * @param {Shown} shown
 * @param {GameView} game
 * @param {(change: () => void) => () => void} redraw
 */
function thinking({ deeds, view, tree, explorer, engineForm }, { thoughts, here, looking, held }, game, redraw) {
  const setUp = (/** @type {number} */ number) => engineForm.open(number, game);
  return html`
    ${thoughtButtons(game, {
      heat: view.heat,
      tree: tree.isOpen,
      act: (action) => deeds.act(action),
      toggleHeat: redraw(() => { view.heat = !view.heat; }),
      toggleTree: () => tree.toggle(),
      explorer: explorer.isOpen,
      toggleExplorer: () => explorer.toggle(),
      arrows: view.arrows,
      toggleArrows: () => view.toggleArrows(),
      setUp,
    })}
    ${enginePanels(game, thoughts, here, looking, held, {
      act: (action) => deeds.act(action),
      follow: (line) => view.follow(line),
      play: (moves) => deeds.variation(moves.join(' ')),
      setUp,
    })}
    ${tree.isOpen ? tree.view('Search tree', (uci) => view.point(uci)) : nothing}`;
}
