import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyPage } from './page.js';

emptyPage();
const { StartForm, changesOf, fieldText, grouped, valueOf } = await import('../../page/train/start.js');

const row = (key, value, meaning = '', choices = []) => ({ key, value, meaning, choices });
const KEYS = [
  row('adam.lazy', true), row('batch', 4096, 'Samples per step'), row('lr', 0.005), row('model.policy', 640, 'Width of the policy'),
  row('schedule', 'cosine', '', ['cosine', 'constant']), row('sources', [{ name: 'a' }]), row('start', ''),
];

test('keys stand in the groups of their names, and are found by name and meaning', () => {
  assert.deepEqual(grouped(KEYS, '').map(([group, rows]) => [group, rows.length]), [['', 5], ['adam', 1], ['model', 1]]);
  assert.deepEqual(grouped(KEYS, 'width POLICY').map(([group]) => group), ['model']);
  assert.deepEqual(grouped(KEYS, 'nothing'), []);
});

test('a field is read as the kind of its key', () => {
  const [lazy, batch, , , schedule, sources, start] = KEYS;
  assert.deepEqual(valueOf(lazy, false), { value: false });
  assert.deepEqual(valueOf(batch, '128'), { value: 128 });
  assert.deepEqual(valueOf(schedule, 'constant'), { value: 'constant' });
  // A text that looks like a number stays a text.
  assert.deepEqual(valueOf(start, '7'), { value: '7' });
  assert.deepEqual(valueOf(sources, '[]'), { value: [] });
  assert.match(valueOf(batch, 'many').error, /batch: “many” is no number/);
  assert.match(valueOf(batch, '"9"').error, /no number/);
  assert.match(valueOf(sources, '[').error, /no JSON/);
});

test('single precision is shown without its noise, and whole numbers in full', () => {
  assert.deepEqual([0.10000000149011612, 20_000_001, 1e-8].map(fieldText), ['0.1', '20000001', '1e-8']);
  assert.deepEqual(changesOf([row('decay', 0.10000000149011612)], { decay: '0.1' }), { set: {} });
});

test('only what differs from the preset is sent', () => {
  assert.deepEqual(changesOf(KEYS, { batch: '4096', lr: '0.5', 'adam.lazy': true, sources: fieldText([{ name: 'a' }]) }), { set: { lr: 0.5 } });
  assert.ok('error' in changesOf(KEYS, { lr: 'x' }));
});

/** The listeners of a template, by the text before them. */
function listener(template, text) {
  for (const [index, value] of template.values.entries()) {
    if (typeof value === 'function' && template.strings[index].includes(text)) return value;
    for (const inner of [value].flat()) {
      const found = inner?.strings && listener(inner, text);
      if (found) return found;
    }
  }
  return null;
}

test('of two quick choices the last one is shown, whichever answer comes first, and nothing starts meanwhile', async () => {
  const asked = [];
  globalThis.fetch = (path) => new Promise((resolve) => {
    const answer = (presets) => resolve({ ok: true, status: 200, json: async () => ({ presets, keys: [], networks: [], folder: 'runs' }) });
    asked.push({ path, answer });
  });
  let changed = () => {};
  const form = new StartForm(() => changed(), () => {});
  const change = () => new Promise((resolve) => { changed = resolve; });
  const presets = [{ name: 'first', meaning: '' }, { name: 'small', meaning: '' }, { name: 'large', meaning: '' }];
  const choose = (value) => listener(form.view(), 'class="buttons" @change=')({ target: { name: 'preset', value } });
  const text = () => JSON.stringify(form.view());
  listener(form.view(), '<summary @click=')({ preventDefault() {} });
  let next = change();
  asked[0].answer(presets);
  await next;
  choose('small');
  choose('large');
  assert.deepEqual(asked.slice(1).map(({ path }) => /preset=(\w+)/.exec(path)[1]), ['small', 'large']);
  listener(form.view(), '@submit=')({ preventDefault() {} });
  assert.equal(asked.length, 3, 'the keys of the preset are not known yet');
  next = change();
  asked[2].answer([...presets, { name: 'of large', meaning: '' }]);
  await next;
  asked[1].answer([...presets, { name: 'of small', meaning: '' }]);
  await new Promise((resolve) => { setImmediate(resolve); });
  assert.ok(text().includes('of large') && !text().includes('of small'));
});
