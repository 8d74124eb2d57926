/**
 * Lines waiting for a stream: lines of one moment are written together, because each write is a system call.
 *
 * All but those of level info are written at once, and nothing is left behind when the process ends or a signal handler begins: all is
 * written as soon as the running code has returned.
 */

/** The part of `process.stderr` that we need. */
export interface LogStream {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

/** Those with unwritten lines. */
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
    // A promise, because fake timers replace `queueMicrotask`.
    Promise.resolve()
      .then(() => this.write())
      // Nobody can be told that the stream throws, and a rejection would end the process.
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
