// What the threads of the engine tell and ask whoever started them.
import { post } from './platform.js';

export const startThread = () => post({ start: true });
export const hasBegun = () => post({ ready: true, hasThreads: true });
export const writeLine = (line) => post(line);
export const hasEnded = (why) => post({ failed: why });
