/**
 * The room for playing: what this tab shows, and what a person does to it. `page.js` has its templates.
 *
 * @import {BoardSummary, GameView, KnownEngines, Review, Thoughts} from '../types.js'
 * @import {Held} from './engine_panels.js'
 * @import {Actions, Parts, Shown} from './page.js'
 */
import { recall, remember } from '../memory.js';
import { act, explore, look, openBoard, tree, verdicts, view } from '../server.js';
import { render } from '../vendor/lit-html.js';
import { news } from './announcer.js';
import { BoardEditor } from './board_editor.js';
import { BoardView } from './board_view.js';
import { clockShows } from './clock.js';
import { Deeds } from './deeds.js';
import { Drawing } from './drawing.js';
import { EngineForm } from './engine_form.js';
import { evaluationsAt } from './engine_panels.js';
import { ExplorerPanel } from './explorer.js';
import { GameFiles } from './game_files.js';
import { press } from './keyboard.js';
import { showKeys } from './keys.js';
import { Looking } from './looking.js';
import { EDIT_KEYS, MoveMenu } from './move_menu.js';
import { MoveList } from './moves.js';
import { NewGameForm } from './new_game_form.js';
import { OpenBoards, boardIn } from './open_boards.js';
import { playPage } from './page.js';
import { SeenBoards, namesOf } from './seen_boards.js';
import { onSettings, showSettings } from './settings.js';
import { shortcuts } from './shortcuts.js';
import { SearchTree } from './tree.js';
import { VerdictPanel } from './verdicts.js';
import { spoken } from './words.js';

/** Between two drawings of running clocks. */
const CLOCK_MS = 100;

/** Between two questions whether the explorer knows other games. */
const EXPLORE_MS = 3000;

export class PlayRoom {
  #root;
  #announcement;
  #drawing = new Drawing({ render: () => this.#render(), finish: () => this.#finish() });

  // What the server has said.
  #seen = new SeenBoards(view);
  /** @type {KnownEngines} */
  #known = { engines: [], levels: [] };
  /** What is drawn: the board of this tab, or the one before until the server has sent that. @type {GameView | null} */
  #game = null;
  /** Ends the wait for the first game message. */
  #arrive = () => {};
  #arrival = new Promise((resolve) => { this.#arrive = () => resolve(undefined); });
  /** Time of the last game message, by `performance.now()`. */
  #received = 0;
  /** When the connection was lost, by `performance.now()`. @type {number | null} */
  #lost = null;
  /** Of both engines, and the threat. @type {(Thoughts | null)[]} */
  #thoughts = [];
  /** @type {Review | null} */
  #review = null;

