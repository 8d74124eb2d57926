/** Lets the event loop do its other work in the middle of a long task. */

/** Captured when the module loads: a test runner's fake timers, installed later, would never fire it. */
const immediate = setImmediate;
const nextTick = process.nextTick.bind(process);

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void immediate(resolve));
}

/** Calls back in this turn, when no microtask is left. */
export function afterMicrotasks(callback: () => void): void {
  nextTick(callback);
}
