/** Pasted text as a PGN; a FEN becomes a game without moves. @param {string} text */
export function pastedPgn(text) {
  const trimmed = text.trim();
  const isFen = /^([pnbrqk1-8]+\/){7}[pnbrqk1-8]+ [wb] [a-z-]+ \S+( \d+ \d+)?$/i.test(trimmed);
  return isFen ? `[SetUp "1"]\n[FEN "${trimmed}"]\n\n*\n` : trimmed;
}