  // What the person does.
  #looking = new Looking(async () => ({ error: '' }), () => {});
  /** @type {Held} */
  #held = [];
  #deeds = new Deeds({
    game: () => this.#game,
    looking: () => this.#looking,
    go: (node) => this.#go(node),
    clear: () => this.#view.clear(),
    changed: () => this.#draw(),
  });

  // What is drawn by parts of its own.
  #boards = new OpenBoards({
    show: (board) => this.#show(board),
    last: () => Number(recall('boards').last || NaN) || null,
    changed: () => this.#draw(),
  });
  #view = new BoardView({
    play: (uci) => this.#deeds.send(uci),
    save: (node, words) => this.#deeds.edit(node, { shapes: words }),
    changed: () => this.#draw(),
  });
  #files = new GameFiles({
    game: () => this.#game,
    withGame: (name) => this.#boards.withGame(name),
    go: (board) => this.#open(board),
    act: (action, room) => this.#deeds.act(action, room),
    failed: (error) => this.#deeds.fail(error),
    changed: () => this.#draw(),
  });
  #explorer = new ExplorerPanel(explore, () => this.#draw());
  #tree = new SearchTree((moves) => tree(this.#game?.id ?? 0, moves), () => this.#draw());
  #moves = new MoveList();
  #menu = new MoveMenu(() => this.#draw());
  #form = new NewGameForm(() => this.#draw());
  #engineForm = new EngineForm(() => this.#draw());
  /** @type {Parts} */
  #parts = {
    deeds: this.#deeds,
    boards: this.#boards,
    view: this.#view,
    moves: this.#moves,
    tree: this.#tree,
    explorer: this.#explorer,
    verdicts: new VerdictPanel(verdicts, () => this.#draw()),
    files: this.#files,
    form: this.#form,
    engineForm: this.#engineForm,
    menu: this.#menu,
    editor: new BoardEditor(),
  };
  /** @type {Actions} */
  #actions = {
    go: (node) => this.#go(node),
    goTo: (ply) => this.#goTo(ply),
    typed: (event) => this.#typed(event),
    menu: (node) => this.#openMenu(node),
    close: (board) => this.#close(board),
    reopen: (board) => this.#reopen(board),
    begun: (board) => this.#begun(board),
    setUpEngine: (action) => act(action, `play/${this.#game?.id}`),
    draw: () => this.#draw(),
  };

  /**
   * @param {HTMLElement} root
   * @param {HTMLElement} announcement
   */
  constructor(root, announcement) {
    this.#root = root;
    this.#announcement = announcement;
    document.addEventListener('keydown', (event) => this.#key(event));
    document.addEventListener('visibilitychange', () => this.see());
    onSettings(() => this.#draw());
    // The move that is shown stays in view in a smaller list.
    addEventListener('resize', () => this.#draw());
    setInterval(() => this.#tick(), CLOCK_MS);
    setInterval(() => {
      if (!this.#root.hidden && !document.hidden) this.#explorer.refresh();
    }, EXPLORE_MS);
    this.#draw();
  }

  /** The room is shown, with the board that the address names, if it names one. @param {number | null} board */
  enter(board) {
    this.see();
    this.#boards.enter(board);
    this.#address();
  }

  /** The room or the window was shown or hidden. */
  see() {
    this.#seen.see(!this.#root.hidden && !document.hidden);
  }

  /** Without a connection the clocks stand: the server may have ended, which suspends the games. @param {boolean} isConnected */
  connection(isConnected) {
    if (isConnected) this.#lost = null;
    else this.#lost ??= performance.now();
  }

  /** Milliseconds since the game was received, for its clocks. */
  #since() {
    return (this.#lost ?? performance.now()) - this.#received;
  }

  /** Opens a position for analysis. @param {string} fen */
  setUp(fen) {
    return this.#files.setUp(fen);
  }

  /** @param {BoardSummary[]} list */
  receiveList(list) {
    this.#boards.receive(list);
    const open = new Set(list.map(({ board }) => board)).add(this.#boards.here ?? 0);
    this.#seen.forgetOthers(open);
    if (!this.#root.hidden) this.enter(boardIn(location.hash));
  }

  /** @param {KnownEngines} known */
  receiveEngines(known) {
    this.#known = known;
    if (this.#game) this.#game = { ...this.#game, ...known };
    this.#draw();
  }

  /** @param {Record<string, unknown>} boards */
  receiveBoards(boards) {
    const { here } = this.#boards;
    if (here === null) return;
    const [game, thoughts] = namesOf(here).map((name) => boards[name]);
    if (game) this.#receiveGame({ .../** @type {GameView} */ (game), ...this.#known });
    if (thoughts) this.#receiveThoughts(/** @type {(Thoughts | null)[]} */ (thoughts));
  }

  /** The address names the board that is shown. */
  #address() {
    const { here } = this.#boards;
    const address = `#play/${here}`;
    if (here !== null && !this.#root.hidden && location.hash !== address) history.replaceState(null, '', address);
  }

  /** A board was opened for this tab. @param {number} board */
  #open(board) {
    // The browser's button "back" leads to the board before.
    if (location.hash !== `#play/${board}`) location.hash = `play/${board}`;
    this.#boards.open(board);
  }

  /** This tab shows this board from now on. @param {number} board */
  #show(board) {
    remember('boards', { last: String(board) });
    this.#seen.send(board);
    const seen = this.#seen.at(board);
    if (seen && this.#game?.id !== board) {
      this.#turn({ ...seen.game, ...this.#known }, seen.received);
      this.#looking.tell();
    }
    this.#address();
    this.#draw();
  }

  /** From now on another board is drawn. @param {GameView} game @param {number} received */
  #turn(game, received) {
    const board = game.id;
    const isOther = this.#game !== null;
    this.#looking = this.#seen.at(board)?.looking ?? new Looking((node) => look(board, node), () => this.#draw());
    this.#looking.receive(game);
    [this.#game, this.#received, this.#thoughts, this.#held] = [game, received, [], []];
    this.#deeds.forget();
    // These draw.
    this.#menu.close();
    this.#engineForm.close();
    this.#view.clear();
    this.#view.unflip();
    // What was typed was meant for the other board.
    const field = this.#field();
    if (isOther && field) field.value = '';
  }

  /** @param {number} board */
  async #close(board) {
    // The list may come without it before the answer.
    const closed = this.#boards.named(board);
    if (!(await this.#deeds.act({ do: 'close', board }, 'play'))) return;
    this.#seen.forget(board);
    this.#boards.close(closed);
  }

  /** @param {number} board */
  async #reopen(board) {
    const answer = await openBoard({ do: 'reopen', board });
    if ('value' in answer) this.#open(answer.value.board);
    this.#deeds.tell('error' in answer ? answer.error : '', 'error' in answer);
  }

  /** @param {GameView} game */
  #receiveGame(game) {
    const isOther = this.#game?.id !== game.id;
    const before = isOther ? null : this.#game;
    if (isOther) this.#turn(game, performance.now());
    else this.#looking.receive(game);
    [this.#game, this.#received] = [game, performance.now()];
    this.#arrive();
    this.#seen.keep({ game, received: this.#received, looking: this.#looking });
    if (before && before.number !== game.number) this.#menu.close();
    if (before && before.revision !== game.revision) {
      this.#view.clear();
      this.#deeds.resigning = false;
      // The message is about the previous position.
      this.#deeds.error = null;
    }
    this.#files.follow(game);
    const words = news(before, game);
    if (words !== '') this.#say(words);
    this.#draw();
  }

  /** @param {(Thoughts | null)[]} thoughts */
  #receiveThoughts(thoughts) {
    this.#thoughts = thoughts;
    this.#drawing.soon();
  }

  /** @param {Review | null} review */
  receiveReview(review) {
    const wasRunning = this.#review?.running;
    this.#review = review;
    if (wasRunning && review && !review.running) this.#say(review.notice ?? 'The review is complete.');
    this.#draw();
  }

  /** @param {string} text */
  #say(text) {
    this.#announcement.textContent = text;
  }

  /** The position on the board. @param {GameView} game */
  #node(game) {
    return this.#looking.tree.node(this.#looking.node) ?? game.tree[0];
  }

  /** @param {number | null | undefined} node `null` is the game's last position */
  #go(node) {
    if (node === undefined) return;
    this.#looking.go(node);
    this.#deeds.forget();
    this.#view.clear();
    const { san } = this.#looking.tree.node(this.#looking.node) ?? { san: '' };
    if (san) this.#say(spoken(san));
    this.#draw();
  }

  /** The position after so many plies of the main line. @param {number} ply */
  #goTo(ply) {
    const { tree } = this.#looking;
    this.#go(ply === 0 ? tree.root.id : tree.after(tree.root.id)[ply - 1]?.id);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (this.#root.hidden) return;
    press(event, shortcuts(this.#looking, {
      go: (node) => this.#go(node),
      escape: () => {
        this.#deeds.resigning = false;
        this.#view.brush = '';
        this.#draw();
      },
      menu: (node) => this.#openMenu(node),
      flip: () => this.#view.flip(),
      hint: () => this.#deeds.act({ do: 'hint' }),
      threat: () => this.#deeds.act({ do: 'threat', on: !this.#game?.analysts[2].on }),
      settings: showSettings,
      undo: () => this.#deeds.undo(),
      keys: showKeys,
      type: () => this.#field()?.focus(),
      edit: (node, change) => this.#deeds.edit(node, change),
    }), (key) => key in EDIT_KEYS);
  }

  /** A new game is on this board. @param {number} board */
  #begun(board) {
    this.#view.unflip();
    this.#deeds.error = null;
    this.#open(board);
  }

  /** @param {number} node */
  #openMenu(node) {
    const shown = this.#looking.tree.node(node);
    if (shown) this.#menu.open(shown);
  }

  /** Where moves are typed. @returns {HTMLInputElement | null} */
  #field() {
    return this.#root.querySelector('#typed');
  }

  /** @param {SubmitEvent} event */
  async #typed(event) {
    event.preventDefault();
    const input = this.#field();
    // A move may be typed before the page has received the game.
    await this.#arrival;
    const text = input?.value.trim();
    if (!input || !text) return;
    // The next move may be typed before the answer comes.
    input.value = '';
    const board = this.#game?.id;
    const done = await this.#deeds.send(text);
    if (!done && board === this.#game?.id && input.value === '') input.value = text;
  }

  #tick() {
    const game = this.#game;
    if (!game?.clock?.running || this.#root.hidden) return;
    for (const side of /** @type {const} */ (['white', 'black'])) {
      const element = this.#root.querySelector(`.clock.${side}`);
      if (element) element.textContent = clockShows(game, side, this.#since());
    }
  }

  #draw() {
    this.#drawing.now();
  }

  /** @returns {Shown} */
  #shown() {
    const game = this.#game;
    const looking = this.#looking;
    return {
      game,
      looking,
      fen: game ? this.#node(game).fen : '',
      thoughts: this.#thoughts,
      here: evaluationsAt(this.#thoughts, looking.node),
      held: this.#held,
      review: this.#review,
      since: this.#since(),
      isNew: !this.#root.querySelector('.moves'),
    };
  }

  #render() {
    const game = this.#game;
    if (game) this.#tree.follow(`${game.id} ${game.number} ${game.revision} ${this.#looking.node}`, game.analysis);
    render(playPage(this.#parts, this.#shown(), this.#actions), this.#root);
  }

  /** What lit-html does not do: the board, scrolling, dialogs. */
  #finish() {
    const square = this.#root.querySelector('.board');
    const game = this.#game;
    if (game && square instanceof HTMLElement) {
      this.#view.show(square, game, this.#looking, this.#node(game), evaluationsAt(this.#thoughts, this.#looking.node));
    }
    this.#boards.scroll(this.#root);
    this.#moves.scroll(this.#root.querySelector('.moves'), `${game?.revision} ${this.#looking.node}`);
    for (const [id, open] of /** @type {const} */ ([
      ['new-game', this.#form.isOpen], ['promotion', this.#view.asksForPromotion], ['move-menu', this.#menu.isOpen],
      ['engine-form', this.#engineForm.isOpen],
    ])) {
      const dialog = this.#root.querySelector(`#${id}`);
      if (dialog instanceof HTMLDialogElement && open && !dialog.open) dialog.showModal();
    }
  }
}
