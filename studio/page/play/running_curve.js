/**
 * The evaluations of the game that is played or looked through, as far as an engine has made them.
 *
 * @import {PositionValue} from '../types.js'
 * @import {MoveTree} from './move_tree.js'
 */
import { html, nothing } from '../vendor/lit-html.js';
import { curveSlider } from './curve.js';
import { expected, scoreText } from './evaluation.js';
import { shownSan } from './settings.js';

/**
 * White's chances in the positions of the main line that have a value.
 *
 * @param {MoveTree} tree
 * @param {Record<number, PositionValue>} values by node
 * @returns {[number, number][]}
 */
export function runningPoints(tree, values) {
  const line = [tree.root, ...tree.after(tree.root.id)];
  return line.flatMap(({ id }, ply) => (values[id] ? [/** @type {[number, number]} */ ([ply, expected(values[id])])] : []));
}

/** @param {MoveTree} tree @param {number} node @param {number} firstPly @param {PositionValue | undefined} value */
function words(tree, node, firstPly, value) {
  const path = tree.path(node);
  const where = path.length === 0 ? 'Start' : `Move ${Math.floor((firstPly + path.length - 1) / 2) + 1}, ${shownSan(path[path.length - 1].san)}`;
  return value ? `${where}: White ${Math.round(expected(value))} %, ${scoreText(value.score)}` : where;
}

/**
 * Nothing before two positions have a value.
 *
 * @param {MoveTree} tree
 * @param {number} node on the board
 * @param {number} firstPly
 * @param {Record<number, PositionValue>} values by node; none while the evaluation is off
 * @param {(ply: number) => void} go
 */
export function runningCurve(tree, node, firstPly, values, go) {
  const points = runningPoints(tree, values);
  if (points.length < 2) return nothing;
  const said = words(tree, node, firstPly, values[node]);
  const shown = { last: tree.after(tree.root.id).length, ply: tree.mainPly(node), label: "White's chances by move", words: said, go };
  return html`
    <section aria-label="Evaluations of the game">
      ${curveSlider([points], shown)}
      <p class="small">${said}</p>
    </section>`;
}
