/** The keys of the board, in a dialog. */
import { html, render } from '../vendor/lit-html.js';

const KEYS = /** @type {const} */ ([
  ['← →', 'one move back, one on'],
  ['Home End', 'the start, the end of the line'],
  ['↑ ↓', 'the variation before, the one after'],
  ['c', 'comment, mark or edit the move'],
  ['Page ↑, Page ↓', 'promote, demote the variation'],
  ['m', 'make it the main line'],
  ['Delete', 'delete from this move on'],
  ['z', 'undo the last edit'],
  ['right button', 'draw an arrow or a square; Shift red, Alt blue, both yellow'],
  ['/', 'go to the move field'],
  ['f', 'flip the board'],
  ['h', 'a hint: the piece to move; again: the move'],
  ['x', 'show the threat'],
  ['s', 'settings'],
  ['n, p, a', 'in Puzzles: the next one, the one before, the answer'],
  ['← → Home End', 'in Watch, on one board: through the game'],
  ['Esc', 'leave the move field; keep playing instead of resigning; move pieces instead of drawing'],
]);

export function showKeys() {
  const place = document.createElement('div');
  document.body.append(place);
  render(html`
    <dialog id="keys" aria-labelledby="keys-title" @close=${() => place.remove()}>
      <h2 id="keys-title" tabindex="-1" autofocus>Keys</h2>
      <table class="results"><tbody>${KEYS.map(([key, words]) => html`
        <tr><th scope="row"><kbd>${key}</kbd></th><td>${words}</td></tr>`)}</tbody></table>
      <form method="dialog" class="buttons"><button class="first">Close</button></form>
    </dialog>`, place);
  place.querySelector('dialog')?.showModal();
}
