/**
 * What worker processes did, in the order in which they wrote it: a file that outlives all of them.
 *
 * Each line is appended in one write, so a killed process leaves whole lines, and nothing that it wrote is missing.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import type { Milliseconds } from '../../../src/base/clock';

/** `completed`, `released`, `failed`, `cancelled` and `lost` are written once the store has confirmed or refused the outcome. */
export type Event =
  | 'sent'
  | 'started'
  | 'done'
  | 'completed'
  | 'released'
  | 'failed'
  | 'cancelled'
  | 'lost'
  | 'measured'
  | 'said'
  | 'logged'
  | 'ended';

export interface LedgerLine {
  readonly at: Milliseconds;
  readonly pid: number;
  readonly event: Event;
  /** The id of the job. */
  readonly id: string;
  readonly fence: number;
  readonly attempts: number;
  readonly note: string;
}

const PAGE = 1 << 20;

export class Ledger {
  readonly file: string;
  readonly #lines: LedgerLine[] = [];
  readonly #counts = new Map<Event, number>();
  readonly #descriptor: number;
  readonly #page = Buffer.alloc(PAGE);
  #rest = '';

  constructor(file: string) {
    this.file = file;
    // Created by the reader, so that it exists before the first process writes.
    this.#descriptor = openSync(file, 'a+');
  }

  /** All lines up to now. */
  get lines(): readonly LedgerLine[] {
    for (;;) {
      const length = readSync(this.#descriptor, this.#page, 0, PAGE, null);
      if (length === 0) return this.#lines;
      const texts = (this.#rest + this.#page.toString('utf8', 0, length)).split('\n');
      this.#rest = texts.pop() ?? '';
      for (const text of texts) this.#add(text);
    }
  }

  /** The number of lines with this event. */
  count(event: Event): number {
    void this.lines;
    return this.#counts.get(event) ?? 0;
  }

  /** The lines that were added after the first `count`. */
  since(count: number): readonly LedgerLine[] {
    return this.lines.slice(count);
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #add(text: string): void {
    const [at, pid, event, id, fence, attempts, ...words] = text.split(' ');
    const line = { at: Number(at), pid: Number(pid), event: event as Event, id: id ?? '' };
    this.#lines.push({ ...line, fence: Number(fence), attempts: Number(attempts), note: words.join(' ') });
    this.#counts.set(line.event, (this.#counts.get(line.event) ?? 0) + 1);
  }
}
