/**
 * What each key does in the room for playing. `keys.js` shows them to the person.
 *
 * @import {Looking} from './looking.js'
 */
import { EDIT_KEYS } from './move_menu.js';

/**
 * @param {Looking} looking
 * @param {object} on
 * @param {(node: number | null | undefined) => void} on.go to a position; there is none if it is undefined
 * @param {() => void} on.escape
 * @param {(node: number) => void} on.menu
 * @param {() => void} on.flip
 * @param {() => void} on.hint
 * @param {() => void} on.threat
 * @param {() => void} on.settings
 * @param {() => void} on.undo
 * @param {() => void} on.keys
 * @param {() => void} on.type goes to the field for moves
 * @param {(node: number, change: string) => void} on.edit
 * @returns {Record<string, () => void>} by the key's name
 */
export function shortcuts({ tree, node }, on) {
  return {
    ArrowLeft: () => on.go(tree.node(node)?.parent),
    ArrowRight: () => on.go(tree.children(node)[0]?.id),
    ArrowUp: () => on.go(tree.otherLine(node, -1) ?? undefined),
    ArrowDown: () => on.go(tree.otherLine(node, 1) ?? undefined),
    Home: () => on.go(tree.root?.id),
    End: () => on.go(tree.after(node).at(-1)?.id),
    Escape: on.escape,
    c: () => on.menu(node),
    f: on.flip,
    h: on.hint,
    x: on.threat,
    s: on.settings,
    z: on.undo,
    '?': on.keys,
    '/': on.type,
    ...Object.fromEntries(Object.entries(EDIT_KEYS).map(([key, change]) => [key, () => on.edit(node, change)])),
  };
}
