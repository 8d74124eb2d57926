/** Lets the event loop see to everything else in the middle of a long piece of work. */

/** Taken when the module loads: a test runner's fake timers, put in later, would never come to it. */
const immediate = setImmediate;
const nextTick = process.nextTick.bind(process);

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void immediate(resolve));
}

/** Calls back in this turn, when no microtask is left. */
export function afterMicrotasks(callback: () => void): void {
  nextTick(callback);
}
