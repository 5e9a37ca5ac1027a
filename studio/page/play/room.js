/**
 * The room for playing.
 *
 * @import {BoardSummary, GameView, KnownEngines, Review, Side, Thoughts} from '../types.js'
 * @import {Held} from './engine_panels.js'
 */
import { recall, remember } from '../memory.js';
import { act, addVariation, explore, look, openBoard, tree, verdicts, view } from '../server.js';
import { html, nothing, render } from '../vendor/lit-html.js';
import { news } from './announcer.js';
import { BoardEditor } from './board_editor.js';
import { BoardView } from './board_view.js';
import { clockShows, recordedClock } from './clock.js';
import { boardAsText, browseButtons, gameButtons, playerStrip, thoughtButtons } from './controls.js';
import { EngineForm } from './engine_form.js';
import { enginePanels, evaluationsAt } from './engine_panels.js';
import { evaluationBar } from './evaluation.js';
import { ExplorerPanel } from './explorer.js';
import { GameFiles } from './game_files.js';
import { hintLine } from './hint.js';
import { press } from './keyboard.js';
import { showKeys } from './keys.js';
import { Looking } from './looking.js';
import { EDIT_KEYS, MoveMenu } from './move_menu.js';
import { MoveList, phaseAt } from './moves.js';
import { NewGameForm } from './new_game_form.js';
import { OpenBoards, boardIn } from './open_boards.js';
import { positionTools } from './position_tools.js';
import { evalsOf, marksOf, reviewOf, reviewPanel } from './review.js';
import { onSettings, showSettings } from './settings.js';
import { statusText } from './status.js';
import { takeBack } from './take_back.js';
import { SearchTree } from './tree.js';
import { VerdictPanel, mayTell } from './verdicts.js';
import { spoken } from './words.js';

/** Between two drawings of running clocks. */
const CLOCK_MS = 100;

/** Between two questions whether the explorer knows other games. */
const EXPLORE_MS = 3000;

/** A board that this tab has shown. @typedef {{game: GameView, received: number, looking: Looking}} Seen */

/** Names of a board and its thoughts in the server's messages. @param {number} board */
function namesOf(board) {
  return [`play/${board}`, `thoughts/${board}`];
}

