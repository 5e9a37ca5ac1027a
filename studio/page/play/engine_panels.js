/**
 * The two engines and the threat below the buttons: which lines are shown, and what a press on them does.
 *
 * @import {GameView, ThoughtLine, Thoughts} from '../types.js'
 * @import {Looking} from './looking.js'
 */

/**
 * The lines that stand still while the mouse is over them, so that it presses the move that was read.
 *
 * @typedef {(Thoughts | null)[]} Held by engine
 */
import { nothing } from '../vendor/lit-html.js';
import { evaluationAt, evaluationLines, threatLine } from './evaluation.js';

/**
 * Of the position on the board, by engine; the third is the threat.
 *
 * @param {(Thoughts | null)[]} thoughts
 * @param {number} node
 * @returns {(Thoughts | null)[]}
 */
export function evaluationsAt(thoughts, node) {
  return [0, 1, 2].map((number) => evaluationAt(thoughts[number] ?? null, node));
}

/**
 * @param {GameView} game
 * @param {(Thoughts | null)[]} thoughts
 * @param {(Thoughts | null)[]} here those of them that are about the position on the board
 * @param {Looking} looking
 * @param {Held} held
 * @param {object} on
 * @param {(action: object) => void} on.act
 * @param {(line: ThoughtLine | null) => void} on.follow shows a line on the board
 * @param {(line: ThoughtLine, index: number) => void} on.look shows the position after a move of a line
 * @param {(moves: string[]) => void} on.play
 * @param {(number: number) => void} on.setUp opens the settings of an engine
 */
export function enginePanels(game, thoughts, here, looking, held, { act, follow, look, play, setUp }) {
  /** @param {number} number */
  const lines = (number) => {
    const settings = game.analysts[number];
    if (!settings.on) {
      held[number] = null;
      return nothing;
    }
    // Lines of the position before are held no longer.
    held[number] = evaluationAt(held[number] ?? null, looking.node);
    return evaluationLines(here[number], held[number], {
      name: settings.engine ?? game.engines[0]?.name ?? '',
      settings,
      isOneOfTwo: game.analysts[0].on && game.analysts[1].on,
      isFinal: looking.isFinal,
      waits: game.waits,
      isElsewhere: Boolean(thoughts[number] && !here[number] && looking.isSettled),
    }, {
      follow,
      look,
      hold: (isHeld) => { held[number] = isHeld ? held[number] ?? here[number] : null; },
      play,
      analyse: () => looking.tell(),
      pause: () => act({ do: 'analyst', number, settings: { ...settings, paused: !settings.paused } }),
      setUp: () => setUp(number),
    });
  };
  return [lines(0), lines(1), threatLine(here[2], game.analysts[2].on)];
}
