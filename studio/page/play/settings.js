/**
 * How the page looks and sounds, which the browser keeps and all its tabs share.
 */
import { recall, remember, valuesOf } from '../memory.js';
import { html, render } from '../vendor/lit-html.js';
import { setSounds, soundsAreOn } from './sounds.js';

/** Choices by setting, the default first. @type {Record<string, [string, string][]>} */
const CHOICES = {
  theme: [['', 'as the system'], ['light', 'light'], ['dark', 'dark']],
  board: [['', 'brown'], ['green', 'green'], ['blue', 'blue'], ['grey', 'grey']],
  pieces: [['', 'drawn'], ['figurines', 'figurines: ♞'], ['letters', 'letters: N']],
  coordinates: [['', 'on the board'], ['none', 'none']],
  notation: [['', 'letters: Nf3'], ['figurines', 'figurines: ♘f3']],
  animation: [['', 'quick'], ['slow', 'slow'], ['none', 'none']],
};

/** @type {Record<string, string>} */
const LABELS = {
  theme: 'Colours', board: 'Board', pieces: 'Pieces', coordinates: 'Coordinates', notation: 'Notation', animation: 'Animation of moves',
};

/** Milliseconds a move. @type {Record<string, number>} */
const DURATIONS = { '': 150, slow: 400, none: 0 };

/** @type {Record<string, string>} */
const FIGURINES = { K: '♔', Q: '♕', R: '♖', B: '♗', N: '♘' };

let values = recall('settings');

/** @type {Set<() => void>} */
const listeners = new Set();

/** @param {string} name */
function chosen(name) {
  return CHOICES[name].some(([value]) => value === values[name]) ? values[name] : '';
}

/** Styles that depend on a setting look at these attributes. */
function apply() {
  for (const name of ['theme', 'board', 'pieces', 'coordinates']) document.documentElement.dataset[name] = chosen(name);
  listeners.forEach((changed) => changed());
}

/** @param {() => void} changed called after every change of a setting */
export function onSettings(changed) {
  listeners.add(changed);
}

/** A move as the notation that was chosen has it. @param {string} san */
export function shownSan(san) {
  if (chosen('notation') !== 'figurines') return san;
  return san.replace(/^[KQRBN]|(?<==)[QRBN]/, (letter) => FIGURINES[letter]);
}

/** Names the notation: what was drawn with another one is drawn anew. */
export function notation() {
  return chosen('notation');
}

/** Milliseconds that a move takes on the board. */
export function moveDuration() {
  return matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : DURATIONS[chosen('animation')];
}

export function showSettings() {
  const place = document.createElement('div');
  document.body.append(place);
  /** @param {Event} event */
  const change = (event) => {
    values = valuesOf(/** @type {HTMLFormElement} */ (event.currentTarget), values);
    remember('settings', values);
    if ((values.sounds === 'on') !== soundsAreOn()) setSounds(values.sounds === 'on');
    apply();
  };
  render(html`
    <dialog id="settings" aria-labelledby="settings-title" @close=${() => place.remove()}>
      <h2 id="settings-title">Settings</h2>
      <form method="dialog" @change=${change}>
        ${Object.entries(CHOICES).map(([name, choices]) => html`
          <label>${LABELS[name]} <select name=${name}>${choices.map(([value, label]) => html`
            <option value=${value} ?selected=${value === chosen(name)}>${label}</option>`)}</select></label>`)}
        <label class="check"><input name="sounds" type="checkbox" .checked=${soundsAreOn()}> Sounds</label>
        <div class="buttons"><button class="first" autofocus>Close</button></div>
      </form>
    </dialog>`, place);
  place.querySelector('dialog')?.showModal();
}

// Another tab has changed them.
addEventListener('storage', (event) => {
  if (event.key !== 'form settings') return;
  values = recall('settings');
  if (values.sounds !== undefined) setSounds(values.sounds === 'on');
  apply();
});
apply();
