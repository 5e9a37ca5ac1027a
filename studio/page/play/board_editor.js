/**
 * A position is set up by hand, in a dialog: pieces, side to move, castling and en passant.
 *
 * @import {Api} from '@lichess-org/chessground/api'
 * @import {Color, Piece, Role} from '@lichess-org/chessground/types'
 * @import {SetUp} from './setup_fen.js'
 */
import { checkSetUp } from '../server.js';
import { Chessground } from '../vendor/chessground.min.js';
import { html, nothing, render } from '../vendor/lit-html.js';
import { EMPTY, START, castlingChoices, epSquares, fenOf, fitting, setUpOf } from './setup_fen.js';

const ROLES = /** @type {const} */ (['king', 'queen', 'rook', 'bishop', 'knight', 'pawn']);
const SIDES = /** @type {const} */ (['white', 'black']);

/** @type {Record<string, string>} */
const CASTLINGS = { K: 'White O-O', Q: 'White O-O-O', k: 'Black O-O', q: 'Black O-O-O' };

/** What a press on a square does: set a piece, erase, or nothing but move pieces. @typedef {Piece | 'erase' | null} Brush */

export class BoardEditor {
  #root = document.createElement('div');
  /** @type {Api | null} */
  #ground = null;
  /** @type {SetUp} */
  #setUp = setUpOf(START);
  /** @type {Brush} */
  #brush = null;
  /** Why the position is refused. @type {string | null} */
  #error = null;
  /** Why no game leads to it. @type {string | null} */
  #strange = null;
  /** The last position whose check was asked for. */
  #asked = '';
  /** @type {{analyse: (fen: string) => void, play: (fen: string) => void}} */
  #on = { analyse: () => {}, play: () => {} };

