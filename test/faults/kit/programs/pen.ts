/** Writes the ledger in a worker process: each event is one line in one write, so that a kill leaves whole lines. */
import { openSync, writeSync } from 'node:fs';

interface Run {
  readonly id: string;
  readonly fence: number;
  readonly attempts: number;
}

let descriptor: number | undefined;
let noted: ReadonlySet<string> | undefined;

/** Appends all later lines, or those with these `events`, to `file`, which many processes write to. */
export function openLedger(file: string, events?: readonly string[]): void {
  descriptor = openSync(file, 'a');
  noted = events && new Set(events);
}

/** Writes an event. `note` can contain anything but a line break. */
export function note(what: string, { id, fence, attempts }: Partial<Run> = {}, text = ''): void {
  if (descriptor === undefined || noted?.has(what) === false) return;
  writeSync(descriptor, `${Date.now()} ${process.pid} ${what} ${id ?? '-'} ${fence ?? 0} ${attempts ?? 0} ${text}\n`);
}
