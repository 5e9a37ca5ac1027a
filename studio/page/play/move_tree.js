/**
 * A game's moves with variations, as the server sends them, and as rows of the list of moves.
 *
 * @import {TreeNode} from '../types.js'
 */

/** @typedef {{node: TreeNode, label: string}} MovePart the label is `3.`, `3...` or empty */
/** @typedef {{comment: string}} CommentPart */
/** @typedef {{line: Part[]}} LinePart */
/** @typedef {MovePart | CommentPart | LinePart} Part */
/** @typedef {{number: number, white: TreeNode | null, black: TreeNode | null}} MoveRow */
/** @typedef {{notes: Part[]}} NotesRow comments and variations below a row of moves */

export class MoveTree {
  /** @type {Map<number, TreeNode>} */
  #nodes = new Map();
  /** @type {Map<number, TreeNode[]>} */
  #children = new Map();

  /** @param {TreeNode[]} nodes parents before children, the start first */
  constructor(nodes) {
    this.root = nodes[0];
    for (const node of nodes) {
      this.#nodes.set(node.id, node);
      if (node === this.root) continue;
      const siblings = this.#children.get(node.parent);
      if (siblings) siblings.push(node);
      else this.#children.set(node.parent, [node]);
    }
  }

  /** @param {number} id */
  node(id) {
    return this.#nodes.get(id);
  }

  /** @param {number} id */
  children(id) {
    return this.#children.get(id) ?? [];
  }

  /** The moves that lead to a node. @param {number} id */
  path(id) {
    const path = [];
    for (let node = this.node(id); node && node !== this.root; node = this.node(node.parent)) path.push(node);
    return path.reverse();
  }

  /** The line from a node on, without it. @param {number} id */
  after(id) {
    const line = [];
    for (let [node] = this.children(id); node; [node] = this.children(node.id)) line.push(node);
    return line;
  }

  /** Plies of the main line before a node leaves it. @param {number} id */
  mainPly(id) {
    const path = this.path(id);
    const leaves = path.findIndex((node) => this.children(node.parent)[0] !== node);
    return leaves === -1 ? path.length : leaves;
  }

  /** @param {number} id */
  isMain(id) {
    return this.mainPly(id) === this.path(id).length;
  }

  /** The variation before or after this one, from anywhere in it. @param {number} id @param {1 | -1} step */
  otherLine(id, step) {
    for (const node of this.path(id).reverse()) {
      const siblings = this.children(node.parent);
      if (siblings.length > 1) return siblings[siblings.indexOf(node) + step]?.id ?? null;
    }
    return null;
  }

  /** A move with its number, such as `3... Nf6`. @param {number} id @param {number} firstPly */
  numbered(id, firstPly) {
    const path = this.path(id);
    const last = path.at(-1);
    return last ? `${numberOf(firstPly + path.length - 1)} ${last.san}` : 'the start';
  }
}

/**
 * Whether taking back `plies` moves would delete variations, comments or drawings.
 *
 * @param {MoveTree} tree
 * @param {number} at node of the last move that was played
 * @param {number} plies
 */
export function losesNotes(tree, at, plies) {
  const taken = plies === 0 ? [] : tree.path(at).slice(-plies);
  if (taken.length === 0) return false;
  const isNoted = taken.some(({ comment, before, nags, shapes }) => comment || before || nags || shapes);
  const variations = [...taken.map(({ parent }) => tree.children(parent).length - 1), tree.children(at).length];
  return isNoted || variations.some((count) => count > 0);
}

/** @param {number} ply */
function numberOf(ply) {
  return `${Math.floor(ply / 2) + 1}${ply % 2 === 0 ? '.' : '...'}`;
}

/**
 * The main line as rows, interrupted by comments and variations.
 *
 * @param {MoveTree} tree
 * @param {number} firstPly
 * @returns {(MoveRow | NotesRow)[]}
 */
export function rowsOf(tree, firstPly) {
  /** @type {(MoveRow | NotesRow)[]} */
  const rows = [];
  if (tree.root.comment) rows.push({ notes: [{ comment: tree.root.comment }] });
  tree.after(tree.root.id).forEach((node, index) => {
    const ply = firstPly + index;
    const last = rows.at(-1);
    const isBlack = ply % 2 === 1;
    if (isBlack && last && 'number' in last) last.black = node;
    else rows.push({ number: Math.floor(ply / 2) + 1, white: isBlack ? null : node, black: isBlack ? node : null });
    const notes = [
      ...(node.comment ? [{ comment: node.comment }] : []),
      ...tree.children(node.parent).slice(1).map((head) => ({ line: lineOf(tree, head, ply) })),
    ];
    if (notes.length > 0) rows.push({ notes });
  });
  return rows;
}

/**
 * A variation, with those in it.
 *
 * @param {MoveTree} tree
 * @param {TreeNode} head its first move
 * @param {number} ply of this move
 * @returns {Part[]}
 */
function lineOf(tree, head, ply) {
  /** @type {Part[]} */
  const parts = [];
  if (head.before) parts.push({ comment: head.before });
  [head, ...tree.after(head.id)].forEach((node, index) => {
    const at = ply + index;
    const follows = parts.length > 0 && 'node' in parts[parts.length - 1];
    parts.push({ node, label: at % 2 === 0 || !follows ? numberOf(at) : '' });
    if (node.comment) parts.push({ comment: node.comment });
    if (index === 0) return;
    for (const other of tree.children(node.parent).slice(1)) parts.push({ line: lineOf(tree, other, at) });
  });
  return parts;
}

/** What the numeric annotations of a PGN look like, and mean. @type {Record<number, [string, string]>} */
export const NAGS = {
  1: ['!', 'good move'], 2: ['?', 'mistake'], 3: ['!!', 'brilliant move'], 4: ['??', 'blunder'],
  5: ['!?', 'interesting move'], 6: ['?!', 'dubious move'], 7: ['□', 'only move'], 8: ['□', 'only move'],
  10: ['=', 'equal'], 11: ['=', 'equal'], 12: ['=', 'equal'], 13: ['∞', 'unclear'],
  14: ['⩲', 'White is slightly better'], 15: ['⩱', 'Black is slightly better'],
  16: ['±', 'White is better'], 17: ['∓', 'Black is better'], 18: ['+−', 'White is winning'], 19: ['−+', 'Black is winning'],
  22: ['⨀', 'zugzwang'], 23: ['⨀', 'zugzwang'], 32: ['⟳', 'ahead in development'], 33: ['⟳', 'ahead in development'],
  36: ['→', 'initiative'], 37: ['→', 'initiative'], 40: ['↑', 'attack'], 41: ['↑', 'attack'],
  44: ['=∞', 'compensation'], 45: ['=∞', 'compensation'], 132: ['⇆', 'counterplay'], 133: ['⇆', 'counterplay'],
  138: ['⊕', 'time trouble'], 139: ['⊕', 'time trouble'], 140: ['∆', 'with the idea'], 146: ['N', 'novelty'],
};

/** @param {number[]} nags @returns {[string, string]} signs and words */
export function nagText(nags) {
  const known = nags.map((nag) => NAGS[nag] ?? [`$${nag}`, `annotation ${nag}`]);
  return [known.map(([sign]) => sign).join(''), known.map(([, words]) => words).join(', ')];
}
