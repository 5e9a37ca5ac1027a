import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyPage } from './page.js';

emptyPage();
const { changesOf, fieldText, grouped, valueOf } = await import('../../page/train/start.js');

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
