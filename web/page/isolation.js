/** For a service worker that does not start, or starts late. */
const PATIENCE_MS = 3000;

const TRIED = 'philidor-isolation';

/**
 * Makes the page cross-origin isolated, as memory of several threads needs, where the host does not send the headers: a
 * service worker adds them when the page is loaded again. Where that cannot be, the page goes on with one thread; where
 * it only takes long, the page is loaded again later, unless it has been used.
 */
export async function isolate() {
  if (globalThis.crossOriginIsolated || !navigator.serviceWorker) return;
  try {
    if (sessionStorage.getItem(TRIED)) return;
    const active = activate();
    const isLate = await Promise.race([active, new Promise((late) => setTimeout(late, PATIENCE_MS, true))]);
    if (isLate) {
      let isUsed = false;
      const use = () => { isUsed = true; };
      ['pointerdown', 'keydown', 'click', 'input'].forEach((kind) => addEventListener(kind, use, { capture: true }));
      active.then(() => isUsed || reload()).catch(() => {});
      return;
    }
    reload();
  } catch {
    return;
  }
  await new Promise(() => {});
}

async function activate() {
  await navigator.serviceWorker.register(new URL('service-worker.js', import.meta.url));
  await navigator.serviceWorker.ready;
}

function reload() {
  sessionStorage.setItem(TRIED, 'once');
  location.reload();
}
