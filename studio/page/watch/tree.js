/**
 * The search tree of one side's engine, unfolded move by move.
 *
 * @import {TemplateResult} from 'lit-html'
 * @import {TreeMove, TreeView} from '../types.js'
 */
import { priorText, qText, visitsText } from '../play/evaluation.js';
import { html, nothing } from '../vendor/lit-html.js';

/** Moves of a position. */
const SHOWN = 8;

/** @typedef {(moves: string[]) => Promise<{value: TreeView} | {error: string}>} AskTree */

export class MatchTree {
  /** By line. @type {Map<string, TreeView>} */
  #known = new Map();
  /** @type {Set<string>} */
  #unfolded = new Set(['']);
  /** The position that the engine searched. @type {string | null} */
  #position = null;
  #isReading = false;
  /** @type {string | null} */
  #error = null;
  #ask;
  #changed;

  /** @param {AskTree} ask @param {() => void} changed */
  constructor(ask, changed) {
    this.#ask = ask;
    this.#changed = changed;
  }

  /** Another position has another tree. @param {string | null} position */
  follow(position) {
    if (position === this.#position) return;
    this.#position = position;
    this.#known.clear();
    this.#unfolded = new Set(['']);
  }

  /** Reads the unfolded lines again, one after the other. */
  async refresh() {
    if (this.#isReading || this.#position === null) return;
    this.#isReading = true;
    const position = this.#position;
    for (const line of [...this.#unfolded]) {
      const answer = await this.#ask(line === '' ? [] : line.split(' '));
      this.#error = 'error' in answer ? answer.error : null;
      if (position !== this.#position) break;
      if ('error' in answer) break;
      this.#known.set(line, answer.value);
    }
    this.#isReading = false;
    this.#changed();
  }

  /** @param {string} line */
  #unfold(line) {
    if (!this.#unfolded.delete(line)) this.#unfolded.add(line);
    this.#changed();
    this.refresh();
  }

  /** @param {string} name of the engine */
  view(name) {
    return html`
      <section class="tree" aria-label="Search tree of ${name}">
        <div class="tree-row head" aria-hidden="true"><span>Move</span><span>N</span><span>P</span><span>Q</span></div>
        ${this.#known.has('') ? this.#branch('') : html`<p class="small">${this.#error ?? 'Reading …'}</p>`}
      </section>`;
  }

  /** @param {string} line @returns {TemplateResult} */
  #branch(line) {
    const known = this.#known.get(line);
    if (!known) return html`<p class="small">Reading …</p>`;
    if (known.children.length === 0) return html`<p class="small">Not expanded yet, or the game ends here.</p>`;
    return html`<ul>${known.children.slice(0, SHOWN).map((move) => this.#move(line, move))}</ul>`;
  }

  /** @param {string} line @param {TreeMove} move */
  #move(line, move) {
    const path = line === '' ? move.move : `${line} ${move.move}`;
    const isOpen = this.#unfolded.has(path);
    return html`
      <li>
        <button type="button" class="tree-row" aria-expanded=${isOpen ? 'true' : 'false'} ?disabled=${move.visits === 0}
          @click=${() => this.#unfold(path)}>
          <span class="tree-move">${move.san}${move.proof ? html` <em>${move.proof}</em>` : nothing}</span>
          <span>${visitsText(move.visits)}</span><span>${priorText(move.prior)}</span><span>${qText(move.q)}</span>
        </button>
        ${isOpen ? this.#branch(path) : nothing}
      </li>`;
  }
}
