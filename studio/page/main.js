/**
 * The page: its rooms and the event stream.
 *
 * @import {Message} from './types.js'
 */
import { PlayRoom } from './play/room.js';
import { PuzzleRoom } from './puzzles/room.js';
import { listen } from './server.js';
import { TrainRoom } from './train/room.js';
import { WatchRoom } from './watch/room.js';

/** @param {string} id */
function part(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no ${id}`);
  return element;
}

const play = new PlayRoom(part('play'), part('announcement'));
const puzzles = new PuzzleRoom(part('puzzles'), part('announcement'));
const watch = new WatchRoom(part('watch'));
const train = new TrainRoom(part('train'));

const ROOMS = ['play', 'puzzles', 'watch', 'train'];

/** Shows the room that the address names. */
function enter() {
  const named = location.hash.slice(1);
  const here = ROOMS.includes(named) ? named : 'play';
  for (const room of ROOMS) {
    part(room).hidden = room !== here;
    if (room === here) part(`to-${room}`).setAttribute('aria-current', 'page');
    else part(`to-${room}`).removeAttribute('aria-current');
  }
  puzzles.show(here === 'puzzles');
  watch.show(here === 'watch');
  train.show(here === 'train');
}

/** @param {Message} message */
function receive(message) {
  if (message.game) {
    play.receiveGame(message.game);
    watch.receiveEngines(message.game.engines);
  }
  if (message.thoughts !== undefined) play.receiveThoughts(message.thoughts);
  if (message.review !== undefined) {
    play.receiveReview(message.review);
    puzzles.receiveReview(message.review);
  }
  if (message.puzzles !== undefined) puzzles.receiveReading(message.puzzles);
  if (message.match !== undefined) watch.receive(message.match);
  if (message.followed) watch.receiveFollowed(message.followed);
  if (message.runs) train.receive(message.runs);
  if (message.boards) {
    watch.receiveBoards(message.boards);
    train.receiveBoards(message.boards);
  }
}

/** @param {boolean} connected */
function connection(connected) {
  part('connection').textContent = connected ? '' : 'No connection. Is philidor-studio still running?';
}

addEventListener('hashchange', enter);
enter();
listen(receive, connection);
