/**
 * Lines on their way to a stream: those of one moment are written together, as each write is a call of the system.
 *
 * What is of weight is written at once, and nothing is left behind where the process ends or a handler begins: as soon as
 * what runs now has returned, all is written.
 */

/** What is needed of `process.stderr`. */
export interface LogStream {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

/** With lines that are not written yet. */
const waiting = new Set<LogLines>();
let hearsExit = false;

export class LogLines {
  readonly #stream: LogStream;
  #text = '';

  constructor(stream: LogStream) {
    this.#stream = stream;
  }

  get isTTY(): boolean {
    return this.#stream.isTTY === true;
  }

  add(line: string): void {
    const isFirst = this.#text === '';
    this.#text += `${line}\n`;
    if (!isFirst) return;
    waiting.add(this);
    if (!hearsExit) process.on('exit', writeAll);
    hearsExit = true;
    // Not queueMicrotask, which fake timers replace.
    Promise.resolve()
      .then(() => this.write())
      // A stream that throws has nobody to tell it to, and must not end the process as a rejection.
      .catch(() => undefined);
  }

  write(): void {
    const text = this.#text;
    if (text === '') return;
    this.#text = '';
    waiting.delete(this);
    this.#stream.write(text);
  }
}

function writeAll(): void {
  for (const lines of waiting) lines.write();
}
