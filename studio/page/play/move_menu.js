/**
 * The menu of a move in the tree: promote, demote, main line, delete, mark and comment.
 *
 * @import {TreeNode} from '../types.js'
 */
import { html, nothing } from '../vendor/lit-html.js';
import { NAGS } from './move_tree.js';

/** NAGs of the marks, the best first. */
const MARKS = [3, 1, 5, 6, 2, 4];

/** Edits by the key that makes them. @type {Record<string, string>} */
export const EDIT_KEYS = { PageUp: 'promote', PageDown: 'demote', m: 'make_main', Delete: 'delete' };

/**
 * @param {TreeNode} node
 * @param {string} title
 * @param {object} on
 * @param {(change: string | Record<string, unknown>) => void} on.edit
 * @param {() => void} on.close
 */
export function moveMenu(node, title, { edit, close }) {
  const isRoot = node.san === '';
  const mark = node.nags?.find((nag) => nag <= 6) ?? 0;
  /** @param {string} label @param {string} change @param {string} key */
  const item = (label, change, key) => html`
    <button type="button" @click=${() => {
      close();
      edit(change);
    }}>${label} <kbd>${key}</kbd></button>`;
  return html`
    <dialog id="move-menu" aria-labelledby="move-menu-title" @close=${close} @click=${(/** @type {Event} */ event) => {
      // A click on the backdrop has the dialog itself as its target.
      if (event.target === event.currentTarget) close();
    }}>
      <form method="dialog" @submit=${(/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        const text = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget)).get('comment');
        close();
        if (String(text) !== (node.comment ?? '')) edit({ comment: String(text) });
      }}>
        <h2 id="move-menu-title">${title}</h2>
        ${isRoot ? nothing : html`
          <div class="marks" role="group" aria-label="Mark">${MARKS.map((nag) => html`
            <button type="button" aria-pressed=${nag === mark ? 'true' : 'false'} title=${NAGS[nag][1]} aria-label=${NAGS[nag][1]}
              @click=${() => edit({ mark: nag === mark ? 0 : nag })}>${NAGS[nag][0]}</button>`)}
          </div>`}
        <label class="tall">Comment
          <textarea name="comment" rows="3" autofocus .value=${node.comment ?? ''}
            @keydown=${(/** @type {KeyboardEvent} */ event) => {
              if (event.key !== 'Enter' || event.shiftKey) return;
              event.preventDefault();
              /** @type {HTMLTextAreaElement} */ (event.target).form?.requestSubmit();
            }}></textarea>
        </label>
        <div class="buttons"><button class="first" type="submit">Keep the comment</button>
          <button type="button" @click=${close}>Close</button></div>
        ${isRoot ? nothing : html`
          <div class="items" role="group" aria-label="Line">
            ${item('Promote the variation', 'promote', 'Page ↑')}${item('Demote it', 'demote', 'Page ↓')}
            ${item('Make it the main line', 'make_main', 'm')}${item('Delete from here on', 'delete', 'Del')}
          </div>`}
      </form>
    </dialog>`;
}
