/** A yes-or-no question before something is given up. */
import { html, render } from './vendor/lit-html.js';

/** @typedef {{title: string, text: string, yes: string}} Question */

/**
 * The focus is on the harmless answer.
 *
 * @param {Question} question
 * @returns {Promise<boolean>} whether the answer is yes
 */
export function confirmed({ title, text, yes }) {
  const place = document.createElement('div');
  document.body.append(place);
  return new Promise((resolve) => {
    let answer = false;
    const close = (/** @type {boolean} */ isYes) => {
      answer = isYes;
      place.querySelector('dialog')?.close();
    };
    render(html`
      <dialog id="question" aria-labelledby="question-title" aria-describedby="question-text" @close=${() => {
        place.remove();
        resolve(answer);
      }}>
        <h2 id="question-title">${title}</h2>
        <p id="question-text">${text}</p>
        <div class="buttons">
          <button class="first" type="button" @click=${() => close(true)}>${yes}</button>
          <button type="button" autofocus @click=${() => close(false)}>Cancel</button>
        </div>
      </dialog>`, place);
    place.querySelector('dialog')?.showModal();
  });
}
