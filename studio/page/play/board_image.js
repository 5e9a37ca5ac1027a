/**
 * The board as an image, with what is drawn on it. The pieces are those of the page's style.
 *
 * @import {Side} from '../types.js'
 */
import { boardRows } from './words.js';

/** Of a square, in the image's units. */
const SIZE = 60;
/** Light and dark squares of chessground's brown board. @type {[string, string]} */
const BROWN = ['#f0d9b5', '#c0ae91'];
const COLORS = /** @type {Record<string, string>} */ ({ G: '#15781b', R: '#882020', Y: '#e68f00', B: '#003088' });

/**
 * @param {string} fen
 * @param {Side} bottom
 * @param {string[]} words what is drawn, such as `Ge2e4`
 * @param {(color: Side, role: string) => string} picture the address of a piece's picture
 * @param {[string, string]} [squares] the colours of light and dark squares
 * @returns {string}
 */
export function boardSvg(fen, bottom, words, picture, [light, dark] = BROWN) {
  const place = (/** @type {number} */ file, /** @type {number} */ row) => (bottom === 'white' ? [file, row] : [7 - file, 7 - row]).map((at) => at * SIZE);
  /** The middle of a square. @param {string} square */
  const middle = (square) => place(square.charCodeAt(0) - 97, 8 - Number(square[1])).map((at) => at + SIZE / 2);
  const squares = Array.from({ length: 64 }, (_, index) => {
    const [x, y] = [(index % 8) * SIZE, Math.floor(index / 8) * SIZE];
    return `<rect x="${x}" y="${y}" width="${SIZE}" height="${SIZE}" fill="${(x + y) / SIZE % 2 ? dark : light}"/>`;
  });
  const pieces = boardRows(fen).flatMap((rank, row) => rank.flatMap((words, file) => {
    if (words === '') return [];
    const [x, y] = place(file, row);
    const [color, role] = /** @type {[Side, string]} */ (words.split(' '));
    return [`<image x="${x}" y="${y}" width="${SIZE}" height="${SIZE}" href="${picture(color, role)}"/>`];
  }));
  const drawings = words.map((word) => {
    const [x, y] = middle(word.slice(1, 3));
    const color = COLORS[word[0]] ?? COLORS.G;
    if (word.length < 5) return `<circle cx="${x}" cy="${y}" r="${SIZE * 0.46}" fill="none" stroke="${color}" stroke-width="4"/>`;
    const [toX, toY] = middle(word.slice(3, 5));
    return `<line x1="${x}" y1="${y}" x2="${toX}" y2="${toY}" stroke="${color}" stroke-width="9" stroke-linecap="round" opacity="0.75" marker-end="url(#head-${word[0]})"/>`;
  });
  const heads = Object.entries(COLORS).map(([letter, color]) => `<marker id="head-${letter}" orient="auto" markerWidth="4" markerHeight="4" refX="2.2" refY="2"><path d="M0,0 V4 L3,2 Z" fill="${color}"/></marker>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${8 * SIZE}" height="${8 * SIZE}" viewBox="0 0 ${8 * SIZE} ${8 * SIZE}">`
    + `<defs>${heads.join('')}</defs>${squares.join('')}${pieces.join('')}${drawings.join('')}</svg>`;
}

/** Picture of a piece in the page's style. @param {Side} color @param {string} role */
function pictureOf(color, role) {
  const place = document.createElement('div');
  place.className = 'cg-wrap unseen';
  place.innerHTML = `<piece class="${color} ${role}"></piece>`;
  document.body.append(place);
  const address = getComputedStyle(/** @type {Element} */ (place.firstElementChild)).backgroundImage;
  place.remove();
  return address.replace(/^url\(["']?|["']?\)$/g, '');
}

/** @param {Blob} blob @param {string} name */
function save(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/**
 * Saves the board as a picture file.
 *
 * @param {'svg' | 'png'} kind
 * @param {string} fen
 * @param {Side} bottom
 * @param {string[]} words
 */
export async function saveImage(kind, fen, bottom, words) {
  const style = getComputedStyle(document.documentElement);
  const square = (/** @type {0 | 1} */ shade) => style.getPropertyValue(['--light-square', '--dark-square'][shade]).trim() || BROWN[shade];
  const svg = boardSvg(fen, bottom, words, pictureOf, [square(0), square(1)]);
  if (kind === 'svg') return save(new Blob([svg], { type: 'image/svg+xml' }), 'board.svg');
  const image = new Image();
  image.src = `data:image/svg+xml;base64,${btoa(svg)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => blob && save(blob, 'board.png'), 'image/png');
}
