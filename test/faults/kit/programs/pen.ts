/** Writes the ledger in a worker process: one line for each event, in one write, so that a kill leaves whole lines. */
import { openSync, writeSync } from 'node:fs';

interface Run {
  readonly id: string;
  readonly fence: number;
  readonly attempts: number;
}

let descriptor: number | undefined;

/** From here on all lines go to the end of `file`, which many processes write to. */
export function openLedger(file: string): void {
  descriptor = openSync(file, 'a');
}

/** `note` may hold anything but a line break. */
export function note(what: string, { id, fence, attempts }: Partial<Run> = {}, text = ''): void {
  if (descriptor === undefined) return;
  writeSync(descriptor, `${Date.now()} ${process.pid} ${what} ${id ?? '-'} ${fence ?? 0} ${attempts ?? 0} ${text}\n`);
}