  /**
   * @param {string} fen
   * @param {{analyse: (fen: string) => void, play: (fen: string) => void}} on
   */
  open(fen, on) {
    [this.#setUp, this.#brush, this.#on] = [setUpOf(fen), null, on];
    document.body.append(this.#root);
    this.#draw();
    const dialog = this.#root.querySelector('dialog');
    dialog?.showModal();
    const square = this.#root.querySelector('.editor-board');
    if (square instanceof HTMLElement) this.#ground = this.#begin(square);
    this.#check();
  }

  #close() {
    this.#ground?.destroy();
    this.#ground = null;
    render(nothing, this.#root);
    this.#root.remove();
  }

  /** @param {HTMLElement} square */
  #begin(square) {
    /** @type {Api} */
    const ground = Chessground(square, {
      fen: this.#setUp.pieces,
      animation: { enabled: false },
      highlight: { lastMove: false, check: false },
      movable: { free: true, color: 'both', showDests: false },
      premovable: { enabled: false },
      draggable: { deleteOnDropOff: true },
      drawable: { enabled: false },
      events: {
        change: () => this.#moved(),
        select: (key) => {
          if (this.#brush === null) return;
          const now = ground.state.pieces.get(key);
          const same = this.#brush !== 'erase' && now?.role === this.#brush.role && now.color === this.#brush.color;
          ground.setPieces(new Map([[key, this.#brush === 'erase' || same ? undefined : this.#brush]]));
          ground.selectSquare(null);
          this.#moved();
        },
      },
    });
    return ground;
  }

  /** The pieces stand otherwise. */
  #moved() {
    if (this.#ground) this.#change({ pieces: this.#ground.getFen() });
  }

  /** @param {Partial<SetUp>} change */
  #change(change) {
    this.#setUp = fitting({ ...this.#setUp, ...change });
    this.#draw();
    this.#check();
  }

  /** @param {string} fen */
  #show(fen) {
    this.#setUp = setUpOf(fen);
    this.#ground?.set({ fen: this.#setUp.pieces });
    this.#draw();
    this.#check();
  }

  /** The server knows whether the position is legal. Only the last answer counts. */
  async #check() {
    const fen = fenOf(this.#setUp);
    this.#asked = fen;
    const answer = await checkSetUp(fen);
    if (this.#asked !== fen || !this.#ground) return;
    this.#error = 'error' in answer ? answer.error : null;
    this.#strange = 'value' in answer ? answer.value.strange : null;
    this.#draw();
  }

  #draw() {
    const setUp = this.#setUp;
    const fen = fenOf(setUp);
    const choices = castlingChoices(setUp);
    const squares = epSquares(setUp);
    /** @param {string} label @param {() => void} action */
    const button = (label, action) => html`<button type="button" @click=${action}>${label}</button>`;
    /** @param {(fen: string) => void} use */
    const finish = (use) => () => {
      this.#close();
      use(fen);
    };
    render(html`
      <dialog id="editor" aria-labelledby="editor-title" @close=${() => this.#close()}>
        <h2 id="editor-title">Set up a position</h2>
        <div class="editor">
          <div class="editor-square"><div class="editor-board"></div></div>
          <div>
            <div class="palette cg-wrap" role="group" aria-label="What a press on a square sets">
              ${SIDES.map((color) => html`<div>${ROLES.map((role) => this.#piece(color, role))}</div>`)}
            </div>
            <div class="buttons">${this.#tool('Move', null)}${this.#tool('Erase', 'erase')}
              ${button('Start position', () => this.#show(START))}${button('Empty board', () => this.#show(EMPTY))}</div>
            <label>To move <select @change=${(/** @type {Event} */ event) => {
              this.#change({ turn: /** @type {HTMLSelectElement} */ (event.target).value === 'b' ? 'b' : 'w' });
            }}><option value="w" ?selected=${setUp.turn === 'w'}>White</option><option value="b" ?selected=${setUp.turn === 'b'}>Black</option></select></label>
            <div class="castlings" role="group" aria-label="Castling">${Object.entries(CASTLINGS).map(([letter, label]) => html`
              <label class="check"><input type="checkbox" .checked=${setUp.castling.includes(letter)} ?disabled=${!choices.includes(letter)}
                @change=${(/** @type {Event} */ event) => {
                  const isOn = /** @type {HTMLInputElement} */ (event.target).checked;
                  this.#change({ castling: [...'KQkq'].filter((other) => (other === letter ? isOn : setUp.castling.includes(other))).join('') });
                }}> ${label}</label>`)}</div>
            <label>En passant <select ?disabled=${squares.length === 0} @change=${(/** @type {Event} */ event) => {
              this.#change({ ep: /** @type {HTMLSelectElement} */ (event.target).value });
            }}><option value="-" ?selected=${setUp.ep === '-'}>none</option>${squares.map((square) => html`
              <option value=${square} ?selected=${setUp.ep === square}>${square}</option>`)}</select></label>
            <label>FEN <input name="setup" maxlength="120" autocomplete="off" spellcheck="false" .value=${fen}
              @change=${(/** @type {Event} */ event) => this.#show(/** @type {HTMLInputElement} */ (event.target).value)}></label>
          </div>
        </div>
        <p class="error" role="alert">${this.#error ?? nothing}</p>
        ${this.#strange ? html`<p class="small">No game leads to this position: ${this.#strange}. It can be played all the same.</p>` : nothing}
        <div class="buttons">
          <button class="first" type="button" ?disabled=${this.#error !== null} @click=${finish(this.#on.analyse)}>Analyse it</button>
          <button type="button" ?disabled=${this.#error !== null} @click=${finish(this.#on.play)}>New game with it</button>
          ${button('Cancel', () => this.#close())}
        </div>
      </dialog>`, this.#root);
  }

  /** @param {Color} color @param {Role} role */
  #piece(color, role) {
    const brush = this.#brush;
    const isChosen = brush !== null && brush !== 'erase' && brush.color === color && brush.role === role;
    return html`<button type="button" aria-pressed=${isChosen ? 'true' : 'false'} aria-label="${color} ${role}"
      @click=${() => this.#choose(isChosen ? null : { color, role })}><piece class="${color} ${role}"></piece></button>`;
  }

  /** @param {string} label @param {Brush} brush */
  #tool(label, brush) {
    return html`<button type="button" aria-pressed=${this.#brush === brush ? 'true' : 'false'}
      @click=${() => this.#choose(brush)}>${label}</button>`;
  }

  /** @param {Brush} brush */
  #choose(brush) {
    this.#brush = brush;
    // With a brush, pieces stay where they are.
    this.#ground?.set({ draggable: { enabled: brush === null }, movable: { color: brush === null ? 'both' : undefined } });
    this.#draw();
  }
}
