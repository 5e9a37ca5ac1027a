/**
 * The page: its rooms and the event stream.
 *
 * @import {LiveBoard, Message} from './types.js'
 */
import { boardIn } from './play/open_boards.js';
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
const puzzles = new PuzzleRoom(part('puzzles'), part('announcement'), (fen) => play.setUp(fen));
const watch = new WatchRoom(part('watch'));
const train = new TrainRoom(part('train'));

const ROOMS = ['play', 'puzzles', 'watch', 'train'];

/** Shows the room that the address names. */
function enter() {
  const [named] = location.hash.slice(1).split('/');
  const here = ROOMS.includes(named) ? named : 'play';
  for (const room of ROOMS) {
    part(room).hidden = room !== here;
    if (room === here) part(`to-${room}`).setAttribute('aria-current', 'page');
    else part(`to-${room}`).removeAttribute('aria-current');
  }
  if (here === 'play') play.enter(boardIn(location.hash));
  else play.see();
  puzzles.show(here === 'puzzles');
  watch.show(here === 'watch');
  train.show(here === 'train');
}

/** @param {Message} message */
function receive(message) {
  if (message.engines) {
    play.receiveEngines(message.engines);
    watch.receiveEngines(message.engines.engines);
  }
  if (message.open_boards) play.receiveList(message.open_boards);
  if (message.review !== undefined) {
    play.receiveReview(message.review);
    puzzles.receiveReview(message.review);
  }
  if (message.puzzles !== undefined) puzzles.receiveReading(message.puzzles);
  if (message.match !== undefined) watch.receive(message.match);
  if (message.followed) watch.receiveFollowed(message.followed);
  if (message.runs) train.receive(message.runs);
  if (message.boards) {
    play.receiveBoards(message.boards);
    // The other rooms take only the boards that they show.
    const boards = /** @type {Record<string, LiveBoard>} */ (message.boards);
    watch.receiveBoards(boards);
    train.receiveBoards(boards);
  }
}

/** @param {boolean} connected */
function connection(connected) {
  part('connection').textContent = connected ? '' : 'No connection. Is philidor-studio still running?';
  play.connection(connected);
  watch.connection(connected);
}

addEventListener('hashchange', enter);
enter();
listen(receive, connection);
