/**
 * The search tree, unfolded move by move.
 *
 * @import {TemplateResult} from 'lit-html'
 * @import {TreeMove, TreeView} from '../types.js'
 */
import { html, nothing } from '../vendor/lit-html.js';
import { priorText, qText, visitsText } from './evaluation.js';
import { shownSan } from './settings.js';

/** Moves shown per position before "more". */
const FEW = 8;

/** Between two readings of the unfolded lines. */
const REFRESH_MS = 1500;

/** From these on a mean result is coloured, and more strongly. */
const Q_STEPS = [0.05, 0.2, 0.5];

/**
 * Screen readers also read the name, because the column has no head for them.
 *
 * @param {string} name
 * @param {string} text
 * @param {string} className
 */
function number(name, text, className = '') {
  return html`<span class=${className}><span class="unseen">, ${name} </span>${text}</span>`;
}

/** The colour of a mean result. @param {TreeMove} move */
export function qClass({ visits, q }) {
  const strength = visits === 0 ? 0 : Q_STEPS.filter((step) => Math.abs(q) >= step).length;
  return strength === 0 ? '' : `q ${q > 0 ? 'for' : 'against'}-${strength}`;
}

/** @typedef {(uci: string | null) => void} Point shows the first move of a line on the board */

export class SearchTree {
  #isOpen = false;
  /** The position whose tree is shown. */
  #position = '';
  /** By line. @type {Map<string, TreeView>} */
  #known = new Map();
  /** @type {Set<string>} */
  #unfolded = new Set(['']);
  /** Lines whose moves are all shown. @type {Set<string>} */
  #whole = new Set();
  /** @type {string | null} */
  #error = null;
  #ask;
  #changed;
  #isReading = false;

  /**
   * @param {(moves: string[]) => Promise<{value: TreeView} | {error: string}>} ask for the moves after a line
   * @param {() => void} changed
   */
  constructor(ask, changed) {
    this.#ask = ask;
    this.#changed = changed;
    setInterval(() => this.#refresh(), REFRESH_MS);
  }

  get isOpen() {
    return this.#isOpen;
  }

  toggle() {
    this.#isOpen = !this.#isOpen;
    this.#changed();
    this.#refresh();
  }

  /** @param {string} position names it; empty for none @param {boolean} isAnalysed */
  follow(position, isAnalysed) {
    if (!isAnalysed) this.#isOpen = false;
    if (position === this.#position) return;
    this.#position = position;
    this.#known.clear();
    this.#unfolded = new Set(['']);
    this.#whole.clear();
    this.#error = null;
    this.#refresh();
  }

  /** Reads the unfolded lines again, one after the other. */
  async #refresh() {
    if (!this.#isOpen || this.#position === '' || this.#isReading || document.hidden) return;
    this.#isReading = true;
    const position = this.#position;
    for (const line of [...this.#unfolded]) {
      const answer = await this.#ask(line === '' ? [] : line.split(' '));
      if (position !== this.#position || !this.#isOpen) break;
      this.#error = 'error' in answer ? answer.error : null;
      if ('error' in answer) break;
      this.#known.set(line, answer.value);
    }
    this.#isReading = false;
    this.#changed();
    // The position has changed meanwhile.
    if (position !== this.#position) this.#refresh();
  }

  /** @param {string} line */
  #unfold(line) {
    if (this.#unfolded.has(line)) {
      this.#unfolded.forEach((other) => {
        if (other === line || other.startsWith(`${line} `)) this.#unfolded.delete(other);
      });
    } else {
      this.#unfolded.add(line);
    }
    this.#changed();
    this.#refresh();
  }

  /** @param {string} line */
  #showAll(line) {
    this.#whole.add(line);
    this.#changed();
  }

  /**
   * @param {string} label
   * @param {Point} [point]
   */
  view(label, point = () => {}) {
    return html`
      <section class="tree" aria-label=${label}>
        <div class="tree-row head" aria-hidden="true"><span>Move</span><span>N</span><span>P</span>
          <span title="Mean result for the side that moves: blue is good for it, orange is bad">Q</span></div>
        ${this.#known.has('') ? this.#branch('', point) : html`<p class="small">${this.#error ?? 'Reading …'}</p>`}
        <p class="small">${this.#error && this.#known.has('') ? this.#error : nothing}</p>
      </section>`;
  }

  /**
   * @param {string} line
   * @param {Point} point
   * @returns {TemplateResult}
   */
  #branch(line, point) {
    const known = this.#known.get(line);
    if (!known) return html`<p class="small">Reading …</p>`;
    if (known.children.length === 0) {
      return html`<p class="small">${known.held ? 'Not expanded yet, or the game ends here.' : 'The tree does not reach this.'}</p>`;
    }
    const shown = this.#whole.has(line) ? known.children : known.children.slice(0, FEW);
    const rest = known.children.length - shown.length;
    return html`
      <ul>
        ${shown.map((move) => this.#move(line, move, point))}
        ${rest > 0 ? html`<li><button type="button" class="more" @click=${() => this.#showAll(line)}>${rest} more</button></li>` : nothing}
      </ul>`;
  }

  /**
   * @param {string} line
   * @param {TreeMove} move
   * @param {Point} point
   */
  #move(line, move, point) {
    const path = line === '' ? move.move : `${line} ${move.move}`;
    const isOpen = this.#unfolded.has(path);
    const first = path.split(' ')[0];
    return html`
      <li>
        <button type="button" class="tree-row" aria-expanded=${isOpen ? 'true' : 'false'} ?disabled=${move.visits === 0} @click=${() => this.#unfold(path)}
          @mouseenter=${() => point(first)} @mouseleave=${() => point(null)}
          @focus=${() => point(first)} @blur=${() => point(null)}>
          <span class="tree-move">${shownSan(move.san)}${move.proof ? html` <em>${move.proof}</em>` : nothing}</span>
          ${number('visits', visitsText(move.visits))}${number('prior', priorText(move.prior))}${number('mean result', qText(move.q), qClass(move))}
        </button>
        ${isOpen ? this.#branch(path, point) : nothing}
      </li>`;
  }
}
