/**
 * The position on the board is copied, saved as a picture, or another one is set up.
 *
 * @import {Side} from '../types.js'
 */
import { html } from '../vendor/lit-html.js';
import { saveImage } from './board_image.js';
import { gamePgn } from './files.js';

/** Browsers allow the clipboard only to pages of this machine or with TLS. @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {number} board
 * @param {string} fen
 * @param {Side} bottom
 * @param {string[]} words what is drawn
 * @param {object} on
 * @param {(text: string, isError: boolean) => void} on.say
 * @param {() => void} on.setUp
 * @param {() => void} on.fromHere begins a game with the position
 */
export function positionTools(board, fen, bottom, words, { say, setUp, fromHere }) {
  /** @param {string} what @param {() => Promise<string | null>} read */
  const copied = (what, read) => async () => {
    const text = await read();
    if (text === null) say('The server does not answer: is philidor-studio still running?', true);
    else if (await copy(text)) say(`${what} is copied.`, false);
    else say('The browser does not let this page copy. The FEN stands under "The board as text"; Save PGN saves the game.', true);
  };
  return html`
    <div class="buttons" role="group" aria-label="Position">
      <button type="button" @click=${setUp}>Set up a position …</button>
      <button type="button" @click=${copied('The FEN', async () => fen)}>Copy FEN</button>
      <button type="button" @click=${copied('The PGN', () => gamePgn(board))}>Copy PGN</button>
      <button type="button" @click=${() => saveImage('svg', fen, bottom, words)}>Save SVG</button>
      <button type="button" @click=${() => saveImage('png', fen, bottom, words)}>Save PNG</button>
      <button type="button" @click=${fromHere}>New game from here</button>
    </div>`;
}
