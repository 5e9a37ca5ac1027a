/**
 * The players, the buttons, and the board as text.
 *
 * @import {GameView, Side} from '../types.js'
 * @import {Looking} from './looking.js'
 */
import { html, nothing } from '../vendor/lit-html.js';
import { captured } from './captured.js';
import { clockShows } from './clock.js';
import { COLOURS } from './drawings.js';
import { mayHint } from './hint.js';
import { showSettings } from './settings.js';
import { boardRows, sideName } from './words.js';

/**
 * A player with clock and captured pieces. The clock is the running one, or what the record of the game says of the
 * position on the board.
 *
 * @param {GameView | null} game
 * @param {Side} side
 * @param {string} fen the position on the board
 * @param {number} since milliseconds since the game was received
 * @param {string | null} recorded the clock on record
 */
export function playerStrip(game, side, fen, since, recorded) {
  const toMove = game && !game.end && game.turn === side;
  const taken = game ? captured(game.start_fen, fen, side) : null;
  return html`
    <div class="player ${toMove ? 'to-move' : ''}">
      <span class="name"><span class="disc ${side}" aria-hidden="true"></span>
        <span class="unseen">${sideName(side)}: </span>${game?.[side].label ?? nothing}
        ${toMove && game.thinking ? html`<span class="small">is thinking …</span>` : nothing}</span>
      <span class="taken">${taken && taken.words !== '' ? html`<span aria-hidden="true">${taken.signs}</span>
        <span class="unseen">has captured ${taken.words}</span>` : nothing}${taken && taken.lead > 0
          ? html`<span class="lead"><span class="unseen">, ahead by </span>+${taken.lead}</span>` : nothing}</span>
      ${game?.clock && (game.clock.running || recorded === null) ? html`<span class="clock ${side}" role="timer"
          aria-label="${sideName(side)}'s clock" .textContent=${clockShows(game, side, since)}></span>`
        : recorded !== null ? html`<span class="clock" title="Time left after the move"><span class="unseen">${sideName(side)}'s
          clock: </span>${recorded}</span>` : nothing}
    </div>`;
}

/** @param {string} label @param {boolean} pressed @param {() => void} action @param {boolean} [disabled] */
function toggle(label, pressed, action, disabled = false) {
  return html`
    <button type="button" aria-pressed=${pressed ? 'true' : 'false'} ?disabled=${disabled} @click=${action}>${label}</button>`;
}

/**
 * @typedef {object} ThoughtButtons
 * @property {boolean} heat whether priors are drawn on the board
 * @property {boolean} tree whether the search tree is open
 * @property {(action: object) => void} act
 * @property {() => void} toggleHeat
 * @property {() => void} toggleTree
 * @property {boolean} explorer whether the explorer is open
 * @property {() => void} toggleExplorer
 * @property {boolean} arrows whether the first moves of the lines are drawn
 * @property {() => void} toggleArrows
 * @property {(number: number) => void} setUp opens the settings of an engine
 */

/**
 * @typedef {object} GameButtons
 * @property {boolean} resigning whether resigning waits for confirmation
 * @property {(action: object) => void} act
 * @property {() => void} takeBack
 * @property {() => void} newGame
 * @property {() => void} resign
 * @property {() => void} keepPlaying disarms resigning
 * @property {() => void} flip
 */

/** @param {GameView} game @param {GameButtons} on */
export function gameButtons(game, on) {
  const two = game.white.kind === 'person' && game.black.kind === 'person';
  const none = game.white.kind !== 'person' && game.black.kind !== 'person';
  /** @param {string} label @param {() => void} action @param {boolean} [disabled] */
  const button = (label, action, disabled = false) =>
    html`<button type="button" ?disabled=${disabled} @click=${action}>${label}</button>`;
  const over = game.end !== null || none;
  return html`
    <div class="buttons" role="group" aria-label="Game">
      ${button('New game', on.newGame)}
      ${button('Take back', on.takeBack, game.take_back === 0)}
      ${none ? nothing : button('Hint', () => on.act({ do: 'hint' }), !mayHint(game))}
      ${/* A double press keeps playing. */ on.resigning && !over ? html`${button('Keep playing', on.keepPlaying)}${button('Yes, resign', () => on.act({ do: 'resign' }))}`
        : button('Resign', on.resign, over)}
      ${button(two ? 'Agree a draw' : 'Offer a draw', () => on.act({ do: 'draw' }), over)}
      ${button('Flip', on.flip)}
      ${button('Settings …', showSettings)}
    </div>`;
}

