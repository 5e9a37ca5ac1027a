/** Which keys the board listens to, and when. */

/** A key that is held down goes on walking through the moves; any other acts once. */
const WALKS = /^Arrow/;

/**
 * Calls the action of a key, except where the key writes text or a dialog is open. Escape also leaves the move field.
 *
 * @param {KeyboardEvent} event
 * @param {Record<string, () => void>} actions by key
 * @param {(key: string) => boolean} changesGame such keys do nothing in the move field
 */
export function press(event, actions, changesGame) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector('dialog[open]')) return;
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
  // In an empty move field, the keys that write nothing work.
  const isEmptyField = target instanceof HTMLInputElement && target.id === 'typed' && target.value === '';
  const works = isEmptyField && event.key.length > 1 && !changesGame(event.key);
  if (event.key === 'Escape' && target instanceof HTMLInputElement && target.id === 'typed') {
    target.value = '';
    target.blur();
  } else if (!(event.key in actions) || (isTyping && !works)) return;
  event.preventDefault();
  if (event.repeat && !WALKS.test(event.key)) return;
  actions[event.key]?.();
}
