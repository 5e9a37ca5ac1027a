/** For a service worker that does not start. */
const PATIENCE_MS = 3000;

const TRIED = 'philidor-isolation';

/**
 * Makes the page cross-origin isolated, as memory of several threads needs, where the host does not send the headers: a
 * service worker adds them when the page is loaded again. Where that cannot be, the page goes on with one thread.
 */
export async function isolate() {
  if (globalThis.crossOriginIsolated || !navigator.serviceWorker) return;
  try {
    if (sessionStorage.getItem(TRIED)) return;
    sessionStorage.setItem(TRIED, 'once');
    await navigator.serviceWorker.register(new URL('service-worker.js', import.meta.url));
    await Promise.race([navigator.serviceWorker.ready, new Promise((_, late) => setTimeout(late, PATIENCE_MS))]);
  } catch {
    return;
  }
  location.reload();
  await new Promise(() => {});
}