export class PlayRoom {
  #root;
  #announcement;
  #boards = new OpenBoards({
    show: (board) => this.#show(board),
    last: () => Number(recall('boards').last || NaN) || null,
    changed: () => this.#draw(),
  });
  /** The boards that this tab has shown, as they were then. @type {Map<number, Seen>} */
  #seen = new Map();
  /** @type {KnownEngines} */
  #known = { engines: [], levels: [] };
  /** What is drawn: the board of this tab, or the one before until the server has sent that. @type {GameView | null} */
  #game = null;
  /** Ends the wait for the first game message. */
  #arrive = () => {};
  #arrival = new Promise((resolve) => { this.#arrive = () => resolve(undefined); });
  /** The boards that the server sends to this tab. @type {number[]} */
  #viewed = [];
  /** Time of the last game message, by `performance.now()`. */
  #received = 0;
  /** Of both engines, and the threat. @type {(Thoughts | null)[]} */
  #thoughts = [];
  /** @type {Held} */
  #held = [];
  #editor = new BoardEditor();
  /** What was done last. */
  #told = '';
  #engineForm = new EngineForm(() => this.#draw());
  /** @type {Review | null} */
  #review = null;
  #looking = new Looking(async () => ({ error: '' }), () => {});
  #moves = new MoveList();
  #explorer = new ExplorerPanel(explore, () => this.#draw());
  #verdicts = new VerdictPanel(verdicts, () => this.#draw());
  #menu = new MoveMenu(() => this.#draw());
  #view = new BoardView({
    play: (uci) => this.#send(uci),
    save: (node, words) => this.#edit(node, { shapes: words }),
    changed: () => this.#draw(),
  });
  /** @type {string | null} */
  #error = null;
  #form = new NewGameForm(() => this.#draw());
  /** Resigning waits for confirmation. Any other action cancels it. */
  #resigning = false;
  #tree = new SearchTree((moves) => tree(this.#game?.id ?? 0, moves), () => this.#draw());
  #files = new GameFiles({
    game: () => this.#game,
    withGame: (name) => this.#boards.withGame(name),
    go: (board) => this.#open(board),
    act: (action, room) => this.#act(action, room),
    failed: (error) => {
      this.#error = error;
      this.#draw();
    },
    changed: () => this.#draw(),
  });
  #isDrawing = false;
  /** A drawing waits for the next frame. */
  #isDue = false;
  /** Something has changed during a drawing. */
  #isStale = false;

  /**
   * @param {HTMLElement} root
   * @param {HTMLElement} announcement
   */
  constructor(root, announcement) {
    this.#root = root;
    this.#announcement = announcement;
    document.addEventListener('keydown', (event) => this.#key(event));
    onSettings(() => this.#draw());
    setInterval(() => this.#tick(), CLOCK_MS);
    setInterval(() => {
      if (!this.#root.hidden && !document.hidden) this.#explorer.refresh();
    }, EXPLORE_MS);
    this.#draw();
  }

  /** The room is shown, with the board that the address names, if it names one. @param {number | null} board */
  enter(board) {
    this.#boards.enter(board);
    this.#address();
  }

  /** Opens a position for analysis. @param {string} fen */
  setUp(fen) {
    return this.#files.setUp(fen);
  }

  /** @param {BoardSummary[]} list */
  receiveList(list) {
    this.#boards.receive(list);
    const open = new Set(list.map(({ board }) => board)).add(this.#boards.here ?? 0);
    for (const board of this.#seen.keys()) if (!open.has(board)) this.#seen.delete(board);
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

  /** The server is to send this board, and no longer the one before. @param {number} board */
  #show(board) {
    remember('boards', { last: String(board) });
    for (const name of namesOf(board)) view(name, true);
    for (const other of this.#viewed) if (other !== board) namesOf(other).forEach((name) => view(name, false));
    this.#viewed = [board];
    const seen = this.#seen.get(board);
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
    this.#looking = this.#seen.get(board)?.looking ?? new Looking((node) => look(board, node), () => this.#draw());
    this.#looking.receive(game);
    [this.#game, this.#received, this.#thoughts, this.#held] = [game, received, [], []];
    [this.#error, this.#told, this.#resigning] = [null, '', false];
    // These draw.
    this.#menu.close();
    this.#engineForm.close();
    this.#view.clear();
    this.#view.unflip();
  }

  /** @param {number} board */
  async #close(board) {
    // The list may come without it before the answer.
    const closed = this.#boards.named(board);
    if (!(await this.#act({ do: 'close', board }, 'play'))) return;
    this.#seen.delete(board);
    this.#boards.close(closed);
  }

  /** @param {number} board */
  async #reopen(board) {
    const answer = await openBoard({ do: 'reopen', board });
    if ('value' in answer) this.#open(answer.value.board);
    this.#tell('error' in answer ? answer.error : '', 'error' in answer);
  }

  /** @param {GameView} game */
  #receiveGame(game) {
    const isOther = this.#game?.id !== game.id;
    const before = isOther ? null : this.#game;
    if (isOther) this.#turn(game, performance.now());
    else this.#looking.receive(game);
    [this.#game, this.#received] = [game, performance.now()];
    this.#arrive();
    this.#seen.set(game.id, { game, received: this.#received, looking: this.#looking });
    if (before && before.number !== game.number) this.#menu.close();
    if (before && before.revision !== game.revision) {
      this.#view.clear();
      this.#resigning = false;
      // The message is about the previous position.
      this.#error = null;
    }
    this.#files.follow(game);
    const words = news(before, game);
    if (words !== '') this.#say(words);
    this.#draw();
  }

  /** @param {(Thoughts | null)[]} thoughts */
  #receiveThoughts(thoughts) {
    this.#thoughts = thoughts;
    this.#drawSoon();
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

  /** @param {string} text @param {boolean} isError */
  #tell(text, isError) {
    this.#error = isError ? text : null;
    this.#told = isError ? '' : text;
    this.#draw();
  }

  /** @param {object} action @param {string} [room] the board, if it is left out */
  async #act(action, room = `play/${this.#game?.id}`) {
    const board = this.#game?.id;
    this.#resigning = false;
    const error = await act(action, room);
    // The person may look at another board by now.
    if (board === this.#game?.id) this.#error = error;
    this.#draw();
    return error === null;
  }

  /** The position on the board. @param {GameView} game */
  #node(game) {
    return this.#looking.tree.node(this.#looking.node) ?? game.tree[0];
  }

  /** @param {number | null | undefined} node `null` is the game's last position */
  #go(node) {
    if (node === undefined) return;
    this.#looking.go(node);
    this.#resigning = false;
    this.#error = null;
    this.#told = '';
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

  /** Changes the tree at a node. @param {number} node @param {string | Record<string, unknown>} change @param {string} [seen] */
  #edit(node, change, seen) {
    return this.#act({ do: 'edit', node, change, seen });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (this.#root.hidden) return;
    const { tree, node } = this.#looking;
    press(event, {
      ArrowLeft: () => this.#go(tree.node(node)?.parent),
      ArrowRight: () => this.#go(tree.children(node)[0]?.id),
      ArrowUp: () => this.#go(tree.otherLine(node, -1) ?? undefined),
      ArrowDown: () => this.#go(tree.otherLine(node, 1) ?? undefined),
      Home: () => this.#go(tree.root?.id),
      End: () => this.#go(tree.after(node).at(-1)?.id),
      Escape: () => {
        this.#resigning = false;
        this.#view.brush = '';
        this.#draw();
      },
      c: () => this.#openMenu(node),
      f: () => this.#view.flip(),
      h: () => this.#act({ do: 'hint' }),
      x: () => this.#act({ do: 'threat', on: !this.#game?.analysts[2].on }),
      s: showSettings,
      z: () => this.#undo(),
      '?': showKeys,
      '/': () => this.#root.querySelector('input')?.focus(),
      ...Object.fromEntries(Object.entries(EDIT_KEYS).map(([key, change]) => [key, () => this.#edit(node, change)])),
    }, (key) => key in EDIT_KEYS);
  }

  /** Plays a move of the game, or adds one after another position. @param {string} text */
  async #send(text) {
    const game = this.#game;
    this.#view.clear();
    if (!game) return false;
    if (this.#looking.isLast && !game.end) {
      const looking = this.#looking;
      looking.moves(true);
      const done = await this.#act({ do: 'move', text, ply: game.moves.length });
      if (!done) looking.moves(false);
      return done;
    }
    return this.#variation(text);
  }

  /** Adds moves after the position on the board, and goes there. @param {string} text */
  async #variation(text) {
    this.#view.clear();
    const board = this.#game?.id ?? 0;
    const answer = await addVariation(board, this.#looking.node, text);
    if (board === this.#game?.id) {
      this.#error = 'error' in answer ? answer.error : null;
      if ('value' in answer) this.#go(answer.value.node);
    }
    this.#draw();
    return 'value' in answer;
  }

  #undo() {
    if (this.#game?.undo) this.#act({ do: 'undo' });
  }

  /** @param {number} node */
  #openMenu(node) {
    const shown = this.#looking.tree.node(node);
    if (shown) this.#menu.open(shown);
  }

  /** @param {SubmitEvent} event */
  async #typed(event) {
    event.preventDefault();
    const input = this.#root.querySelector('input');
    // A move may be typed before the page has received the game.
    await this.#arrival;
    const text = input?.value.trim();
    if (!input || !text) return;
    // The next move may be typed before the answer comes.
    input.value = '';
    const board = this.#game?.id;
    const done = await this.#send(text);
    if (!done && board === this.#game?.id && input.value === '') input.value = text;
  }

  #tick() {
    const game = this.#game;
    if (!game?.clock?.running || this.#root.hidden) return;
    for (const side of /** @type {const} */ (['white', 'black'])) {
      const element = this.#root.querySelector(`.clock.${side}`);
      if (element) element.textContent = clockShows(game, side, performance.now() - this.#received);
    }
  }

  /** Draws at most once a frame, and not in hidden tabs. */
  #drawSoon() {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      if (this.#isDue) this.#draw();
    });
  }

  #draw() {
    // Removing a focused element fires a blur event, whose handler draws again.
    if (this.#isDrawing) {
      this.#isStale = true;
      return;
    }
    this.#isDrawing = true;
    this.#isDue = false;
    try {
      render(this.#page(), this.#root);
    } finally {
      this.#isDrawing = false;
    }
    if (this.#isStale) {
      this.#isStale = false;
      this.#draw();
      return;
    }
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
      if (!(dialog instanceof HTMLDialogElement)) continue;
      if (open && !dialog.open) dialog.showModal();
    }
  }

  #page() {
    const game = this.#game;
    const bottom = this.#view.orientation(game);
    const top = bottom === 'white' ? 'black' : 'white';
    const fen = game ? this.#node(game).fen : '';
    if (game) this.#tree.follow(`${game.id} ${game.number} ${game.revision} ${this.#looking.node}`, game.analysis);
    const since = performance.now() - this.#received;
    const path = game ? this.#looking.tree.path(this.#looking.node) : [];
    const recorded = (/** @type {Side} */ side) => recordedClock(path, game?.first_ply ?? 0, side);
    return html`
      <div class="table" data-game=${game ? `${game.id} ${game.number}` : nothing} data-revision=${game?.revision ?? nothing}>
        <div class="sides">
          ${playerStrip(game, top, fen, since, recorded(top))}
          <div class="boards">
            ${game?.analysis ? evaluationBar(evaluationsAt(this.#thoughts, this.#looking.node)[0], bottom === 'black') : nothing}
            <div class="square"><div class="board"></div></div>
          </div>
          ${playerStrip(game, bottom, fen, since, recorded(bottom))}
        </div>
        <div class="panel">
          ${this.#boards.view({ close: (board) => this.#close(board), reopen: (board) => this.#reopen(board) })}
          <p class="status" id="status">${this.#files.reading ? `Reading ${this.#files.reading} …` : statusText(game, this.#looking)}</p>
          ${game?.notice ? html`<p class="notice">${game.notice}
            ${game.stalled ? html`<button type="button" @click=${() => this.#act({ do: 'retry' })}>Start it again</button>`
              : nothing}</p>` : nothing}
          <form class="typed" @submit=${(/** @type {SubmitEvent} */ event) => this.#typed(event)}>
            <label for="typed">Move</label>
            <input id="typed" autocomplete="off" autocapitalize="off" spellcheck="false" maxlength="12"
              placeholder="e4, Nf3, O-O" aria-describedby="problem">
            <button type="submit">Play</button>
          </form>
          ${game ? hintLine(game, () => this.#act({ do: 'hint' })) : nothing}
          <p class="error" id="problem" role="alert">${this.#error ?? nothing}</p>
          ${game ? this.#panel(game, fen) : nothing}
        </div>
      </div>
      ${this.#view.promotion(fen.split(' ')[1] === 'w' ? 'white' : 'black')}
      ${this.#form.view(game, (board) => {
        this.#view.unflip();
        this.#error = null;
        this.#open(board);
      })}
      ${this.#engineForm.view(game, (action) => act(action, `play/${game?.id}`))}
      ${this.#menu.view(this.#looking.tree, game?.first_ply ?? 0, (node, change, seen) => this.#edit(node, change, seen))}`;
  }

  /** @param {GameView} game @param {string} fen */
  #panel(game, fen) {
    const { tree, node, opening } = this.#looking;
    const ply = tree.mainPly(node);
    const review = reviewOf(game, this.#review);
    const redraw = (/** @type {() => void} */ change) => () => {
      change();
      this.#draw();
    };
    return html`
      ${thoughtButtons(game, {
        heat: this.#view.heat,
        tree: this.#tree.isOpen,
        act: (action) => this.#act(action),
        toggleHeat: redraw(() => { this.#view.heat = !this.#view.heat; }),
        toggleTree: () => this.#tree.toggle(),
        explorer: this.#explorer.isOpen,
        toggleExplorer: () => this.#explorer.toggle(),
        arrows: this.#view.arrows,
        toggleArrows: () => this.#view.toggleArrows(),
        setUp: (number) => this.#engineForm.open(number, game),
      })}
      ${enginePanels(game, this.#thoughts, this.#looking, this.#held, {
        act: (action) => this.#act(action),
        follow: (line) => this.#view.follow(line),
        play: (moves) => this.#variation(moves.join(' ')),
        setUp: (number) => this.#engineForm.open(number, game),
      })}
      ${this.#tree.isOpen ? this.#tree.view('Search tree', (uci) => this.#view.point(uci)) : nothing}
      <p class="small opening">${phaseAt(game, ply)}${opening ? `: ${opening}` : nothing}</p>
      <div class="moves" tabindex="0" role="region" aria-label="Moves">${
        this.#moves.view(game, tree, node, marksOf(review), evalsOf(review), !this.#root.querySelector('.moves'), {
          go: (to) => this.#go(to),
          menu: (to) => this.#openMenu(to),
        })}</div>
      ${this.#verdicts.view(mayTell(game, this.#looking.isLast) ? fen : null, { play: (uci) => this.#send(uci), point: (uci) => this.#view.point(uci) })}
      ${this.#explorer.view(fen, `${game.id} ${game.file?.number} ${game.moves.length}`, { play: (uci) => this.#send(uci), point: (uci) => this.#view.point(uci) })}
      ${browseButtons(this.#looking, game.undo, {
        go: (to) => this.#go(to),
        menu: () => this.#openMenu(node),
        undo: () => this.#undo(),
        follow: redraw(() => this.#looking.follow(!this.#looking.follows)),
        brush: this.#view.brush,
        draw: (brush) => redraw(() => { this.#view.brush = brush; })(),
      })}
      ${this.#files.list(game)}
      ${gameButtons(game, {
        resigning: this.#resigning,
        act: (action) => this.#act(action),
        takeBack: () => takeBack(game, tree, (action) => this.#act(action, `play/${game.id}`)),
        newGame: () => this.#form.open(game, null),
        resign: redraw(() => { this.#resigning = true; }),
        keepPlaying: redraw(() => { this.#resigning = false; }),
        flip: () => this.#view.flip(),
      })}
      ${reviewPanel(game, review, ply, tree.isMain(node), {
        begin: (nodes) => this.#act({ do: 'begin', board: game.id, nodes }, 'review'),
        stop: () => this.#act({ do: 'stop' }, 'review'),
        go: (to) => this.#goTo(to),
        point: (uci) => this.#view.point(uci),
        keep: () => this.#act({ do: 'keep', board: game.id }, 'review'),
      })}
      ${this.#files.buttons(game)}
      ${positionTools(game.id, fen, this.#view.orientation(game), this.#view.drawnAt(this.#node(game)), {
        say: (text, isError) => this.#tell(text, isError),
        setUp: () => this.#editor.open(fen, {
          analyse: (position) => this.#files.setUp(position),
          play: (position) => this.#form.open(this.#game, position),
        }),
        fromHere: () => this.#form.open(game, fen),
      })}
      <p class="small" role="status">${this.#told}</p>
      <p class="small">A PGN that is dropped on the page is loaded and reviewed; a pasted
        PGN or FEN is loaded. <button type="button" class="link" @click=${showKeys}>Keys</button>: ?</p>
      ${boardAsText(fen)}`;
  }
}
