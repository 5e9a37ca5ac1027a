/** What the page's modules want of a browser when they are loaded. */

export function emptyPage() {
  globalThis.document ??= { createTreeWalker: () => ({}), createComment: () => ({}), documentElement: { dataset: {} } };
  globalThis.addEventListener ??= () => {};
}
