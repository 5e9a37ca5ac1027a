/** When a room is drawn: at once, or once in the next frame for all that comes until then. */

export class Drawing {
  #paint;
  #nextFrame;
  #isDrawing = false;
  /** A drawing waits for the next frame. */
  #isDue = false;
  /** Something has changed during a drawing. */
  #isStale = false;

  /**
   * @param {{render: () => void, finish: () => void}} paint `finish` follows once nothing has changed during `render`
   * @param {(draw: () => void) => void} [nextFrame] hidden tabs have none
   */
  constructor(paint, nextFrame = (draw) => { requestAnimationFrame(draw); }) {
    this.#paint = paint;
    this.#nextFrame = nextFrame;
  }

  soon() {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#nextFrame(() => {
      if (this.#isDue) this.now();
    });
  }

  now() {
    // Removing a focused element fires a blur event, whose handler draws again.
    if (this.#isDrawing) {
      this.#isStale = true;
      return;
    }
    this.#isDrawing = true;
    try {
      do {
        [this.#isDue, this.#isStale] = [false, false];
        this.#paint.render();
      } while (this.#isStale);
    } finally {
      [this.#isDrawing, this.#isStale] = [false, false];
    }
    this.#paint.finish();
  }
}