/** @param {GameView} game @param {ThoughtButtons} on */
export function thoughtButtons(game, on) {
  const second = game.analysts[1];
  return html`
    <div class="buttons" role="group" aria-label="Thinking along">
      ${toggle('Evaluation', game.analysis, () => on.act({ do: 'analysis', on: !game.analysis }), game.engines.length === 0)}
      ${toggle('Policy', on.heat && game.analysis, on.toggleHeat, !game.analysis)}
      ${toggle('Search tree', on.tree, on.toggleTree, !game.analysis)}
      ${toggle('Arrows', on.arrows, on.toggleArrows, !game.analysis)}
      ${toggle('Explorer', on.explorer, on.toggleExplorer)}
      ${toggle('Threat', game.analysts[2].on, () => on.act({ do: 'threat', on: !game.analysts[2].on }), game.engines.length === 0)}
      ${toggle('Second engine', second.on, () => (second.on ? on.act({ do: 'analyst', number: 1, settings: { ...second, on: false } })
        : on.setUp(1)), game.engines.length === 0)}
    </div>`;
}

/**
 * @param {Looking} looking
 * @param {string | null} undo what would be undone
 * @param {object} on
 * @param {(node: number | null) => void} on.go
 * @param {() => void} on.menu
 * @param {() => void} on.undo
 * @param {() => void} on.follow
 * @param {string} on.brush with which presses on the board draw; empty if they move pieces
 * @param {(brush: string) => void} on.draw
 */
export function browseButtons({ tree, node, follows }, undo, on) {
  /** @param {string} sign @param {string} label @param {number | undefined} to */
  const button = (sign, label, to) => html`<button type="button" aria-label=${label} ?disabled=${to === undefined}
    @click=${() => to !== undefined && on.go(to)}>${sign}</button>`;
  const line = tree.after(node);
  const isStart = node === tree.root.id;
  return html`
    <div class="buttons browse" role="group" aria-label="Positions of the game">
      ${button('«', 'Start position', isStart ? undefined : tree.root.id)}
      ${button('‹', 'One move back', isStart ? undefined : tree.node(node)?.parent)}
      ${button('›', 'One move on', line[0]?.id)}${button('»', 'Last position', line.at(-1)?.id)}
      <button type="button" @click=${on.menu}>Edit …</button>
      ${undo ? html`<button type="button" title="Undo: ${undo}" @click=${on.undo}>Undo</button>` : nothing}
      <button type="button" aria-pressed=${follows ? 'true' : 'false'} title="The game's next move takes the board along"
        @click=${on.follow}>Follow</button>
      <button type="button" class="by-touch" aria-pressed=${on.brush ? 'true' : 'false'}
        title="Presses on the board draw arrows and squares" @click=${() => on.draw(on.brush ? '' : COLOURS[0][0])}>Draw</button>
      ${on.brush ? html`<select aria-label="Colour to draw with"
        @change=${(/** @type {Event} */ event) => on.draw(/** @type {HTMLSelectElement} */ (event.target).value)}>
        ${COLOURS.map(([letter, name]) => html`<option value=${letter} ?selected=${letter === on.brush}>${name}</option>`)}</select>` : nothing}
    </div>`;
}

/** The board as a table, for those who cannot see it. @param {string} fen */
export function boardAsText(fen) {
  return html`
    <details>
      <summary>The board as text</summary>
      <table class="text-board">
        <caption class="unseen">The pieces on the board</caption>
        <thead><tr><td></td>${[...'abcdefgh'].map((file) => html`<th scope="col">${file}</th>`)}</tr></thead>
        <tbody>${boardRows(fen).map((row, index) => html`
          <tr><th scope="row">${8 - index}</th>${row.map((piece) => html`<td>${piece || '–'}</td>`)}</tr>`)}</tbody>
      </table>
      <p class="small">FEN: <code>${fen}</code></p>
    </details>`;
}
