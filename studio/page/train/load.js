/**
 * The load of the server's machine.
 *
 * @import {Load} from '../types.js'
 */
import { html } from '../vendor/lit-html.js';

const GIB = 2 ** 30;

/** @param {Load} load */
export function loadView({ cores, busy, used, memory }) {
  const share = `${Math.round(100 * busy)} % of ${cores} ${cores === 1 ? 'core' : 'cores'}`;
  const bytes = `${(used / GIB).toFixed(1)} of ${(memory / GIB).toFixed(1)} GiB`;
  return html`
    <p class="small load">This machine: processor <meter max="1" value=${busy} aria-label="Processor"></meter> ${share}, memory
      <meter max=${memory} value=${used} aria-label="Memory"></meter> ${bytes}</p>`;
}
