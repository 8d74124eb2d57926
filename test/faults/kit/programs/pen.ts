/** Writes the ledger in a worker process: one line for each event, in one write, so that a kill leaves whole lines. */
import { openSync, writeSync } from 'node:fs';

interface Run {
  readonly id: string;
  readonly fence: number;
  readonly attempts: number;
}

let descriptor: number | undefined;
let noted: ReadonlySet<string> | undefined;

/** From here on all lines, or those of these `events`, go to the end of `file`, which many processes write to. */
export function openLedger(file: string, events?: readonly string[]): void {
  descriptor = openSync(file, 'a');
  noted = events && new Set(events);
}

/** `note` may hold anything but a line break. */
export function note(what: string, { id, fence, attempts }: Partial<Run> = {}, text = ''): void {
  if (descriptor === undefined || noted?.has(what) === false) return;
  writeSync(descriptor, `${Date.now()} ${process.pid} ${what} ${id ?? '-'} ${fence ?? 0} ${attempts ?? 0} ${text}\n`);
}
