// Adds the headers that make the page cross-origin isolated to what its host answers.

addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));

async function isolated(request) {
  const answer = await fetch(request);
  const { body, status, statusText } = answer;
  // A redirection has no status that may be copied.
  if (status === 0) return answer;
  const headers = new Headers(answer.headers);
  headers.set('Cross-Origin-Opener-Policy', 'same-origin');
  headers.set('Cross-Origin-Embedder-Policy', 'require-corp');
  return new Response(body, { status, statusText, headers });
}

addEventListener('fetch', (event) => {
  if (new URL(event.request.url).origin === location.origin) event.respondWith(isolated(event.request));
});
