/** Synthesised sounds, off by default. */

const KEY = 'philidor-sounds';

/** Frequencies in hertz, lengths in seconds. @type {Record<string, [number, number][]>} */
const TONES = {
  move: [[420, 0.05]],
  capture: [[300, 0.05], [220, 0.06]],
  check: [[660, 0.07], [880, 0.09]],
  end: [[523, 0.12], [659, 0.12], [784, 0.25]],
};

/** @type {AudioContext | null} */
let context = null;

function stored() {
  try {
    return localStorage.getItem(KEY) === 'on';
  } catch {
    return false;
  }
}

let isOn = stored();

export function soundsAreOn() {
  return isOn;
}

/** Must be called by a click or a key: browsers are silent before one. @param {boolean} on */
export function setSounds(on) {
  isOn = on;
  try {
    localStorage.setItem(KEY, isOn ? 'on' : 'off');
  } catch {
    // Without storage, the choice ends with the tab.
  }
  if (isOn) play('move');
}

/** @param {'move' | 'capture' | 'check' | 'end'} what */
export function play(what) {
  if (!isOn) return;
  context ??= new AudioContext();
  let at = context.currentTime;
  for (const [frequency, length] of TONES[what]) {
    const tone = new OscillatorNode(context, { type: 'triangle', frequency });
    const volume = new GainNode(context, { gain: 0 });
    volume.gain.setValueAtTime(0.2, at);
    volume.gain.exponentialRampToValueAtTime(0.001, at + length);
    tone.connect(volume).connect(context.destination);
    tone.start(at);
    tone.stop(at + length);
    at += length;
  }
}

/** @param {string} san */
export function soundOf(san) {
  if (san.endsWith('+') || san.endsWith('#')) return 'check';
  return san.includes('x') ? 'capture' : 'move';
}
