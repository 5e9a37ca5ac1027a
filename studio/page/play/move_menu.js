/**
 * The menu of a move in the tree: promote, demote, main line, delete, mark, comment, erase drawings.
 *
 * @import {TreeNode} from '../types.js'
 * @import {MoveTree} from './move_tree.js'
 */
import { html, nothing } from '../vendor/lit-html.js';
import { NAGS } from './move_tree.js';

/** NAGs of the marks, the best first. */
const MARKS = [3, 1, 5, 6, 2, 4];

/** Edits by the key that makes them. @type {Record<string, string>} */
export const EDIT_KEYS = { PageUp: 'promote', PageDown: 'demote', m: 'make_main', Delete: 'delete' };

/** @typedef {string | Record<string, unknown>} Change */
/** @typedef {(node: number, change: Change, seen?: string) => Promise<boolean>} Edit whether it succeeded; `seen` is the comment before */

export class MoveMenu {
  /** @type {number | null} */
  #node = null;
  /** The comment that is being changed. */
  #seen = '';
  #text = '';
  /** The last comment was refused, because another tab had changed it. */
  #isRefused = false;
  #changed;

  /** @param {() => void} changed */
  constructor(changed) {
    this.#changed = changed;
  }

  get isOpen() {
    return this.#node !== null;
  }

  /** @param {TreeNode} node */
  open(node) {
    [this.#node, this.#seen, this.#text, this.#isRefused] = [node.id, node.comment ?? '', node.comment ?? '', false];
    this.#changed();
  }

  close() {
    this.#node = null;
    this.#changed();
  }

  /** @param {TreeNode} node @param {Edit} edit */
  async #keep(node, edit) {
    const text = this.#text;
    if (text === (node.comment ?? '')) return this.close();
    // What stands beside the text field was read.
    const seen = this.#isRefused ? node.comment ?? '' : this.#seen;
    if (await edit(node.id, { comment: text }, seen)) return this.close();
    this.#isRefused = true;
    this.#changed();
  }

  /**
   * @param {MoveTree} tree
   * @param {number} firstPly
   * @param {Edit} edit
   */
  view(tree, firstPly, edit) {
    const node = this.#node === null ? undefined : tree.node(this.#node);
    if (!node) return nothing;
    const isRoot = node.san === '';
    const mark = node.nags?.find((nag) => nag <= 6) ?? 0;
    /** @param {string} label @param {Change} change @param {string} [key] */
    const item = (label, change, key) => html`
      <button type="button" @click=${() => {
        this.close();
        edit(node.id, change);
      }}>${label} ${key ? html`<kbd>${key}</kbd>` : nothing}</button>`;
    const isOther = this.#isRefused && (node.comment ?? '') !== this.#seen;
    return html`
      <dialog id="move-menu" aria-labelledby="move-menu-title" @close=${() => this.close()} @click=${(/** @type {Event} */ event) => {
        // A click on the backdrop has the dialog itself as its target.
        if (event.target === event.currentTarget) this.close();
      }}>
        <form method="dialog" @submit=${(/** @type {SubmitEvent} */ event) => {
          event.preventDefault();
          this.#keep(node, edit);
        }}>
          <h2 id="move-menu-title">${tree.numbered(node.id, firstPly)}</h2>
          ${isRoot ? nothing : html`
            <div class="marks" role="group" aria-label="Mark">${MARKS.map((nag) => html`
              <button type="button" aria-pressed=${nag === mark ? 'true' : 'false'} title=${NAGS[nag][1]} aria-label=${NAGS[nag][1]}
                @click=${() => edit(node.id, { mark: nag === mark ? 0 : nag })}>${NAGS[nag][0]}</button>`)}
            </div>`}
          <label class="tall">Comment
            <textarea name="comment" rows="3" autofocus .value=${this.#text}
              @input=${(/** @type {Event} */ event) => { this.#text = /** @type {HTMLTextAreaElement} */ (event.target).value; }}
              @keydown=${(/** @type {KeyboardEvent} */ event) => {
                if (event.key !== 'Enter' || event.shiftKey) return;
                event.preventDefault();
                /** @type {HTMLTextAreaElement} */ (event.target).form?.requestSubmit();
              }}></textarea>
          </label>
          <div role="alert">${isOther ? html`<p class="notice">Another tab has changed this comment meanwhile. It is now:
            ${node.comment ? html`<q class="comment">${node.comment}</q>` : 'empty'}</p>` : nothing}</div>
          <div class="buttons"><button class="first" type="submit">${isOther ? 'Replace it by mine' : 'Keep the comment'}</button>
            ${isOther ? html`<button type="button" @click=${() => {
              this.#text = node.comment ?? '';
              this.#changed();
            }}>Take that one</button>` : nothing}
            <button type="button" @click=${() => this.close()}>Close</button></div>
          <div class="items" role="group" aria-label="Line">
            ${isRoot ? nothing : html`
              ${item('Promote the variation', 'promote', 'Page ↑')}${item('Demote it', 'demote', 'Page ↓')}
              ${item('Make it the main line', 'make_main', 'm')}${item('Delete from here on', 'delete', 'Del')}`}
            ${node.shapes ? item('Erase arrows and squares', { shapes: [] }) : nothing}
          </div>
        </form>
      </dialog>`;
  }
}
