/**
 * The page: its rooms, and the stream that fills them.
 *
 * @import {Message} from './types.js'
 */
import { PlayRoom } from './play/room.js';
import { listen } from './server.js';
import { TrainRoom } from './train/room.js';

/** @param {string} id */
function part(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no ${id}`);
  return element;
}

const play = new PlayRoom(part('play'), part('announcement'));
const train = new TrainRoom(part('train'));

/** Shows the room that the address names. */
function enter() {
  const isTrain = location.hash === '#train';
  part('train').hidden = !isTrain;
  part('play').hidden = isTrain;
  for (const [id, here] of /** @type {const} */ ([['to-train', isTrain], ['to-play', !isTrain]])) {
    if (here) part(id).setAttribute('aria-current', 'page');
    else part(id).removeAttribute('aria-current');
  }
  train.show(isTrain);
}

/** @param {Message} message */
function receive(message) {
  if (message.game) play.receiveGame(message.game);
  if (message.thoughts !== undefined) play.receiveThoughts(message.thoughts);
  if (message.runs) train.receive(message.runs);
}

/** @param {boolean} connected */
function connection(connected) {
  part('connection').textContent = connected ? '' : 'No connection. Is philidor-studio still running?';
}

addEventListener('hashchange', enter);
enter();
listen(receive, connection);
